"""Records as bytes: Avro in single-object encoding, with the schemas that this package brings."""

import functools
import io
import json
from importlib import resources
from typing import Any

import fastavro
from fastavro.schema import fingerprint, to_parsing_canonical_form

Record = dict[str, Any]

HEAD_BYTES = 10
"""C3 01, then the CRC-64-AVRO of the writer's schema."""


class UnknownSchemaError(ValueError):
    """A record was written with a schema that this package does not have."""


class Codec:
    """Writes records with the present schema, reads them with every version that is known."""

    def __init__(self, name: str, released: tuple[str, ...] = ()) -> None:
        self.name = name
        self.schema, self.head = _load(f"{name}.avsc")
        versions = [_load(f"released/{version}/{name}.avsc") for version in released]
        self.writers = {head: schema for schema, head in versions}
        self.writers[self.head] = self.schema

    def encode(self, record: Record) -> bytes:
        """A record as bytes; fields that are left out have the defaults of the schema."""
        out = io.BytesIO()
        out.write(self.head)
        fastavro.schemaless_writer(out, self.schema, record)
        return out.getvalue()

    def decode(self, data: bytes) -> Record:
        """A record of bytes; `UnknownSchemaError` if its schema is not known here."""
        writer = self.writers.get(data[:HEAD_BYTES])
        if writer is None:
            raise UnknownSchemaError(
                f"a {self.name} record begins with {data[:HEAD_BYTES].hex()}, the mark of a schema "
                "that this version of yardmaster-client does not have: install the version that "
                "belongs to the Yardmaster that runs, and let the topic have framing single-object"
            )
        body = io.BytesIO(data[HEAD_BYTES:])
        record = fastavro.schemaless_reader(body, writer, self.schema)
        if not isinstance(record, dict):
            raise ValueError(f"a {self.name} record is no record")
        return record


def _load(path: str) -> tuple[Any, bytes]:
    """A schema of this package, and what stands before its records."""
    text = resources.files("yardmaster_client").joinpath("schemas", *path.split("/")).read_text()
    raw = json.loads(text)
    number = fingerprint(to_parsing_canonical_form(raw), "CRC-64-AVRO")
    return fastavro.parse_schema(raw), b"\xc3\x01" + bytes.fromhex(number)


@functools.cache
def codec(name: str) -> Codec:
    """The codec of a topic's records, by the name of the schema."""
    return Codec(name, released(name))


def released(name: str) -> tuple[str, ...]:
    """The versions of a schema that were released before the present one, oldest first."""
    versions = resources.files("yardmaster_client").joinpath("schemas", "released").iterdir()
    of = (it.name for it in versions if it.joinpath(f"{name}.avsc").is_file())
    return tuple(sorted(of, key=int))
