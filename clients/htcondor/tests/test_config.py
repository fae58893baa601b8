from pathlib import Path
from typing import Any

import pytest

from yardmaster_client.toml_reader import ConfigError
from yardmaster_htcondor.config import parse, read
from yardmaster_htcondor.main import CONFIG_ERROR, main

KAFKA = {"bootstrap_servers": "k:9092"}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "bootstrap_servers is missing: add bootstrap_servers"),
        ({**KAFKA, "mode": "led"}, "mode = 'led' cannot be used: it is one of shadow, lead"),
        ({**KAFKA, "grace_s": -1}, "grace_s = -1 .* above 0"),
        ({**KAFKA, "misses": 0}, "misses = 0 .* whole number, 1 or more"),
        ({**KAFKA, "metrics": "here"}, "metrics = 'here' .*HOST:PORT"),
        ({**KAFKA, "metrics": "h:65536"}, "metrics = 'h:65536' .* a port of 1 to 65535"),
        ({**KAFKA, "metrics": "h:0"}, "metrics = 'h:0' .* a port of 1 to 65535"),
        ({**KAFKA, "metrics": "9319"}, "metrics = '9319' .*HOST:PORT"),
        ({**KAFKA, "metrics": "h:²"}, "metrics = 'h:²' .*HOST:PORT"),
        ({**KAFKA, "group": ""}, "group = '' .* not empty"),
        ({**KAFKA, "domain": ""}, "domain = '' .* not empty"),
        ({**KAFKA, "policy": ""}, "policy = '' .* not empty"),
        ({**KAFKA, "poll_s": 0.01}, "poll_s = 0.01 .* at least 0.1 s and at most 60 s"),
        ({**KAFKA, "offer_s": 1, "poll_s": 2}, r"offer_s = 1.0 .* at least 6 s \(3 polls\)"),
        ({**KAFKA, "offer_s": 3601}, "offer_s = 3601.0 .* at most 3600 s"),
        ({**KAFKA, "grace_s": 5}, "grace_s = 5.0 .* at least 6 s"),
        ({**KAFKA, "grace_s": 86_401}, "grace_s = 86401.0 .* at most 86400 s"),
        ({**KAFKA, "match_s": 5}, "match_s = 5.0 .* at least 6 s"),
        ({**KAFKA, "match_s": 1e9}, "match_s = 1000000000.0 .* at most 86400 s"),
        ({**KAFKA, "history_s": 1e9}, "history_s = 1000000000.0 .* at most 2678400 s"),
        ({**KAFKA, "labels": ["Arch", "OS"]}, "labels = 'OS' .* one of Arch, Microarch, CUDA"),
        ({**KAFKA, "mod": "lead"}, "mod is no key that is known"),
        ({**KAFKA, "labels": "Arch"}, "labels = 'Arch' .* list of texts"),
    ],
)
def test_errors_name_key_value_and_remedy(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"h.toml: {message}"):
        parse(table, "h.toml")


@pytest.mark.parametrize(
    ("stated", "address"),
    [("[::1]:99", ("::1", 99)), (":99", ("", 99)), ("h:99", ("h", 99)), ("::1:99", ("::1", 99))],
)
def test_metrics_address(stated: str, address: tuple[str, int]) -> None:
    assert parse({**KAFKA, "metrics": stated}, "h.toml").metrics_address() == address


def test_defaults_are_shadow() -> None:
    config = parse(KAFKA, "h.toml")
    assert not config.leads and config.topic("task") == "yardmaster.cms.task"
    assert config.metrics_address() == ("127.0.0.1", 9319)


def test_the_example_in_the_readme(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    file = tmp_path / "h.toml"
    file.write_text(readme.split("```toml\n")[1].split("```")[0])
    assert read(file).mode == "shadow"


def test_an_error_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "h.toml"
    file.write_text('mode = "led"')
    assert main(["check", "--config", str(file)]) == CONFIG_ERROR
    assert "it is one of shadow, lead" in capsys.readouterr().err
