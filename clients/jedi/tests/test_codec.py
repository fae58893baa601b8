"""The schemas of the package, and bytes of records."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from yardmaster_jedi import __version__
from yardmaster_jedi.codec import UnknownSchemaError, codec, released

REPOSITORY = Path(__file__).resolve().parents[3]
SCHEMAS = REPOSITORY / "schemas"

BUNDLED = [
    "panda-task.json",
    *(f"{name}.avsc" for name in ("task", "decision", "outcome", "comparison")),
    *(
        f"released/{it.parent.name}/{it.name}"
        for it in (SCHEMAS / "released").rglob("*.avsc")
        if it.stem in ("task", "decision")
    ),
]


@pytest.mark.parametrize("name", BUNDLED)
def test_the_package_has_the_schemas_of_the_repository(name: str) -> None:
    ours = resources.files("yardmaster_jedi").joinpath("schemas", *name.split("/")).read_bytes()
    assert ours == (SCHEMAS / name).read_bytes(), f"copy schemas/{name} into the package"


def test_the_package_has_no_other_schemas_and_every_released_one() -> None:
    folder = REPOSITORY / "clients/jedi/src/yardmaster_jedi/schemas"
    files = [it for it in folder.rglob("*") if it.is_file()]
    assert sorted(str(it.relative_to(folder)) for it in files) == sorted(BUNDLED)


def test_the_version_is_that_of_pyproject() -> None:
    text = (REPOSITORY / "clients/jedi/pyproject.toml").read_text()
    assert f'version = "{__version__}"' in text


def example(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / "examples" / f"{name}.json").read_text())[0]
    return found


def test_a_record_survives() -> None:
    task = example("task")
    data = codec("task").encode(task)
    assert data[:2] == b"\xc3\x01"
    read = codec("task").decode(data)
    assert (read["subject"], read["options"]["t1_weight"]) == (task["subject"], -1)


def test_fields_that_are_left_out_have_their_defaults() -> None:
    least = {"subject": "1/2", "task": "1", "domain": "atlas", "policy": "p"}
    data = codec("task").encode({**least, "asked_at": 1, "changed_at": 1})
    read = codec("task").decode(data)
    assert (read["phase"], read["jobs"], read["core_count"]) == ("asking", 0, None)


def test_records_of_released_schemas_are_read() -> None:
    from io import BytesIO

    from fastavro import schemaless_writer

    known = codec("decision")
    assert len(known.writers) == 1 + len(released("decision")) == 4
    for head, schema in known.writers.items():
        out = BytesIO(head)
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


def test_an_unknown_schema_is_named_with_a_remedy() -> None:
    with pytest.raises(UnknownSchemaError, match=r"c301ffffffffffffffff.*install"):
        codec("decision").decode(b"\xc3\x01" + b"\xff" * 8 + b"rest")
