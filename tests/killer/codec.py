"""Avro single-object encoding, by fastavro and the schema files alone."""

import io
import json
from pathlib import Path
from typing import Any

import fastavro
from fastavro.schema import fingerprint, to_parsing_canonical_form

Record = dict[str, Any]

# Topics of configuration, where a null removes a record.
REMOVABLE = ("queue", "site", "storage", "link", "release", "share", "quota", "user", "parameter")
MARK = b"\xc3\x01"


class Unreadable(Exception):
    """The bytes are no record of this topic."""


class Codec:
    """Writes and reads the records of every topic that has a schema in `schemas`."""

    def __init__(self, schemas: Path) -> None:
        self.schemas: dict[str, Any] = {}
        self.prefixes: dict[str, bytes] = {}
        for file in sorted(schemas.glob("*.avsc")):
            schema = fastavro.parse_schema(plain(json.loads(file.read_text())))
            canonical = to_parsing_canonical_form(schema)
            number = bytes.fromhex(fingerprint(canonical, "CRC-64-AVRO"))
            self.schemas[file.stem] = schema
            self.prefixes[file.stem] = MARK + number

    def encode(self, topic: str, record: Record) -> bytes:
        """The bytes of a record; fields that are left out get their defaults."""
        out = io.BytesIO()
        out.write(self.prefixes[topic])
        fastavro.schemaless_writer(out, self.schemas[topic], record)
        return out.getvalue()

    def decode(self, topic: str, value: bytes | None) -> Record:
        """The record in these bytes; raises `Unreadable`, whatever they are."""
        prefix = self.prefixes[topic]
        if value is None or not value.startswith(prefix):
            raise Unreadable(topic)
        source = io.BytesIO(value[len(prefix) :])
        try:
            record = fastavro.schemaless_reader(source, self.schemas[topic], None)
        except Exception as error:
            raise Unreadable(f"{topic}: {error}") from error
        if source.read(1):
            raise Unreadable(f"{topic}: bytes left over")
        if not isinstance(record, dict):
            raise Unreadable(f"{topic}: no record")
        return record


def plain(schema: Any) -> Any:
    """The schema without logical types, so that times stay numbers: ms since 1970."""
    if isinstance(schema, dict):
        return {name: plain(part) for name, part in schema.items() if name != "logicalType"}
    if isinstance(schema, list):
        return [plain(part) for part in schema]
    return schema
