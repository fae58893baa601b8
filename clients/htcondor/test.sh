#!/usr/bin/env bash
# Checks this package and clients/python, which it stands on: brings a Python with their packages and
# HTCondor's bindings (from PyPI) into ${CARGO_TARGET_DIR:-target}/htcondor, then ruff, mypy --strict,
# pytest, and a wheel of each. No pool is needed; tests/htcondor/run.py proves it on one.
#
# Exit code 77: the packages could not be brought, so nothing was tested.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=${CARGO_TARGET_DIR:-target}/htcondor
mkdir -p "$work"
work=$(cd "$work" && pwd)
venv=$work/python
repository=$PWD

root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

make_venv() {
    rm -rf "$venv"
    python3 -m venv "$venv" > "$work/venv.log" 2>&1 && return
    rm -rf "$venv"
    # Debian's python3 has a venv module that works only with this package.
    root apt-get update -qq > "$work/apt.log" 2>&1 &&
        root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            python3 python3-venv >> "$work/apt.log" 2>&1 &&
        python3 -m venv "$venv"
}

bring() {
    local list=clients/htcondor/tests/requirements.txt sum
    sum=$(cksum < "$list")
    [ "$(cat "$venv/sum" 2> /dev/null)" != "$sum" ] || return 0
    make_venv || return 1
    "$venv/bin/pip" install -q --disable-pip-version-check --no-compile -r "$list" || return 1
    echo "$sum" > "$venv/sum"
}

bring || {
    echo "no Python with the packages of clients/htcondor/tests/requirements.txt"
    exit 77
}
"$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "the package needs Python 3.11 or newer: $("$venv/bin/python" --version) is here"
    exit 77
}
export PYTHONPYCACHEPREFIX=$work/bytecode

# A package, more to check, and what its wheel must have.
check() { # FOLDER MORE WANTED...
    local folder=$1 more=$2 wheel
    shift 2
    echo "== $folder"
    cd "$repository/$folder"
    # shellcheck disable=SC2086 # MORE is none or one folder.
    "$venv/bin/ruff" check --no-cache . $more
    # shellcheck disable=SC2086
    "$venv/bin/ruff" format --no-cache --check . $more
    # shellcheck disable=SC2086
    "$venv/bin/mypy" --cache-dir "$work/mypy" src tests $more
    "$venv/bin/python" -m pytest -p no:cacheprovider
    rm -rf "$work/dist"
    "$venv/bin/python" -m build --no-isolation --wheel --outdir "$work/dist" . > "$work/build.log" 2>&1 || {
        tail -20 "$work/build.log"
        exit 1
    }
    wheel=$(echo "$work"/dist/*.whl)
    "$venv/bin/python" - "$wheel" "$@" <<'P'
import sys, zipfile
names = zipfile.ZipFile(sys.argv[1]).namelist()
missing = [name for name in sys.argv[2:] if name not in names]
sys.exit(f"{sys.argv[1]} lacks {missing}" if missing else None)
P
}

check clients/python "" yardmaster_client/codec.py yardmaster_client/py.typed \
    yardmaster_client/schemas/job-state.avsc yardmaster_client/schemas/released/1/job-state.avsc \
    yardmaster_client/schemas/comparison.avsc
check clients/htcondor ../../tests/htcondor yardmaster_htcondor/agent.py yardmaster_htcondor/py.typed \
    yardmaster_htcondor/shipped/50-yardmaster.conf \
    yardmaster_htcondor/shipped/yardmaster-htcondor.service
