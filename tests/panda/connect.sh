#!/usr/bin/env bash
# A Kafka Connect with Debezium for the tests: standalone, on loopback only, with the operator's own
# files (examples/panda-cdc), of which a test replaces what it must.
#
#   connect.sh start JARS DATA REST_PORT [KEY=VALUE...] [-- KEY=VALUE...]
#                             starts it; prints the pid once its connector runs. Properties of the
#                             worker, then those of the connector; of a property given twice the last wins
#   connect.sh stop DATA      asks it to stop, waits; after 20 s it is killed
#   connect.sh kill DATA      kills it hard
#   connect.sh restart DATA   starts it again with the same files; prints the pid
#
# JARS is a directory with the jars of Connect and Debezium (pom.xml beside this file names them).
set -euo pipefail

usage() { sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }

# The pid in DATA, if it is alive and is that Connect; a number alone may be somebody else's.
alive() {
    local pid
    pid=$(cat "$1/pid" 2> /dev/null) || return 1
    grep -qaF "$1/worker.properties" "/proc/$pid/cmdline" 2> /dev/null || return 1
    echo "$pid"
}

# The state of the connector's task, or nothing.
state() { # PORT
    local answer
    exec 3<> "/dev/tcp/127.0.0.1/$1" || return 0
    printf 'GET /connectors/panda-cdc/status HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' >&3
    answer=$(timeout 5 cat <&3 || true)
    exec 3>&-
    grep -oE '"tasks":\[\{"id":0,"state":"[A-Z]+' <<< "$answer" | grep -oE '[A-Z]+$' || true
}

launch() { # DATA
    local data=$1 port pid
    port=$(sed -n 's|^listeners=HTTP://127.0.0.1:||p' "$data/worker.properties" | tail -1)
    # A group of its own, as a broker has.
    set -m
    nohup java -Xms128m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -Dlog4j2.configurationFile="$data/log4j2.properties" -cp "$(cat "$data/jars")/*" \
        org.apache.kafka.connect.cli.ConnectStandalone \
        "$data/worker.properties" "$data/panda-cdc.properties" >> "$data/connect.out" 2>&1 < /dev/null &
    pid=$!
    set +m
    echo "$pid" > "$data/pid"
    for _ in $(seq 600); do
        case "$(state "$port" 2> /dev/null)" in
        RUNNING)
            echo "$pid"
            return
            ;;
        FAILED) break ;;
        esac
        kill -0 "$pid" 2> /dev/null || break
        sleep 0.2
    done
    echo "no connector runs on 127.0.0.1:$port; the end of $data/connect.out:" >&2
    tail -40 "$data/connect.out" >&2
    halt "$data" KILL
    return 1
}

halt() { # DATA SIGNAL
    local pid
    pid=$(alive "$1") || return 0
    kill "-$2" "$pid" 2> /dev/null || return 0
    for _ in $(seq 100); do
        kill -0 "$pid" 2> /dev/null || return 0
        ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2> /dev/null || return 0
        sleep 0.2
    done
    kill -KILL "$pid" 2> /dev/null || true
}

case "${1:-}" in
start)
    [ $# -ge 4 ] || usage
    mkdir -p "$3"
    data=$(cd "$3" && pwd)
    (cd "$2" && pwd) > "$data/jars"
    examples=$(cd "$(dirname "$0")/../../examples/panda-cdc" && pwd)
    cp "$examples"/worker.properties "$examples"/panda-cdc.properties "$examples"/log4j2.properties "$data"
    file=$data/worker.properties
    # Classes are not looked through for connectors: what is there says what it has.
    printf '%s\n' "listeners=HTTP://127.0.0.1:$4" "offset.storage.file.filename=$data/offsets" \
        plugin.discovery=service_load >> "$file"
    for property in "${@:5}"; do
        if [ "$property" = -- ]; then file=$data/panda-cdc.properties; else echo "$property" >> "$file"; fi
    done
    launch "$data"
    ;;
stop | kill)
    [ $# = 2 ] || usage
    [ "$1" = stop ] && signal=TERM || signal=KILL
    halt "$(cd "$2" && pwd)" $signal
    ;;
restart)
    [ $# = 2 ] || usage
    data=$(cd "$2" && pwd)
    halt "$data" KILL
    launch "$data"
    ;;
*) usage ;;
esac
