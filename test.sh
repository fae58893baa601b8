#!/usr/bin/env bash
# Every test there is, with all their set-up: what is missing of a C++ compiler, make, zlib, OpenSSL,
# Java, Maven, kcat, PostgreSQL, Prometheus, Chromium, docker-compose and Python's venv is taken from apt,
# Apache Kafka, Kafka Connect with Debezium and a schema registry (Apicurio) are brought by Maven and started
# on loopback, then the source is checked and tested. At last a program in Python that does not know ours
# (tests/killer) kills, damages and disturbs a running pair, and recounts the log, and the package for
# PanDA's JEDI (clients/jedi) is tested. Ends with one line that counts the tests; fails if anything does.
#
#   ./test.sh            all; 20 faults by the killer
#   ./test.sh --long     the same with 200 faults, which take about an hour, twelve times the seeds of the
#                        waking test, a store's whole month, and more storms and ends of a process
#   ./test.sh --quick    no Kafka, no checks of the source: the tests that need neither
#
# YARDMASTER_KILLER_SEED=1  which faults the killer inflicts in which order, and which records it writes
# YARDMASTER_KILLS=30    how often the kill test kills (6 when not given)
# YARDMASTER_NEED_KAFKA=1  fail when there is no real Kafka, instead of falling back to librdkafka's
#                        mock (which knows no transactions, so the tests that need one are left out)
set -euo pipefail
cd "$(dirname "$0")"

heading() { printf '\n== %s\n' "$*"; }
have() { command -v "$1" > /dev/null 2>&1; }

quick=false
long=false
kills=20
case "${1:-}" in
'') ;;
--quick) quick=true ;;
--long) long=true kills=200; export YARDMASTER_LONG=1 ;;
*) sed -n '2,19s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

work=${CARGO_TARGET_DIR:-target}/kafka
mkdir -p "$work"
work=$(cd "$work" && pwd)
broker=tests/kafka/broker.sh
registry=tests/kafka/registry.sh
data=
books=
started=$SECONDS

