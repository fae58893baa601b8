#!/usr/bin/env bash
# Checks this package and clients/python, which it stands on: brings a Python with their packages and
# HTCondor's bindings (from PyPI) into ${CARGO_TARGET_DIR:-target}/htcondor, then ruff, mypy --strict,
# pytest, and a wheel of each. No pool is needed; tests/htcondor/run.py proves it on one. ruff and mypy check
# tests/htcondor, tests/arc and what they share too.
#
# Exit code 77: the packages could not be brought, so nothing was tested.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/python.sh

bring htcondor clients/htcondor/tests/requirements.txt
check clients/python "../../tests/arc ../../tests/kafka" yardmaster_client/codec.py yardmaster_client/py.typed \
    yardmaster_client/schemas/job-state.avsc yardmaster_client/schemas/released/1/job-state.avsc \
    yardmaster_client/schemas/comparison.avsc
check clients/htcondor "../../tests/htcondor ../../tests/kafka" yardmaster_htcondor/agent.py yardmaster_htcondor/py.typed \
    yardmaster_htcondor/shipped/50-yardmaster.conf \
    yardmaster_htcondor/shipped/yardmaster-htcondor.service
