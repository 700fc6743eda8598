"""The few statements that every run and tool turn repeats, compiled once.

Place in the house: ``agents.runs``. The ORM builds the SQL of each ``save``, ``update`` and ``get``
anew, which costs several times what the database needs for it. The fields still turn values into
what their columns hold, and back. Signals are not sent: nothing listens to these tables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TypeVar

from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper

Values = Mapping[str, object]
"""Values by the attributes of columns, for example ``{"run_id": "..."}``."""

_TEXT_FIELDS = frozenset({models.CharField, models.TextField})

RowType = TypeVar("RowType", bound=models.Model)


def insert_row(row: models.Model) -> None:
    """Insert an unsaved row whose primary key is set. Raises what the database raises."""
    model = type(row)
    connection = connections[router.db_for_write(model)]
    values = [
        _prepared_value(field, field.pre_save(row, add=True), connection)
        for field in _fields(model).values()
    ]
    with connection.cursor() as cursor:
        cursor.execute(_insert_sql(model, connection.alias), values)
    row._state.adding, row._state.db = False, connection.alias


def update_rows(model: type[models.Model], where: Values, values: Values) -> int:
    """Set ``values`` on the rows that equal ``where`` in everything; how many there were."""
    connection = connections[router.db_for_write(model)]
    sql = _update_sql(model, connection.alias, tuple(values), tuple(where))
    parameters = _prepared(model, values, connection) + _prepared(model, where, connection)
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        count: int = cursor.rowcount
    return count


def fetch_rows(model: type[RowType], where: Values, *, order: str = "") -> list[RowType]:
    """The rows that equal ``where`` in everything, in the order of an attribute."""
    connection = connections[router.db_for_write(model)]
    sql = _select_sql(model, connection.alias, tuple(where), order)
    with connection.cursor() as cursor:
        cursor.execute(sql, _prepared(model, where, connection))
        found = cursor.fetchall()
    names, converters = tuple(_fields(model)), _converters(model, connection.alias)
    rows = []
    for columns in found:
        values = list(columns)
        for position, expression, steps in converters:
            for step in steps:
                values[position] = step(values[position], expression, connection)
        rows.append(model.from_db(connection.alias, names, values))
    return rows


def fetch_row(model: type[RowType], **where: object) -> RowType:
    """The first row that equals ``where``. Raises the model's ``DoesNotExist``."""
    for row in fetch_rows(model, where):
        return row
    raise model.DoesNotExist(f"there is no {model._meta.verbose_name} with {where}")


def _prepared(
    model: type[models.Model], values: Values, connection: BaseDatabaseWrapper
) -> list[object]:
    fields = _fields(model)
    return [_prepared_value(fields[name], value, connection) for name, value in values.items()]


def _prepared_value(field: models.Field, value: object, connection: BaseDatabaseWrapper) -> object:
    """A value as the column takes it; texts and nulls are what they are."""
    if value is None or (type(value) is str and type(field) in _TEXT_FIELDS):
        return value
    return field.get_db_prep_save(value, connection)


@functools.cache
def _fields(model: type[models.Model]) -> dict[str, models.Field]:
    return {field.attname: field for field in model._meta.concrete_fields}


@functools.cache
def _converters(
    model: type[models.Model], alias: str
) -> list[tuple[int, object, list[Callable[..., object]]]]:
    """Of each column whose values are not used as they come: its place, and the steps it takes."""
    connection = connections[alias]
    found = []
    for position, field in enumerate(_fields(model).values()):
        expression = field.get_col(model._meta.db_table)
        steps = connection.ops.get_db_converters(expression)
        steps += expression.get_db_converters(connection)
        if steps:
            found.append((position, expression, steps))
    return found


@functools.cache
def _insert_sql(model: type[models.Model], alias: str) -> str:
    columns = ", ".join(_column(model, alias, name) for name in _fields(model))
    marks = ", ".join("%s" for _ in _fields(model))
    return f"INSERT INTO {_table(model, alias)} ({columns}) VALUES ({marks})"


@functools.cache
def _update_sql(
    model: type[models.Model], alias: str, changed: tuple[str, ...], compared: tuple[str, ...]
) -> str:
    changes = ", ".join(f"{_column(model, alias, name)} = %s" for name in changed)
    return f"UPDATE {_table(model, alias)} SET {changes}{_condition(model, alias, compared)}"


@functools.cache
def _select_sql(
    model: type[models.Model], alias: str, compared: tuple[str, ...], order: str
) -> str:
    columns = ", ".join(_column(model, alias, name) for name in _fields(model))
    ordering = f" ORDER BY {_column(model, alias, order)}" if order else ""
    condition = _condition(model, alias, compared)
    return f"SELECT {columns} FROM {_table(model, alias)}{condition}{ordering}"


def _condition(model: type[models.Model], alias: str, compared: tuple[str, ...]) -> str:
    conditions = " AND ".join(f"{_column(model, alias, name)} = %s" for name in compared)
    return f" WHERE {conditions}" if conditions else ""


def _table(model: type[models.Model], alias: str) -> str:
    name: str = connections[alias].ops.quote_name(model._meta.db_table)
    return name


def _column(model: type[models.Model], alias: str, attribute: str) -> str:
    name: str = connections[alias].ops.quote_name(_fields(model)[attribute].column)
    return name
