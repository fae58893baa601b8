"""Keys out of a TOML file. An error names the file, the key, its value and the remedy."""

import math
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


class ConfigError(Exception):
    """The configuration cannot be used. The message names file, key, value and remedy."""


def read_table(file: Path, remedy: str = "write it") -> dict[str, Any]:
    """The table in a file; `ConfigError` if it cannot be read, with the remedy if it is absent."""
    try:
        text = file.read_bytes().decode()
    except OSError as error:
        raise ConfigError(f"{file} cannot be read ({error.strerror}): {remedy}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 ({error}): save it as UTF-8") from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is no TOML: {error}") from error


class TomlReader:
    """Takes keys out of a table, and complains about what it does not know or cannot use. Errors
    have `prefix` before a key."""

    def __init__(
        self, table: Mapping[str, Any], file: str, secrets: Iterable[str] = (), prefix: str = ""
    ) -> None:
        self.table, self.file = table, file
        self._known: set[str] = set()
        self._readers: list[TomlReader] = []
        self._secrets, self._prefix = frozenset(secrets), prefix

    def error(self, key: str, value: Any, remedy: str) -> ConfigError:
        """The error of a value; one below a secret table is not shown."""
        key = self._prefix + key
        is_secret = key.split(".")[0] in self._secrets or isinstance(value, dict | list)
        shown = "..." if is_secret else repr(value)
        return ConfigError(f"{self.file}: {key} = {shown} cannot be used: {remedy}")

    def missing(self, key: str, remedy: str) -> ConfigError:
        """The error of a key that must be there."""
        return ConfigError(f"{self.file}: {self._prefix}{key} is missing: {remedy}")

    def refuse_unknown(self) -> None:
        """`ConfigError` if a key was not asked for, of this table or of one within that was read.
        Its value is not shown: a secret may stand at a wrong place."""
        for key in self.table:
            if key not in self._known:
                what, known = f"{self.file}: {self._prefix}{key}", ", ".join(sorted(self._known))
                raise ConfigError(f"{what} is no key that is known: the keys are {known}")
        for reader in self._readers:
            reader.refuse_unknown()

    def value(self, key: str, default: Any) -> Any:
        """A value as it stands."""
        self._known.add(key)
        return self.table.get(key, default)

    def text(self, key: str, default: str) -> str:
        """A text."""
        value = self.value(key, default)
        if not isinstance(value, str):
            raise self.error(key, value, "it must be a text in quotes")
        return value

    def name(self, key: str, default: str) -> str:
        """A text that is not empty."""
        value = self.value(key, default)
        if not isinstance(value, str) or not value:
            raise self.error(key, value, "it must be a text in quotes, not empty")
        return value

    def choice(self, key: str, default: str, choices: Iterable[str]) -> str:
        """One of some words."""
        value, words = self.value(key, default), tuple(choices)
        if value not in words:
            raise self.error(key, value, f"it is one of {', '.join(words)}")
        return str(value)

    def texts(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """A list of texts."""
        value = self.value(key, list(default))
        if not isinstance(value, list) or not all(isinstance(it, str) and it for it in value):
            raise self.error(key, value, 'it must be a list of texts, ["a", "b"]')
        return tuple(value)

    def seconds(self, key: str, default: float) -> float:
        """A number above 0; s."""
        return self.positive(key, self.value(key, default), "s")

    def positive(self, key: str, value: Any, unit: str) -> float:
        """A value that must be a number above 0."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or value <= 0:
            raise self.error(key, value, f"it must be a number above 0; {unit}")
        return float(value)

    def count(self, key: str, default: int, least: int = 0) -> int:
        """A whole number."""
        value = self.value(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.error(key, value, f"it must be a whole number, {least} or more")
        return value

    def section(self, key: str) -> Mapping[str, Any]:
        """A table."""
        value = self.value(key, {})
        if not isinstance(value, dict):
            raise self.error(key, value, f"it must be a table, [{key}]")
        return value

    def within(self, key: str) -> "TomlReader":
        """A reader of the keys of a table; errors name them `table.key`."""
        return self._reader(self.section(key), f"{key}.")

    def tables(self, key: str) -> list["TomlReader"]:
        """Readers of an array of tables; errors name a key of the first one `table 1: key`."""
        value = self.value(key, [])
        if not isinstance(value, list) or not all(isinstance(it, dict) for it in value):
            raise self.error(key, value, f"it must be an array of tables, [[{key}]]")
        return [self._reader(it, f"{key} {number}: ") for number, it in enumerate(value, 1)]

    def _reader(self, table: Mapping[str, Any], prefix: str) -> "TomlReader":
        reader = TomlReader(table, self.file, self._secrets, self._prefix + prefix)
        self._readers.append(reader)
        return reader

    def properties(self, key: str) -> dict[str, str]:
        """A table of properties of librdkafka."""
        properties = {}
        for name, value in self.section(key).items():
            if isinstance(value, bool):
                properties[name] = str(value).lower()
            elif isinstance(value, str | int | float):
                properties[name] = str(value)
            else:
                remedy = 'properties of librdkafka are texts, with their names in quotes: "a.b" = 1'
                raise self.error(f"{key}.{name}", value, remedy)
        return properties
