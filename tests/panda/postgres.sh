#!/usr/bin/env bash
# A PostgreSQL for the tests: a new one, on loopback only, with the settings that change data capture
# needs; its superuser is `postgres` with the password `postgres`.
#
#   postgres.sh start BIN DIR PORT [SETTING=VALUE...]
#                             makes it in DIR, unless it is there, and starts it; prints the pid
#   postgres.sh stop DIR      ends it (at once: its data are those of a test)
#
# BIN is the directory of initdb and postgres. PostgreSQL does not run as root: then the user `postgres`
# runs it, in a directory below /tmp that `stop` removes.
set -euo pipefail

usage() { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }

# As whoever may run it.
as() {
    if [ "$(id -u)" = 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi
}

# The pid in DIR, if it is alive and is that server; a number alone may be somebody else's.
alive() {
    local pid
    pid=$(head -1 "$(cat "$1/data")/postmaster.pid" 2> /dev/null) || return 1
    grep -qaF "$(cat "$1/data")" "/proc/$pid/cmdline" 2> /dev/null || return 1
    echo "$pid"
}

make() { # BIN DIR
    if [ "$(id -u)" = 0 ]; then
        as mktemp -d /tmp/yardmaster-postgres.XXXXXX > "$2/data"
    else
        (cd "$2" && echo "$PWD/pg") > "$2/data"
        mkdir -p "$2/pg"
    fi
    local data
    data=$(cat "$2/data")
    as bash -c 'echo postgres > "$0.password" && "$1/initdb" -D "$0" -U postgres --auth=scram-sha-256 \
        --pwfile="$0.password" --encoding=UTF8 --locale=C --no-sync; code=$?; rm -f "$0.password"
        exit $code' "$data" "$1" > "$2/initdb.out" 2>&1 || { cat "$2/initdb.out" >&2; return 1; }
    # A power cut would be the end of a test anyhow.
    as tee -a "$data/postgresql.conf" > /dev/null << P
fsync = off
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 64MB
wal_level = logical
max_replication_slots = 6
max_wal_senders = 6
max_slot_wal_keep_size = 1GB
timezone = 'UTC'
P
}

case "${1:-}" in
start)
    [ $# -ge 4 ] || usage
    mkdir -p "$3"
    [ -f "$3/data" ] || make "$2" "$3"
    settings=()
    for setting in "${@:5}"; do settings+=(-c "$setting"); done
    data=$(cat "$3/data")
    # A group of its own, as a broker has.
    set -m
    nohup "$0" serve "$2" "$data" -p "$4" "${settings[@]}" \
        > "$3/postgres.out" 2>&1 < /dev/null &
    server=$!
    set +m
    for _ in $(seq 150); do
        # The server writes its state there; not every package of it has pg_isready.
        if pid=$(alive "$3") && [[ $(sed -n 8p "$data/postmaster.pid") = ready* ]]; then
            echo "$pid"
            exit 0
        fi
        kill -0 "$server" 2> /dev/null || break
        sleep 0.2
    done
    echo "no PostgreSQL on 127.0.0.1:$4; the end of $3/postgres.out:" >&2
    tail -20 "$3/postgres.out" >&2
    "$0" stop "$3"
    exit 1
    ;;
serve) # BIN DATA FLAG...
    as "$2/postgres" -D "${@:3}"
    ;;
stop)
    [ $# = 2 ] || usage
    [ -f "$2/data" ] || exit 0
    if pid=$(alive "$2"); then
        kill -QUIT "$pid" 2> /dev/null || true
        for _ in $(seq 100); do
            kill -0 "$pid" 2> /dev/null || break
            sleep 0.1
        done
    fi
    case "$(cat "$2/data")" in
    /tmp/yardmaster-postgres.*) rm -rf "$(cat "$2/data")" "$2/data" ;;
    esac
    ;;
*) usage ;;
esac
