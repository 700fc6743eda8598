"""A bundle's text becomes a value, or a finding that says where it is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.bundle.parsing import BundleUnreadable, parse_bundle, read_bundle_text
from agents.bundle.report import Report


def parse(text: str, name: str) -> tuple[object, list[str]]:
    report = Report()
    value = parse_bundle(text, report, name=name)
    return value, [fault.pointer for fault in report.faults]


def test_json_and_yaml_give_the_same_value() -> None:
    expected = {"version": 1, "servers": [{"server_id": "a"}]}
    assert parse('{"version": 1, "servers": [{"server_id": "a"}]}', "b.json") == (expected, [])
    assert parse("version: 1\nservers:\n- server_id: a\n", "b.yaml") == (expected, [])


def test_without_a_known_ending_the_text_tells() -> None:
    assert parse('{"version": 1}', "bundle") == ({"version": 1}, [])
    assert parse("version: 1", "bundle") == ({"version": 1}, [])


@pytest.mark.parametrize("name", ["b.json", "b.yaml"])
def test_broken_syntax_is_one_line_with_its_place(name: str) -> None:
    with pytest.raises(BundleUnreadable, match="line 2") as caught:
        parse('{"version": 1,\n "servers": [}', name)
    assert "\n" not in str(caught.value)


def test_a_key_that_stands_twice_is_found_with_its_pointer() -> None:
    text = '{"servers": [{}, {"a/b": 1, "x": {"k": 1, "k": 2}}], "version": 1, "version": 2}'
    assert parse(text, "b.json")[1] == ["/version", "/servers/1/x/k"]
    yaml_text = "version: 1\nservers:\n- x:\n    k: 1\n    k: 2\n"
    assert parse(yaml_text, "b.yaml")[1] == ["/servers/0/x/k"]


def test_yaml_anchors_are_fine_and_dates_stay_text() -> None:
    text = "a: &x {k: 1}\nb: *x\nc: {<<: *x, l: 2}\nd: 2026-01-31\n"
    value, faults = parse(text, "b.yml")
    assert value == {"a": {"k": 1}, "b": {"k": 1}, "c": {"k": 1, "l": 2}, "d": "2026-01-31"}
    assert faults == []


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("a: .nan", "/a"),
        ("a: [1, .inf]", "/a/1"),
        ("1: x", ""),
        ("a: {true: x}", "/a"),
        ('a: "x\\0y"', "/a"),
        ("a: !!binary aGk=", "/a"),
        ("a: !!set {x, y}", "/a"),
    ],
)
def test_yaml_that_is_no_json_is_found(text: str, pointer: str) -> None:
    assert parse(text, "b.yaml")[1] == [pointer]


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}'])
def test_json_that_cannot_be_stored_is_found(text: str) -> None:
    assert parse(text, "b.json")[1] == ["/a"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a: &a [*a]", "b.yaml"),
        ("!!python/object/apply:os.getcwd []", "b.yaml"),
        ("a: b: c", "b.yaml"),
        ("{}\n---\n{}", "b.yaml"),
        ("a: *nowhere", "b.yaml"),
        ("? [1]\n: 2", "b.yaml"),
        ("[" * 100_000, "b.json"),
        ("[" * 5_000, "b.yaml"),
        ("", "b.json"),
    ],
)
def test_what_gives_no_value_is_refused(text: str, name: str) -> None:
    with pytest.raises(BundleUnreadable):
        parse(text, name)


def test_aliases_that_multiply_are_refused_in_time() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(BundleUnreadable, match="alias"):
        parse("\n".join(lines), "b.yaml")


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_bytes(b'\xef\xbb\xbf{"version": 1}')
    assert read_bundle_text(str(path)) == '{"version": 1}'


def test_a_file_that_is_missing_or_no_utf8_is_told(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    with pytest.raises(BundleUnreadable, match="cannot be read"):
        read_bundle_text(str(path))
    with pytest.raises(BundleUnreadable, match="cannot be read"):
        read_bundle_text(str(tmp_path))
    path.write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(BundleUnreadable, match="not UTF-8"):
        read_bundle_text(str(path))
