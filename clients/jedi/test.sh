#!/usr/bin/env bash
# Checks the package: brings a Python with PanDA's server (its code alone, from PyPI) into
# ${CARGO_TARGET_DIR:-target}/jedi, then ruff, mypy --strict, pytest, and a wheel.
#
# YARDMASTER_TEST_KAFKA=HOST:PORT  a Kafka for the tests; without one librdkafka's mock stands in
# YARDMASTER_TEST_BINARY=PATH      the program, for tests that run it; they need that Kafka too
#
# Exit code 77: the packages could not be brought, so nothing was tested.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/python.sh

bring jedi clients/jedi/tests/requirements.txt panda-server==1.0.4
export PYTHONPATH=$repository/clients/jedi/src:$repository/clients/python/src
check clients/jedi "" yardmaster_jedi/brokers.py yardmaster_jedi/panda-task.json
