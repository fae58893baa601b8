"""The configuration file: what is read of it, and how errors are reported."""

from pathlib import Path

import pytest

from yardmaster_client.toml_reader import ConfigError
from yardmaster_jedi import config, process

GOOD = """
bootstrap_servers = "kafka:9092"
domain = "pool"
[client]
"security.protocol" = "SASL_SSL"
"enable.ssl.certificate.verification" = true
[timeouts]
answer_s = 1
[[rule]]
brokerage = "production"
gshare = "MC*"
mode = "lead"
canary = 0.25
[[rule]]
mode = "shadow"
"""


def read(tmp_path: Path, text: str) -> config.Config:
    file = tmp_path / "jedi.toml"
    file.write_text(text)
    return config.read(file)


def test_what_a_file_says(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD)
    assert (found.bootstrap_servers, found.domain) == ("kafka:9092", "pool")
    assert found.client["security.protocol"] == "SASL_SSL"
    assert found.client["enable.ssl.certificate.verification"] == "true"
    assert (found.timeouts.answer_s, found.timeouts.connect_s) == (1.0, 5.0)
    assert [(rule.brokerage, rule.gshare, rule.mode, rule.canary) for rule in found.rules] == [
        ("production", "MC*", "lead", 0.25),
        ("*", "*", "shadow", 1.0),
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a = [", ["is no TOML"]),
        ("domain = 3", ["domain = 3", "text in quotes"]),
        ("bootstrap = 'x'", ["bootstrap is no key", "the keys are", "bootstrap_servers"]),
        ("[timeouts]\nanswer = 1", ["timeouts.answer is no key", "answer_s"]),
        ("[timeouts]\nanswer_s = -1", ["timeouts.answer_s = -1", "above 0"]),
        ("[timeouts]\nanswer_s = inf", ["timeouts.answer_s = inf", "above 0"]),
        ("[breaker]\nfailures = 0", ["breaker.failures = 0", "1 or more"]),
        ("[topics]\ntask = ''", ["topics.task = ''", "not empty"]),
        ("[client.ssl]\nca = 1", ["client.ssl", "in quotes"]),
        ("[[rule]]\nmode = 'led'", ["rule 1: mode = 'led'", "off, shadow, lead"]),
        ("[[rule]]\nmode = 'off'\nqueue = 'x'", ["rule 1: queue is no key", "brokerage"]),
        ("[[rule]]\nmode = 'off'\nbrokerage = 'x'", ["rule 1: brokerage = 'x'", "analysis"]),
        ("[[rule]]\nmode = 'lead'\ncanary = 2", ["rule 1: canary = 2", "0 to 1"]),
        ("[[rule]]\nmode = 'shadow'\ncanary = 0.5", ["canary = 0.5", "mode lead"]),
        ("[[rule]]\nmode = 'lead'", ["bootstrap_servers is missing"]),
    ],
)
def test_an_error_names_key_value_and_remedy(tmp_path: Path, text: str, parts: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        read(tmp_path, text)
    for part in [str(tmp_path / "jedi.toml"), *parts]:
        assert part in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "'sasl.password' = 'MARK'\n[client]",
        "[clients]\n'sasl.password' = 'MARK'",
        "client.sasl.password = 'MARK'",
        "client.'sasl.password' = ['MARK']",
        "client = 'MARK'",
        "[topics]\n'sasl.password' = 'MARK'",
        "topics = {password = 'MARK'}",
        "[[rule]]\nmode = 'off'\npassword = 'MARK'",
        "rule = ['MARK']",
        "domain = {password = 'MARK'}",
    ],
)
def test_no_message_shows_what_may_be_a_secret(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        read(tmp_path, text)
    assert "MARK" not in str(error.value)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read.*YARDMASTER_JEDI_CONFIG"):
        config.read(tmp_path / "absent.toml")


def test_the_default_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(config.FILE_VARIABLE, raising=False)
    assert config.path() == Path("/etc/yardmaster/jedi.toml")


def test_a_bad_file_means_off_until_it_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "jedi.toml"
    monkeypatch.setenv(config.FILE_VARIABLE, str(file))
    made = process.Process()
    assert made.config().rules == () and "cannot be read" in caplog.text
    caplog.clear()
    assert made.config().rules == () and not caplog.text  # logged once
    file.write_text(GOOD)
    assert len(made.config().rules) == 2
    file.write_text(GOOD + "nonsense = 1\n")
    assert made.config().rules == () and "nonsense" in caplog.text
