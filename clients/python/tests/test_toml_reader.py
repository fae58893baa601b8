from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yardmaster_client.toml_reader import ConfigError, TomlReader, read_table


def reader(**table: Any) -> TomlReader:
    return TomlReader(table, "a.toml", secrets=("client",))


@pytest.mark.parametrize(
    ("table", "take", "message"),
    [
        ({"a": 1}, lambda it: it.text("a", ""), "a = 1 cannot be used: it must be a text"),
        ({"a": ""}, lambda it: it.name("a", "x"), "a = '' .* text in quotes, not empty"),
        ({"a": "x"}, lambda it: it.choice("a", "y", ["y", "z"]), "a = 'x' .* one of y, z"),
        ({"a": "x"}, lambda it: it.texts("a", ()), "a = 'x' .* list of texts"),
        ({"a": 0}, lambda it: it.seconds("a", 1.0), "a = 0 .* above 0; s"),
        ({"a": float("nan")}, lambda it: it.seconds("a", 1.0), "a = nan .* above 0"),
        ({"a": True}, lambda it: it.seconds("a", 1.0), "a = True"),
        ({"a": 0}, lambda it: it.count("a", 1, 1), "a = 0 .* whole number, 1 or more"),
        ({"a": 1}, lambda it: it.section("a"), r"a = 1 .* table, \[a\]"),
        ({"client": {"k": ["pw"]}}, lambda it: it.properties("client"), r"client.k = \.\.\. "),
        ({"b": "pw"}, lambda it: (it.text("a", ""), it.refuse_unknown()), "b is no key .* are a$"),
        ({"a": {"b": 0}}, lambda it: it.within("a").seconds("b", 1.0), r"a\.b = 0 .* above 0; s"),
        (
            {"client": {"k": "pw"}},
            lambda it: it.within("client").count("k", 0),
            r"client\.k = \.\.",
        ),
        ({"a": {"b": "pw"}}, lambda it: (it.within("a"), it.refuse_unknown()), r"a\.b is no key"),
        ({"a": ["pw"]}, lambda it: it.tables("a"), r"a = \.\.\. .* array of tables, \[\[a\]\]"),
        ({"a": [{}, {"b": 1}]}, lambda it: it.tables("a")[1].text("b", ""), "a 2: b = 1 "),
        (
            {"a": [{"b": "pw"}]},
            lambda it: (it.tables("a"), it.refuse_unknown()),
            "a 1: b is no key",
        ),
    ],
)
def test_errors_name_key_value_and_remedy(
    table: dict[str, Any], take: Callable[[TomlReader], Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=f"a.toml: {message}") as caught:
        take(reader(**table))
    assert "pw" not in str(caught.value)


def test_values() -> None:
    it = reader(t="x", n=2, c=3, l=["a"], client={"a.b": True, "c": 1}, r=[{"t": "y"}])
    assert (it.text("t", ""), it.seconds("n", 1.0), it.count("c", 0)) == ("x", 2.0, 3)
    assert it.texts("l", ()) == ("a",) and it.texts("m", ("d",)) == ("d",)
    assert it.properties("client") == {"a.b": "true", "c": "1"}
    assert it.within("w").name("t", "d") == "d" and it.tables("r")[0].name("t", "d") == "y"
    it.refuse_unknown()


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    with pytest.raises(ConfigError, match=r"cannot be read \(No such file"):
        read_table(file)
    file.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_table(file)
    file.write_text("a = ")
    with pytest.raises(ConfigError, match="is no TOML"):
        read_table(file)
    file.write_text("a = 1")
    assert read_table(file) == {"a": 1}
