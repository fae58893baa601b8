import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from yardmaster_htcondor.main import CONFIG_ERROR, main


def agent(folder: Path, *lines: str) -> int:
    file = folder / "htcondor.toml"
    file.write_text("\n".join(('bootstrap_servers = "127.0.0.1:1"', *lines)) + "\n")
    return main(["agent", "--config", str(file)])


def test_an_address_of_metrics_that_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert agent(tmp_path, f'metrics = "{address}"') == CONFIG_ERROR
    assert (
        f'metrics = "{address}": Address already in use: state another' in capsys.readouterr().err
    )


def test_a_property_that_librdkafka_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert agent(tmp_path, 'metrics = ""', "[client]", '"no.such" = "x"') == CONFIG_ERROR
    assert "[client]: No such configuration property" in capsys.readouterr().err


def test_who_reads_no_further_than_the_first_line() -> None:
    program = "import sys, yardmaster_htcondor.main as it; it.main(['files']); sys.exit(5)"
    read, write = os.pipe()
    os.close(read)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, env=env)
    os.close(write)
    assert (done.returncode, done.stderr) == (5, b"")
