"""What requests cost: the tokens that the provider counted, at the prices of that time.

Place in the house: ``traces``, pure. Prices are for a million tokens, in the currency beside them,
or in whatever one the operator has in mind; cached tokens are a part of the input and have a price
of their own or that of the input, reasoning is a part of the output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One line of a receipt: ``kind`` is ``input``, ``cached`` or ``output``; ``currency`` may be
    empty."""

    kind: str
    tokens: int
    price: float
    currency: str = ""

    @property
    def amount(self) -> float:
        """Tokens times price."""
        return self.tokens * self.price / MILLION


def charges_of(attributes: Mapping[str, object]) -> tuple[Charge, ...] | None:
    """The charges of one answered request; ``None`` where its model has no price."""
    price = attributes.get("toolloop.price")
    if not isinstance(price, Mapping):
        return None
    given = _tokens(attributes, "input_tokens")
    cached = min(_tokens(attributes, "cache_read.input_tokens"), given)
    full = _number(price.get("input"))
    reduced = _number(price["cached"]) if "cached" in price else full
    amounts = (
        ("input", given - cached, full),
        ("cached", cached, reduced),
        ("output", _tokens(attributes, "output_tokens"), _number(price.get("output"))),
    )
    currency = price.get("currency")
    return tuple(
        Charge(kind=kind, tokens=tokens, price=each, currency=str(currency or ""))
        for kind, tokens, each in amounts
        if tokens
    )


def cost_of(attributes: Mapping[str, object]) -> float | None:
    """What one answered request cost; ``None`` where its model has no price."""
    charges = charges_of(attributes)
    return None if charges is None else sum(charge.amount for charge in charges)


def _tokens(attributes: Mapping[str, object], name: str) -> int:
    value = attributes.get(f"gen_ai.usage.{name}")
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