finish() {
    local code=$?
    [ -z "$data" ] || "$broker" stop "$data" || true
    [ -z "$books" ] || "$registry" stop "$books" || true
    [ -z "$books" ] || [ $code -ne 0 ] || rm -rf "$books"
    [ -z "$data" ] || [ $code -ne 0 ] || rm -rf "$data"
    exit $code
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- What the machine must have -------------------------------------------------------------------

root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Packages that are missing, from apt if it is there and we may; says what it did.
install() {
    local packages=$*
    have apt-get && { [ "$(id -u)" = 0 ] || { have sudo && sudo -n true 2> /dev/null; }; } || {
        echo "missing: $packages (install them by hand: no apt-get here, or no right to use it)"
        return 1
    }
    heading "apt-get install $packages"
    {
        root apt-get update -qq &&
            root env DEBIAN_FRONTEND=noninteractive \
                apt-get install -y -qq --no-install-recommends $packages
    } > "$work/apt.log" 2>&1 || {
        tail -20 "$work/apt.log"
        return 1
    }
}

compilers() {
    local missing=
    have g++ || missing="$missing g++"
    have make || missing="$missing make"
    [ -f /usr/include/zlib.h ] || missing="$missing zlib1g-dev"
    have pkg-config || missing="$missing pkg-config"
    have openssl || missing="$missing openssl"
    [ -f /usr/include/openssl/ssl.h ] || missing="$missing libssl-dev"
    [ -z "$missing" ] || install $missing || {
        echo "the build needs a C and C++ compiler, make, and headers of zlib and OpenSSL" >&2
        return 1
    }
}

rust() {
    have cargo || [ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
    have cargo || {
        echo "no cargo: install Rust with rustup (https://rustup.rs), then run this again" >&2
        return 1
    }
    cargo fmt --version > /dev/null 2>&1 && cargo clippy --version > /dev/null 2>&1 || {
        have rustup && rustup component add rustfmt clippy || {
            echo "no rustfmt or clippy: rustup component add rustfmt clippy" >&2
            return 1
        }
    }
}

# Java's major version, 0 without one.
java_version() {
    java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -1 | grep . || echo 0
}

# --- A real Kafka ---------------------------------------------------------------------------------

free_port() {
    local port
    for _ in $(seq 50); do
        # Below the range that the system gives to outgoing connections.
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2> /dev/null || { echo $port; return; }
    done
    return 1
}

kafka() {
    local missing= sum
    [ "$(java_version)" -ge 17 ] || missing="$missing default-jre-headless"
    have mvn || missing="$missing maven"
    have kcat || missing="$missing kcat"
    [ -z "$missing" ] || install $missing || true
    [ "$(java_version)" -ge 17 ] || { echo "no Java 17 or later"; return 1; }
    sum=$(cksum < tests/kafka/pom.xml)
    if [ "$(cat "$work/jars.sum" 2> /dev/null)" != "$sum" ]; then
        have mvn || { echo "no Maven"; return 1; }
        heading "Apache Kafka from Maven"
        rm -rf "$work/jars"
        mvn -q -B -f tests/kafka/pom.xml dependency:copy-dependencies \
            -DoutputDirectory="$work/jars" || { echo "Maven could not bring it"; return 1; }
        echo "$sum" > "$work/jars.sum"
    fi
    for _ in 1 2 3; do
        local port controller pid
        port=$(free_port) && controller=$(free_port) && [ "$port" != "$controller" ] || continue
        data=$work/data-$$-$port
        if pid=$("$broker" start "$work/jars" "$data" "$port" "$controller"); then
            export YARDMASTER_TEST_KAFKA=127.0.0.1:$port YARDMASTER_TEST_KAFKA_JARS=$work/jars
            export YARDMASTER_TEST_KAFKA_RESTART="'$PWD/$broker' restart '$data'"
            heading "Apache Kafka listens on 127.0.0.1:$port, pid $pid"
            return
        fi
        "$broker" stop "$data" || true
        data=
    done
    echo "it did not start"
    return 1
}

# A real schema registry; without one the test that needs it is left out, and says so.
registry() {
    local port pid
    have mvn && [ "$(java_version)" -ge 17 ] || { echo "no Maven or no Java 17"; return 1; }
    heading "Apicurio Registry from Maven"
    "$registry" bring "$work/registry" || { echo "Maven could not bring it"; return 1; }
    port=$(free_port) || return 1
    books=$work/registry-$$-$port
    pid=$("$registry" start "$work/registry" "$books" "$port") || return 1
    export YARDMASTER_TEST_REGISTRY=http://127.0.0.1:$port/apis/ccompat/v7
    heading "Apicurio Registry listens on 127.0.0.1:$port, pid $pid"
}

# PostgreSQL, and Kafka Connect with Debezium, which the tests of PanDA's changes start for themselves;
# without them recorded messages stand in, and the tests say so.
panda() {
    local bin= sum
    find_postgres() {
        bin=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -1)
        [ -x "$bin/initdb" ]
    }
    find_postgres || {
        install postgresql || true
        # Debian starts a cluster of it as a service; only the programs are wanted.
        ! have systemctl || root systemctl disable --now --quiet postgresql 2> /dev/null || true
        find_postgres
    } || { echo "no PostgreSQL"; return 1; }
    have mvn && [ "$(java_version)" -ge 17 ] || { echo "no Maven or no Java 17"; return 1; }
    sum=$(cksum < tests/panda/pom.xml)
    if [ "$(cat "$work/connect.sum" 2> /dev/null)" != "$sum" ]; then
        heading "Kafka Connect and Debezium from Maven"
        rm -rf "$work/connect"
        mvn -q -B -f tests/panda/pom.xml dependency:copy-dependencies \
            -DoutputDirectory="$work/connect" || { echo "Maven could not bring it"; return 1; }
        echo "$sum" > "$work/connect.sum"
    fi
    export YARDMASTER_TEST_POSTGRES=$bin YARDMASTER_TEST_CONNECT=$work/connect
    heading "PostgreSQL in $bin, Kafka Connect in $work/connect"
}

# Prometheus and promtool; without them the tests of dashboards and alerts are left out, and say so.
prometheus() {
    [ -x /usr/bin/prometheus ] && [ -x /usr/bin/promtool ] && return
    install prometheus || return 1
    # Debian starts it as a service; only the programs are wanted.
    ! have systemctl || root systemctl disable --now --quiet prometheus 2> /dev/null || true
}

# Helm, built as the Go module that it is; without it the chart is checked without being rendered.
helm() {
    local tool=$work/helm
    # helm-3.18.6 is the module's version; a file of that name marks that it is built.
    [ -x "$tool/helm-3.18.6" ] || {
        have go || { echo "no helm and no Go to build it"; return 1; }
        heading "Helm from its Go module"
        mkdir -p "$tool"
        GOBIN="$tool" go install helm.sh/helm/v3/cmd/helm@v3.18.6 > "$work/helm.log" 2>&1 || {
            tail -5 "$work/helm.log"
            return 1
        }
        mv "$tool/helm" "$tool/helm-3.18.6"
    }
    export YARDMASTER_TEST_HELM=$tool/helm-3.18.6
}

# Chromium and its driver; without them the tests of the web page are left out, and say so.
chromium() {
    [ -x /usr/bin/chromium ] && [ -x /usr/bin/chromedriver ] || install chromium chromium-driver
}

# What reads docker-compose.yml, without a daemon; where there is none the test of that is left out, and
# says so.
composer() {
    docker compose version > /dev/null 2>&1 || have docker-compose || install docker-compose
}

# --- The tests ------------------------------------------------------------------------------------

log=$work/tests.log
: > "$log"
tests() {
    local began=$SECONDS code=0
    heading "cargo test $*"
    cargo test --locked --features tls --no-fail-fast "$@" 2>&1 | tee -a "$log" || code=$?
    echo "== $((SECONDS - began)) s"
    return $code
}

# A Python with the killer's clients and what looks at the Helm chart, in a directory of its own.
python() {
    local venv=$work/python sum
    have python3 || install python3 || return 1
    sum=$(cat tests/killer/requirements.txt packaging/helm/requirements.txt | cksum)
    [ "$(cat "$venv/sum" 2> /dev/null)" != "$sum" ] || return 0
    rm -rf "$venv"
    # Debian's python3 has a venv module that works only with this package.
    python3 -m venv "$venv" > "$work/venv.log" 2>&1 || {
        rm -rf "$venv"
        install python3-venv && python3 -m venv "$venv" || return 1
    }
    "$venv/bin/pip" install -q --disable-pip-version-check -r tests/killer/requirements.txt \
        -r packaging/helm/requirements.txt || return 1
    echo "$sum" > "$venv/sum"
}

# Boards against Grafana's types of its dashboard schema. Without npm, or what it brings, it is left
# out, and counted so.
boards() {
    local code=0
    have node && have npm || install nodejs npm || true
    if have node && have npm; then
        tests/boards/check.sh "$work/../boards" || code=$?
    else
        code=2
    fi
    case $code in
    0) echo "test result: ok. 1 passed; 0 failed; 0 ignored" >> "$log" ;;
    2)
        echo "left out: boards are checked against Grafana's schema with node and npm"
        echo "test result: skipped. 0 passed; 0 failed; 1 ignored" >> "$log"
        ;;
    *) return 1 ;;
    esac
}

