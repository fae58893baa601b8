from importlib import resources

import pytest

from yardmaster_client.codec import UnknownSchemaError, codec, released

OUTCOME = {"subject": "slot1@pilot", "decision": bytes(16), "kind": "refused", "at": 0}


def test_round_trip() -> None:
    read = codec("outcome").decode(codec("outcome").encode(OUTCOME))
    assert (read["subject"], read["kind"], read["about"]) == ("slot1@pilot", "refused", "decision")


def test_every_schema_is_there() -> None:
    folder = resources.files("yardmaster_client").joinpath("schemas")
    names = {it.name.removesuffix(".avsc") for it in folder.iterdir() if it.name.endswith(".avsc")}
    assert {"job-state", "task", "user", "pilot", "outcome", "decision", "progress"} <= names
    for name in names:
        assert codec(name).head.startswith(b"\xc3\x01")


def test_released_versions_are_read() -> None:
    assert released("job-state")
    old = [head for head in codec("job-state").writers if head != codec("job-state").head]
    assert old


def test_an_unknown_schema_is_named() -> None:
    with pytest.raises(UnknownSchemaError, match=r"c30100.*install the version"):
        codec("outcome").decode(b"\xc3\x01" + bytes(20))
