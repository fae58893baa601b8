"""The verb `yardmaster-jedi-check`."""

import subprocess
import sys
from pathlib import Path

import pytest
from place import Place

from yardmaster_jedi import __version__
from yardmaster_jedi.check import main

RULES = """
[[rule]]
brokerage = "production"
gshare = "MC*"
mode = "lead"
canary = 0.25
[[rule]]
brokerage = "analysis"
mode = "shadow"
"""


def test_the_version_is_that_of_pyproject() -> None:
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert f'version = "{__version__}"' in text


def test_it_prints_what_each_brokerage_does(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.configure(rules=RULES)
    assert main([]) == 0
    text = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[1:6] == [
        "production MC* lead: production-job decides for 25 % of the tasks, the others are shadow",
        "production (other shares) off: PanDA decides, nothing is asked",
        "analysis * shadow: PanDA decides, analysis-job is asked too",
        "generic (other shares) off: PanDA decides, nothing is asked",
        "nucleus (other shares) off: PanDA decides, nothing is asked",
    ]
    assert f"{place.topics.comparison}, partitions:" in text


def test_it_looks_at_shares(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.configure(rules=RULES)
    assert main([str(place.file), "--gshare", "MC Default", "--gshare", "Express"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[1].startswith("production MC Default lead") and "Express off" in lines[2]


def test_a_bad_configuration_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "jedi.toml"
    file.write_text("[[rule]]\nmode = 'led'")
    assert main([str(file)]) == 2
    assert "rule 1: mode = 'led'" in capsys.readouterr().err


def test_an_unreachable_kafka_exits_1(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.configure(bootstrap="127.0.0.1:1", connect_s=0.3)
    assert main([]) == 1
    assert "127.0.0.1:1 cannot be reached within 0.3 s" in capsys.readouterr().err


def test_all_off_needs_no_kafka(tmp_path: Path) -> None:
    file = tmp_path / "jedi.toml"
    file.write_text("[[rule]]\nmode = 'off'")
    # Without PanDA's packages, as a program.
    code = "import sys; sys.modules['pandajedi'] = None; from yardmaster_jedi.check import main; "
    command = [sys.executable, "-c", code + "sys.exit(main())", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "none is needed" in done.stdout
