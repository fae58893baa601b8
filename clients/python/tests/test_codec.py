import io
import json
from importlib import resources

import pytest
from fastavro import schemaless_writer

from yardmaster_client.codec import UnknownSchemaError, codec, released

SCHEMAS = resources.files("yardmaster_client").joinpath("schemas")
OUTCOME = {"subject": "slot1@pilot", "decision": bytes(16), "kind": "refused", "at": 0}


def test_round_trip() -> None:
    read = codec("outcome").decode(codec("outcome").encode(OUTCOME))
    assert (read["subject"], read["kind"], read["about"]) == ("slot1@pilot", "refused", "decision")


def test_an_example_survives() -> None:
    task = json.loads(SCHEMAS.joinpath("examples", "task.json").read_text())[0]
    data = codec("task").encode(task)
    assert data[:2] == b"\xc3\x01"
    read = codec("task").decode(data)
    assert (read["subject"], read["options"]["t1_weight"]) == (task["subject"], -1)


def test_fields_that_are_left_out_have_their_defaults() -> None:
    least = {"subject": "1/2", "task": "1", "domain": "atlas", "policy": "p"}
    data = codec("task").encode({**least, "asked_at": 1, "changed_at": 1})
    read = codec("task").decode(data)
    assert (read["phase"], read["jobs"], read["core_count"]) == ("asking", 0, None)


def test_every_schema_is_there() -> None:
    names = {it.name.removesuffix(".avsc") for it in SCHEMAS.iterdir() if it.name.endswith(".avsc")}
    assert {"job-state", "task", "user", "pilot", "outcome", "decision", "progress"} <= names
    assert "comparison" in names
    for name in names:
        assert codec(name).head.startswith(b"\xc3\x01")


def test_released_versions_are_read() -> None:
    assert released("job-state")
    old = [head for head in codec("job-state").writers if head != codec("job-state").head]
    assert old
    known = codec("decision")
    assert len(known.writers) == 1 + len(released("decision")) == 4
    for head, schema in known.writers.items():
        out = io.BytesIO(head)
        out.seek(0, 2)
        record = {
            "id": bytes(16),
            "domain": "d",
            "subject": "s",
            "ordinal": 1,
            "epoch": 1,
            "cycle": 1,
            "number": 0,
            "now": 5,
            "policy": "p",
            "outcome": "defer",
        }
        schemaless_writer(out, schema, record)
        assert known.decode(out.getvalue())["subject"] == "s"


@pytest.mark.parametrize(
    ("name", "data"),
    [("outcome", b"\xc3\x01" + bytes(20)), ("decision", b"\xc3\x01" + b"\xff" * 8 + b"rest")],
)
def test_an_unknown_schema_is_named_with_a_remedy(name: str, data: bytes) -> None:
    with pytest.raises(UnknownSchemaError, match=f"{data[:10].hex()}.*install the version"):
        codec(name).decode(data)