# The independent killer, on brokers of its own, with the program that the tests were built with. Left
# out, and counted so, where it cannot run.
killer() {
    local python=$work/python/bin/python binary=${CARGO_TARGET_DIR:-target}/debug/yardmaster
    heading "tests/killer: $kills faults"
    if [ ! -d "$work/jars" ] || [ "$(java_version)" -lt 17 ] || ! python; then
        echo "left out: the killer needs Java, Kafka's jars, and Python with venv and pip"
        echo "test result: skipped. 0 passed; 0 failed; 1 ignored" | tee -a "$log"
        [ -z "${YARDMASTER_NEED_KAFKA:-}" ]
        return
    fi
    (cd tests/killer && PYTHONDONTWRITEBYTECODE=1 "$python" -m unittest -q test_account) &&
        PYTHONDONTWRITEBYTECODE=1 "$python" -u tests/killer/killer.py --binary "$binary" \
            --jars "$work/jars" --faults $kills --seed "${YARDMASTER_KILLER_SEED:-1}" 2>&1 | tee -a "$log"
}

# The broker classes for PanDA's JEDI, on a broker of their own: other tests restart theirs. Left out,
# and counted so, where their Python cannot be brought.
jedi() {
    local out=$work/jedi.log code=0 own=$work/jedi-$$ port controller
    heading "clients/jedi/test.sh"
    if [ -d "$work/jars" ] && port=$(free_port) && controller=$(free_port) &&
        "$broker" start "$work/jars" "$own" "$port" "$controller" > /dev/null; then
        YARDMASTER_TEST_KAFKA=127.0.0.1:$port \
            YARDMASTER_TEST_BINARY=$(cd "$work/.." && pwd)/debug/yardmaster \
            clients/jedi/test.sh > "$out" 2>&1 || code=$?
        "$broker" stop "$own" || true
        rm -rf "$own"
    else
        env -u YARDMASTER_TEST_KAFKA clients/jedi/test.sh > "$out" 2>&1 || code=$?
    fi
    cat "$out"
    if [ $code = 77 ]; then
        echo "left out: the broker classes for JEDI need Python with venv, and packages from PyPI"
        echo "test result: skipped. 0 passed; 0 failed; 1 ignored" | tee -a "$log"
        [ -z "${YARDMASTER_NEED_KAFKA:-}" ]
        return
    fi
    echo "test result: jedi. $(pytests passed) passed; $(pytests failed) failed;" \
        "$(pytests skipped) ignored" | tee -a "$log"
    return $code
}

