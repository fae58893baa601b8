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
work=${CARGO_TARGET_DIR:-target}/jedi
mkdir -p "$work"
work=$(cd "$work" && pwd)
venv=$work/python
cd clients/jedi

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

# panda-server's own build wants users and programs of a server (hooks of hatch), and its list of
# packages those that a web server needs: neither is wanted here.
bring() {
    local sum
    sum=$(cksum < tests/requirements.txt)
    [ "$(cat "$venv/sum" 2> /dev/null)" != "$sum" ] || return 0
    make_venv || return 1
    local pip=("$venv/bin/pip" install -q --disable-pip-version-check --no-compile)
    "${pip[@]}" -r tests/requirements.txt || return 1
    HATCH_BUILD_NO_HOOKS=true "${pip[@]}" --no-deps panda-server==1.0.4 || return 1
    echo "$sum" > "$venv/sum"
}

bring || {
    echo "no Python with the packages of clients/jedi/tests/requirements.txt and panda-server"
    exit 77
}
export PYTHONPYCACHEPREFIX=$work/bytecode PYTHONPATH=src:../python/src
"$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "the package needs Python 3.11 or newer: $("$venv/bin/python" --version) is here"
    exit 77
}
"$venv/bin/ruff" check --no-cache .
"$venv/bin/ruff" format --no-cache --check .
"$venv/bin/mypy" --cache-dir "$work/mypy"
"$venv/bin/python" -m pytest -p no:cacheprovider
"$venv/bin/python" -m build --no-isolation --wheel --outdir "$work/dist" . > "$work/build.log" 2>&1 || {
    tail -20 "$work/build.log"
    exit 1
}
"$venv/bin/python" - "$work"/dist/*.whl <<'P'
import sys, zipfile
names = zipfile.ZipFile(sys.argv[-1]).namelist()
wanted = ["yardmaster_jedi/brokers.py", "yardmaster_jedi/panda-task.json"]
missing = [name for name in wanted if name not in names]
sys.exit(f"{sys.argv[-1]} lacks {missing}" if missing else None)
P
