#!/usr/bin/env bash
# A real schema registry for the tests: Apicurio, which speaks Confluent's interface, on loopback
# only, with everything in memory.
#
#   registry.sh bring DIR             has Maven unpack it into DIR, unless it is there
#   registry.sh start DIR DATA PORT   starts it; prints the pid once it answers
#   registry.sh stop DATA             ends it
set -euo pipefail

artifact=io.apicurio:apicurio-registry-app:2.6.13.Final:zip:all

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# The pid in DATA, if it is alive and is that registry; a number alone may be somebody else's.
alive() {
    local pid
    pid=$(cat "$1/pid" 2>/dev/null) || return 1
    grep -qF apicurio-registry-app "/proc/$pid/cmdline" 2>/dev/null || return 1
    echo "$pid"
}

case "${1:-}" in
bring)
    [ $# = 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
    [ "$(cat "$2/artifact" 2>/dev/null)" != $artifact ] || exit 0
    rm -rf "$2"
    mkdir -p "$2"
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack \
        -Dartifact=$artifact -DoutputDirectory="$(cd "$2" && pwd)"
    echo $artifact > "$2/artifact"
    ;;
start)
    [ $# = 4 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
    mkdir -p "$3"
    # A group of its own, as a broker has.
    set -m
    nohup java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dquarkus.http.host=127.0.0.1 \
        -Dquarkus.http.port="$4" -jar "$2"/apicurio-registry-app-*-runner.jar \
        > "$3/registry.out" 2>&1 < /dev/null &
    pid=$!
    set +m
    echo "$pid" > "$3/pid"
    for _ in $(seq 300); do
        if answers "$4"; then
            echo "$pid"
            exit 0
        fi
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.2
    done
    echo "no schema registry on 127.0.0.1:$4; the end of $3/registry.out:" >&2
    tail -20 "$3/registry.out" >&2
    "$0" stop "$3"
    exit 1
    ;;
stop)
    [ $# = 2 ] || { echo "usage: $0 stop DATA" >&2; exit 2; }
    pid=$(alive "$2") || exit 0
    kill "$pid" 2>/dev/null || exit 0
    for _ in $(seq 50); do
        kill -0 "$pid" 2>/dev/null || exit 0
        sleep 0.2
    done
    kill -KILL "$pid" 2>/dev/null || true
    ;;
*)
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