# How many tests of clients/jedi ended so, of pytest's last line: "1 failed, 140 passed in 45.02s".
pytests() {
    sed -n "s/.*\b\([0-9][0-9]*\) $1.* in [0-9.]*s.*/\1/p" "$work/jedi.log" | tail -1 | grep . ||
        echo 0
}

: > "$log"
compilers
rust

mock=
if $quick; then
    mock=" (quick: without Kafka)"
elif ! kafka; then
    mock=" (WITHOUT A REAL KAFKA: librdkafka's mock stood in where it can, the rest was left out)"
    heading "no real Kafka: falling back to librdkafka's mock cluster, which knows no transactions"
    [ -z "${YARDMASTER_NEED_KAFKA:-}" ] || exit 1
fi

if ! $quick && ! registry; then
    mock="$mock (WITHOUT A REAL SCHEMA REGISTRY: its test was left out)"
    [ -z "${YARDMASTER_NEED_KAFKA:-}" ] || exit 1
fi

if ! $quick && ! prometheus; then
    mock="$mock (WITHOUT PROMETHEUS: dashboards and alerts were checked without it)"
fi

if ! $quick && ! panda; then
    mock="$mock (WITHOUT POSTGRESQL OR KAFKA CONNECT: recorded changes of PanDA's tables stood in)"
    [ -z "${YARDMASTER_NEED_KAFKA:-}" ] || exit 1
fi

# For the example of a client and the Helm chart; the killer uses it too.
if ! $quick; then
    if python; then
        export YARDMASTER_TEST_PYTHON=$work/python/bin/python
    else
        mock="$mock (WITHOUT PYTHON'S CLIENTS: the example of a client was not run)"
    fi
    helm || mock="$mock (WITHOUT HELM: the chart was not rendered)"
