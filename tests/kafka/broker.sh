#!/usr/bin/env bash
# A real Apache Kafka for the tests: one node in KRaft mode, on loopback only.
#
#   broker.sh start JARS DATA PORT CONTROLLER_PORT [FILE [FORMAT...]]
#                             formats DATA if it is new, starts; prints the pid
#   broker.sh stop DATA       asks it to stop, waits; after 20 s it is killed
#   broker.sh kill DATA       kills it hard
#   broker.sh restart DATA    kills it hard and starts it again; prints the pid
#   broker.sh archive JARS    starts and stops one, and keeps its loaded classes beside JARS: later ones
#                             start in half the time
#
# JARS is a directory with Kafka's jars (pom.xml beside this file names them). FILE holds further
# broker properties, which win (security, a quick log cleaner, a node of several); FORMAT are further
# words for Kafka's `StorageTool format` (users with their passwords). `start` and `restart` return
# when the broker takes connections, or fail after 120 s with the end of its log.
set -euo pipefail

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

configure() { # DATA PORT CONTROLLER_PORT [FILE]
    cat > "$1/server.properties" <<P
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$3
listeners=PLAINTEXT://127.0.0.1:$2,CONTROLLER://127.0.0.1:$3
advertised.listeners=PLAINTEXT://127.0.0.1:$2
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$1/log
# One node holds the only copy of everything.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
# A broker that was killed hard may register again when this is over.
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=500
# Nothing waits for the records by which a controller shows that it lives.
metadata.max.idle.interval.ms=10000
# Tests make many small topics: do not set 10 MB aside for the index of each.
log.index.size.max.bytes=1048576
P
    # Of a property that is said twice the last one holds.
    [ -z "${4:-}" ] || cat "$4" >> "$1/server.properties"
}

# The pid in DATA, if it is alive and is that broker; a number alone may be somebody else's by now.
alive() {
    local pid
    pid=$(cat "$1/pid" 2>/dev/null) || return 1
    grep -qF "$1/server.properties" "/proc/$pid/cmdline" 2>/dev/null || return 1
    echo "$pid"
}

advertised() { # DATA
    sed -n 's|^advertised.listeners=.*:||p' "$1/server.properties" | tail -1
}

# Whether a process is gone, with all its threads; one that nobody has waited for keeps its pid.
ended() { # PID DATA
    kill -0 "$1" 2> /dev/null || return 0
    grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2> /dev/null && ! listens "$(advertised "$2")"
}

# Sets `words` to those that java starts with: compiling well costs more than it brings in the minutes of a
# broker's life, and classes that were archived are not loaded again.
java_words() { # JARS
    words=(-XX:TieredStopAtLevel=1 -XX:+UseSerialGC)
    [ ! -f "$1.jsa" ] || words+=("-XX:SharedArchiveFile=$1.jsa")
    words+=(-cp "$1/*")
}

launch() { # DATA WORDS...
    local data=$1 port pid words
    port=$(advertised "$data")
    java_words "$(cat "$data/jars")"
    # A group of its own: a signal to the caller's terminal or group is not meant for the broker. No session of
    # its own: the kernel shares processors between sessions first, and would leave a whole test run no more
    # than one broker has.
    set -m
    nohup java "${@:2}" -Xms128m -Xmx512m "${words[@]}" kafka.Kafka \
        "$data/server.properties" >> "$data/broker.out" 2>&1 < /dev/null &
    pid=$!
    set +m
    echo "$pid" > "$data/pid"
    for _ in $(seq 600); do
        if listens "$port"; then
            echo "$pid"
            return
        fi
        kill -0 "$pid" 2> /dev/null || break
        sleep 0.2
    done
    echo "no broker on 127.0.0.1:$port; the end of $data/broker.out:" >&2
    tail -20 "$data/broker.out" >&2
    halt "$data" KILL
    return 1
}

halt() { # DATA SIGNAL [SECONDS]
    local pid
    pid=$(alive "$1") || return 0
    kill "-$2" "$pid" 2>/dev/null || return 0
    for _ in $(seq $((${3:-20} * 5))); do
        ended "$pid" "$1" && return 0
        sleep 0.2
    done
    kill -KILL "$pid" 2>/dev/null || true
}

# Formats DATA if it is new.
format() { # JARS DATA PORT CONTROLLER_PORT [FILE [FORMAT...]]
    local data=$2 words
    mkdir -p "$data"
    echo "$1" > "$data/jars"
    configure "$data" "$3" "$4" "${5:-}"
    [ ! -f "$data/log/meta.properties" ] || return 0
    # What is written depends on the number of the node and on FORMAT alone.
    local made
    made=$1.node-$(sed -n 's/^node.id=//p' "$data/server.properties" | tail -1)
    if [ $# -le 5 ] && [ -d "$made" ]; then
        cp -r "$made" "$data/log"
        return 0
    fi
    java_words "$1"
    # Nodes of one cluster have one id; a client asks nobody for it.
    java "${words[@]}" kafka.tools.StorageTool format -t MkU3OEVBNTcwNTJENDM2Qk \
        -c "$data/server.properties" "${@:6}" > "$data/format.out" 2>&1 || {
        cat "$data/format.out" >&2
        return 1
    }
    # Others may do so too: it is there whole, or not at all.
    [ $# -gt 5 ] || { cp -r "$data/log" "$made.$$" && mv -T "$made.$$" "$made" 2> /dev/null; } ||
        rm -rf "$made.$$"
}

whole() { (cd "$1" && pwd); }

case "${1:-}" in
start)
    [ $# -ge 5 ] || { sed -n '2,16s/^# \{0,1\}//p' "$0" >&2; exit 2; }
    mkdir -p "$3"
    data=$(whole "$3")
    format "$(whole "$2")" "$data" "${@:4}"
    launch "$data"
    ;;
archive)
    [ $# = 2 ] || { echo "usage: $0 archive JARS" >&2; exit 2; }
    jars=$(whole "$2")
    # Another Java, or other jars, need another archive.
    of=$( (java -version 2>&1; ls -l "$jars") | cksum)
    [ "$(cat "$jars.jsa.of" 2> /dev/null)" != "$of" ] || exit 0
    rm -rf "$jars.jsa" "$jars.jsa.of" "$jars.once" "$jars".node-*
    trap 'halt "$jars.once" KILL; rm -rf "$jars.once" "$jars.new"' EXIT
    format "$jars" "$jars.once" $((20000 + RANDOM % 6000)) $((26000 + RANDOM % 6000))
    launch "$jars.once" "-XX:ArchiveClassesAtExit=$jars.new" > /dev/null
    # Writing the archive took longer than 20 s on a busy machine; without one every start costs twice as much.
    halt "$jars.once" TERM 300
    # It is whole once the process has ended by itself.
    [ -f "$jars.new" ] && ! alive "$jars.once" > /dev/null && mv "$jars.new" "$jars.jsa" &&
        echo "$of" > "$jars.jsa.of"
    ;;
stop | kill)
    [ $# = 2 ] || { echo "usage: $0 $1 DATA" >&2; exit 2; }
    [ "$1" = stop ] && signal=TERM || signal=KILL
    halt "$(whole "$2")" $signal
    ;;
restart)
    [ $# = 2 ] || { echo "usage: $0 restart DATA" >&2; exit 2; }
    data=$(whole "$2")
    halt "$data" KILL
    launch "$data"
    ;;
*)
    sed -n '2,16s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
