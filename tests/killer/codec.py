"""Avro in its single-object encoding and in Confluent's, by fastavro and the schema files alone."""

import io
import json
from pathlib import Path
from typing import Any

import fastavro
from fastavro.schema import fingerprint, to_parsing_canonical_form

from domain import Domain
from registry import Registry

Record = dict[str, Any]

MARK = b"\xc3\x01"


class Unreadable(Exception):
    """The bytes are no record of this topic."""


class Codec:
    """Writes and reads the records of every topic of a domain that has a schema in `schemas`."""

    def __init__(self, schemas: Path, domain: Domain, registry: Registry) -> None:
        self.domain = domain
        self.registry = registry
        self.schemas: dict[str, Any] = {}
        # What a record that the killer writes begins with.
        self.prefixes: dict[str, bytes] = {}
        self.single: dict[str, bytes] = {}
        self.texts: dict[str, Record] = {}
        self.by_number: dict[int, Any] = {}
        self.versions = 0
        for file in sorted(schemas.glob("*.avsc")):
            word = file.stem
            self.texts[word] = json.loads(file.read_text())
            schema = fastavro.parse_schema(plain(self.texts[word]))
            canonical = to_parsing_canonical_form(schema)
            number = bytes.fromhex(fingerprint(canonical, "CRC-64-AVRO"))
            self.schemas[word] = schema
            self.single[word] = self.prefixes[word] = MARK + number
        self.renew()

    def renew(self) -> None:
        """From now on framed topics are written by schemas with numbers that nobody knows yet."""
        self.versions += 1
        for word in self.domain.framed:
            text = self.texts[word] | {"doc": f"{self.domain.name}, as of {self.versions}"}
            subject = f"{self.domain.topic(word)}-value"
            number = self.registry.put(subject, json.dumps(text))
            self.prefixes[word] = b"\x00" + number.to_bytes(4, "big")

    def encode(self, topic: str, record: Record) -> bytes:
        """The bytes of a record; fields that are left out get their defaults."""
        out = io.BytesIO()
        out.write(self.prefixes[topic])
        fastavro.schemaless_writer(out, self.schemas[topic], record)
        return out.getvalue()

    def decode(self, topic: str, value: bytes | None) -> Record:
        """The record in these bytes; raises `Unreadable`, whatever they are."""
        schema, begin = self._schema(topic, value or b"")
        source = io.BytesIO((value or b"")[begin:])
        try:
            ours = self.schemas[topic]
            record = fastavro.schemaless_reader(source, schema, None if schema is ours else ours)
        except Exception as error:
            raise Unreadable(f"{topic}: {error}") from error
        if source.read(1):
            raise Unreadable(f"{topic}: bytes left over")
        if not isinstance(record, dict):
            raise Unreadable(f"{topic}: no record")
        return record

    def _schema(self, topic: str, value: bytes) -> tuple[Any, int]:
        """The writer's schema, and where the record begins."""
        if value.startswith(self.single[topic]):
            return self.schemas[topic], len(self.single[topic])
        if topic not in self.domain.framed or value[:1] != b"\x00" or len(value) < 5:
            raise Unreadable(topic)
        number = int.from_bytes(value[1:5], "big")
        if number not in self.by_number:
            text = self.registry.text(number)
            if text is None:
                raise Unreadable(f"{topic}: no schema {number}")
            self.by_number[number] = fastavro.parse_schema(plain(json.loads(text)))
        return self.by_number[number], 5


def plain(schema: Any) -> Any:
    """The schema without logical types, so that times stay numbers: ms since 1970."""
    if isinstance(schema, dict):
        return {name: plain(part) for name, part in schema.items() if name != "logicalType"}
    if isinstance(schema, list):
        return [plain(part) for part in schema]
    return schema