fi

if ! $quick && ! chromium; then
    mock="$mock (WITHOUT CHROMIUM: the web page was not looked at)"
fi

if ! $quick && ! composer; then
    mock="$mock (WITHOUT DOCKER COMPOSE: docker-compose.yml was read by the tests alone)"
fi

# A first build is faster without what later ones would use.
[ -d "${CARGO_TARGET_DIR:-target}/debug/incremental" ] || export CARGO_INCREMENTAL=0

# Whatever fails, the rest is still done: one run shows all failures.
failed=0
check() {
    local began=$SECONDS
    heading "$*"
    "$@" || failed=1
    echo "== $((SECONDS - began)) s"
}
if ! $quick; then
    check cargo fmt --check
    check cargo clippy --locked --features tls --all-targets -- -D warnings
    # The core stands alone.
    check cargo check --locked --lib --no-default-features
    check boards
fi

# One build for all that follows.
check cargo test --locked --features tls --no-run

# First what needs the processor: two tests a core, since some wait for a broker, and nothing else
# beside it. What kills processes, restarts a broker, or starts brokers of its own waits most of the
# time, for the broker's sessions and takeovers: those groups run after it, beside each other, each test
# of a group alone.
processes=(kill::)
nodes=(faults::nodes:: secure::)
phases=(faults::phases:: faults::disk:: faults::lanes::)
brokers=(the_broker_may_restart retention::)
domains=(domains::kafka:: domains::kinds::)
databases=(panda::captured:: panda::check:: panda::day:: panda::live:: panda::rows::)
alone=("${processes[@]}" secure:: faults:: "${brokers[@]}" "${domains[@]}" "${databases[@]}")
threads=$((2 * $(nproc 2> /dev/null || echo 2)))
tests -- --test-threads=$threads "${alone[@]/#/--skip=}" || failed=1
if $long; then
    tests --test it -- --ignored crash::a_process_may_end crash::storm::many_storms \
        sim_cms::a_whole_day || failed=1
fi

# Runs a group in the background; its output is shown when all groups are done.
pids=()
groups=()
group() {
    local name=$1 out=$work/group-$1.log
    shift
    heading "in the background: $name"
    groups+=("$name")
    (
        local began=$SECONDS log=/dev/null code=0
        "$@" > "$out" 2>&1 || code=$?
        echo "== group $name: $((SECONDS - began)) s" >> "$out"
        exit $code
    ) &
    pids+=($!)
}
alone() { tests --test it -- --test-threads=1 --nocapture "$@"; }
if ! $quick; then
    group processes alone "${processes[@]}"
    group nodes alone "${nodes[@]}"
    group phases alone "${phases[@]}"
    group brokers alone "${brokers[@]}" "${domains[@]}"
    group killer killer
    for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
    # These start a database, Kafka Connect and a Kafka of their own, and want the processor.
    pids=()
    group databases alone "${databases[@]}"
    group jedi jedi
    for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
    for name in "${groups[@]}"; do tee -a "$log" < "$work/group-$name.log"; done
fi

# What failed, once more where it is found: the tests that run alone print it among all else.
panics=$(grep -a -A12 "^thread '.*panicked at" "$log" | grep -a -v "^note: run with" || true)
[ $failed = 0 ] || [ -z "$panics" ] || printf '\n== What panicked\n%s\n' "$panics"
heading "$((SECONDS - started)) s in all"
awk -v mock="$mock" -v failed=$failed '
    /^test result: / { passed += $4; bad += $6; ignored += $8 }
    END {
        result = bad || failed || !passed ? "FAILED" : "ok"
        printf "test result: %s. %d passed; %d failed; %d ignored%s\n", result, passed, bad, ignored, mock
        exit result != "ok"
    }' "$log"
