#!/usr/bin/env bash
# Yardmaster beside an installed PanDA (installed/main.py): brings a Python with panda-server and JEDI from PyPI
# into ${CARGO_TARGET_DIR:-target}/panda, starts PostgreSQL, Kafka, Connect and `yardmaster run`, lets PanDA's own
# code drive tasks and jobs through their lives, and compares all counters with SQL after each step.
#
#   installed.sh SECONDS      rounds for so long, one at least; then as many in shadow, and a canary
#
# YARDMASTER_TEST_BINARY=PATH      the program
# YARDMASTER_TEST_KAFKA_JARS=DIR   Kafka's jars
# YARDMASTER_TEST_CONNECT=DIR      those of Connect and Debezium
# YARDMASTER_TEST_POSTGRES=DIR     where initdb and postgres are
#
# Exit code 77: something of this could not be had, so nothing was tested.
set -euo pipefail
seconds=${1:?$(sed -n '2,15s/^# \{0,1\}//p' "$0")}
here=$(cd "$(dirname "$0")" && pwd)/installed
for name in BINARY KAFKA_JARS CONNECT POSTGRES; do
    name=YARDMASTER_TEST_$name
    [ -e "${!name:-}" ] || { echo "$name names nothing that is there"; exit 77; }
done
. "$here/../../python.sh"
bring panda tests/panda/installed/requirements.txt panda-server==1.0.4

rm -rf "$work/stand"
mkdir "$work/stand"
# PanDA's code prints what it does to its statements.
"$venv/bin/python" "$here/main.py" --folder "$work/stand" \
    --binary "$YARDMASTER_TEST_BINARY" --jars "$YARDMASTER_TEST_KAFKA_JARS" \
    --connect "$YARDMASTER_TEST_CONNECT" --postgres "$YARDMASTER_TEST_POSTGRES" --seconds "$seconds" |
    grep --line-buffered -v -e "->>'" -e '^None$'
