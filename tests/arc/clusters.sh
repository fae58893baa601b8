#!/usr/bin/env bash
# Real clusters of ARC for the tests: A-REX with the batch system fork, on loopback only, without systemd. As root:
#
#   clusters.sh install ROOT       ARC 7 of Debian 13 in the directory ROOT (debootstrap, about 550 MB)
#   clusters.sh names ROOT COMMAND...  runs a command where the clusters' host names are known, and what is mounted is
#                                  nobody else's
#   clusters.sh credentials ROOT   an authority of its own, with certificates of clusters and users, in ROOT/srv/ca
#   clusters.sh start ROOT NAME ADDRESS DISK_MB  a cluster without jobs, as NAME.conf has it; returns when it answers
#   clusters.sh info ROOT NAME     it publishes what is there now, instead of once a minute
#   clusters.sh kill ROOT NAME     ends it hard; its jobs go on
#   clusters.sh restart ROOT NAME  starts it again, with the jobs that it had
#   clusters.sh stop ROOT          ends all that runs in ROOT, by its process ids, and takes mounts away
#
# ADDRESS is 127.x.y.z and not 127.0.0.1, where slapd listens in any case, so that clusters with [infosys/ldap] in
# their NAME.conf need ports of their own. REST is at https://NAME.example.org:8443/arex.
#
# Exit code 77: clusters cannot be had here (no root, no debootstrap, no packages).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage() { sed -n '2,18s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ $# -ge 2 ] || usage
verb=$1
root=$(realpath -m "$2")
[ "$root" != / ] || { echo "ROOT is a directory for the tests alone" >&2; exit 2; }
name=${3:-}
place=$root/srv/$name
ca=$root/srv/ca
days=7

not_here() { echo "no clusters of ARC: $*" >&2; exit 77; }

in_root() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root ${ARC_CONFIG:+ARC_CONFIG="$ARC_CONFIG"} \
        chroot "$root" "$@"
}

# Waits until a command succeeds.
wait_for() { # SECONDS COMMAND...
    local left=$((10 * $1))
    shift
    until "$@" > /dev/null 2>&1; do
        [ $((left -= 1)) -gt 0 ] || return 1
        sleep 0.1
    done
}

# --- What is brought ------------------------------------------------------------------------------

mirror() {
    local found
    found=$(sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb (\[[^]]*\] )?([^ ]+) .*/\2/p' \
        /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2> /dev/null | grep -v security | head -1)
    echo "${MIRROR:-${found:-http://deb.debian.org/debian}}"
}

bootstrap() {
    # debootstrap takes this directory away when it has succeeded.
    [ ! -x "$root/usr/bin/apt-get" ] || [ -d "$root/debootstrap" ] || return 0
    debootstrap --variant=minbase --include=ca-certificates,procps,python3 trixie "$root" "$(mirror)"
}

packages() {
    # Packages do not start anything while they are installed in a chroot.
    printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d" && chmod +x "$root/usr/sbin/policy-rc.d" &&
        cp /etc/resolv.conf "$root/etc/resolv.conf" && hosts && mounts &&
        # Nobody needs this directory after a crash of the machine.
        echo force-unsafe-io > "$root/etc/dpkg/dpkg.cfg.d/unsafe-io" &&
        in_root apt-get update -qq &&
        in_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            nordugrid-arc-arex nordugrid-arc-arcctl nordugrid-arc-client nordugrid-arc-infosys-ldap \
            nordugrid-arc-plugins-needed openssl &&
        in_root apt-get clean &&
        # For a cluster whose configuration is /etc/arc.conf; they would hold for ours as well.
        rm -rf "$root/etc/arc.conf.d" &&
        # How often the end of jobs is looked for; 10 s as it comes.
        sed -i 's/^sleep 10$/sleep 2/' "$root/usr/share/arc/scan-fork-job" &&
        # Without it A-REX makes one of 4096 bits when it starts, which takes minutes.
        in_root openssl dhparam -dsaparam -out /srv/dhparam.pem 2048
}

install() {
    [ "$(id -u)" = 0 ] || not_here "only root may make a chroot"
    unshare --mount true 2> /dev/null || not_here "nothing can be mounted"
    [ ! -s "$root/srv/dhparam.pem" ] || { version; return; }
    command -v debootstrap > /dev/null || {
        apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap
    } > /dev/null 2>&1 || not_here "no debootstrap"
    mkdir -p "$root"
    local log=$root.install.log
    { bootstrap && packages; } > "$log" 2>&1 || { unmount; not_here "the install failed: $(tail -1 "$log"); see $log"; }
    unmount
    version
}

version() { in_root dpkg-query -W -f '${Package} ${Version}\n' nordugrid-arc-arex nordugrid-arc-infosys-ldap slapd; }

mounts() {
    mountpoint -q "$root/proc" || mount -t proc proc "$root/proc" || not_here "proc cannot be mounted"
    mountpoint -q "$root/dev" || mount --bind /dev "$root/dev" || not_here "dev cannot be mounted"
}

unmount() {
    local at
    for at in "$root"/srv/*/session "$root/dev" "$root/proc"; do
        ! mountpoint -q "$at" || umount "$at" || true
    done
}

# Names of clusters, and of this machine: A-REX asks for its own.
hosts() {
    {
        echo "127.0.0.1 localhost $(hostname)"
        for number in 1 2 3; do echo "127.0.0.1$number ce-$(tr 123 abc <<< $number).example.org"; done
    } > "$root/etc/hosts"
}

names() { # COMMAND...
    [ "$(id -u)" = 0 ] || not_here "only root may have names of its own"
    exec unshare --mount --propagation private bash -c 'mount --bind "$1" /etc/hosts && shift && exec "$@"' \
        names "$root/etc/hosts" "$@"
}

# --- Who is who -----------------------------------------------------------------------------------

ssl() { in_root openssl "$@" 2>> "$root/srv/ssl.log"; }

# A certificate with key, signed by the authority.
sign() { # NAME SUBJECT EXTENSIONS
    printf '%b' "$3" > "$ca/extensions"
    ssl req -new -newkey rsa:2048 -nodes -keyout "/srv/ca/$1-key.pem" -subj "$2" |
        ssl x509 -req -days $days -CA /srv/ca/ca.pem -CAkey /srv/ca/ca-key.pem -CAcreateserial \
            -extfile /srv/ca/extensions -out "/srv/ca/$1-cert.pem"
}

# What the clusters know of the tokens' issuer, in ROOT/srv/ca/issuer, and a token in ROOT/srv/ca/carol.token.
tokens() {
    local jwt=(arcctl test-jwt --iss-id example --jwk-dir /srv/ca/jwt)
    in_root "${jwt[@]}" init >> "$root/srv/ssl.log" 2>&1
    in_root "${jwt[@]}" token -n carol | tail -1 > "$ca/carol.token"
    mkdir "$ca/issuer"
    cp "$ca"/jwt/*/metadata.json "$ca/issuer/metadata"
    cp "$ca"/jwt/*/jwks.json "$ca/issuer/keys"
    sed 's/.*"issuer": "\([^"]*\)".*/\1/' "$ca/issuer/metadata" | tr -d '\n' > "$ca/issuer/issuer"
}

credentials() {
    local grid=/DC=org/DC=example user number
    rm -rf "$ca"
    mkdir -p "$ca/certificates"
    hosts
    mounts
    ssl req -x509 -newkey rsa:2048 -nodes -days $days -subj "$grid/CN=Test CA" -keyout /srv/ca/ca-key.pem -out /srv/ca/ca.pem
    # Grids trust an authority for a part of all names, which stands beside its certificate.
    cat > "$ca/certificates/test.signing_policy" <<P
access_id_CA  X509   '$grid/CN=Test CA'
pos_rights    globus CA:sign
cond_subjects globus '"$grid/*"'
P
    number=$(ssl x509 -in /srv/ca/ca.pem -noout -hash)
    cp "$ca/ca.pem" "$ca/certificates/$number.0"
    mv "$ca/certificates/test.signing_policy" "$ca/certificates/$number.signing_policy"
    for number in a b c; do
        sign "ce-$number" "$grid/O=Hosts/CN=ce-$number.example.org" \
            "subjectAltName=DNS:ce-$number.example.org\nextendedKeyUsage=serverAuth,clientAuth\n"
    done
    for user in Ann Bob Eve; do
        sign "${user,,}" "$grid/O=People/CN=$user" "keyUsage=digitalSignature,keyEncipherment\nextendedKeyUsage=clientAuth\n"
        in_root env X509_USER_CERT="/srv/ca/${user,,}-cert.pem" X509_USER_KEY="/srv/ca/${user,,}-key.pem" \
            X509_CERT_DIR=/srv/ca/certificates arcproxy -c validityPeriod=86400 -P "/srv/ca/${user,,}.proxy" \
            >> "$root/srv/ssl.log"
    done
    tokens
}

# --- Clusters -------------------------------------------------------------------------------------

# Processes of a cluster: its pid file's, if that is alive and is of this cluster.
alive() { # FILE
    local pid
    pid=$(cat "$1" 2> /dev/null) && [ -n "$pid" ] || return 1
    [ "$(readlink "/proc/$pid/root")" = "$root" ] || return 1
    echo "$pid"
}

below() { # PID: those that it started, and they
    local child
    for child in $(ps -o pid= --ppid "$1"); do
        echo "$child"
        below "$child"
    done
}

# Whether a process has ended; one that nobody has waited for keeps its pid.
gone() { ! kill -0 "$1" 2> /dev/null || grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2> /dev/null; }

# Ends what a cluster serves with, and what that runs; its jobs go on, as they do when a machine in front of a batch
# system dies.
end() {
    local file pid pids=()
    for file in "$place"/{run/arex-ws,run/arex,bdii/bdii-update,bdii/db/slapd}.pid; do
        ! pid=$(alive "$file") || pids+=("$pid" $(below "$pid"))
        rm -f "$file"
    done
    [ ${#pids[@]} = 0 ] || kill -KILL "${pids[@]}" 2> /dev/null || true
    for pid in "${pids[@]}"; do wait_for 10 gone "$pid" || { echo "process $pid does not end" >&2; return 1; }; done
}

configure() { # ADDRESS DISK_MB
    mkdir -p "$place"/{control/{accepting,finished,processing,restarting,rte/enabled,tokenissuers/example},session}
    mkdir -p "$place"/{log,run,cache,bdii,ldap,tmp}
    chmod 1777 "$place/tmp"
    local issuer
    issuer=$(cat "$ca/issuer/issuer")
    cat "$here/arc.conf.in" "$here/$name.conf" |
        sed "s|@NAME@|$name|g; s|@ADDRESS@|$1|g; s|@ISSUER@|$issuer|g" > "$place/arc.conf"
    echo "$2" > "$place/disk_mb"
    cp "$ca"/issuer/* "$place/control/tokenissuers/example"
    /usr/bin/install -m 600 "$root/srv/dhparam.pem" "$place/control/dhparam.pem"
    # The port alone can be configured; A-REX would listen on every address.
    sed "s#<tcp:Listen><tcp:Port>#<tcp:Listen><tcp:Interface>$1</tcp:Interface><tcp:Port>#" \
        "$root/usr/share/arc/arc-arex-ws-start" > "$place/ws-start"
    chmod +x "$place/ws-start"
    grep -q "<tcp:Interface>$1<" "$place/ws-start" || { echo "A-REX would not listen on $1 alone" >&2; return 1; }
    environments
}

# A runtime environment is a script that says what it was given; the last lines of NAME.conf name those that it has.
environments() {
    local environment file
    for environment in $(sed -n 's/^#:environment //p' "$here/$name.conf"); do
        file=$place/control/rte/enabled/$environment
        mkdir -p "$(dirname "$file")" "$place/rte"
        printf 'export RUN_IN="%s"\n' "$environment" > "$place/rte/${environment//\//_}"
        ln -s "/srv/$name/rte/${environment//\//_}" "$file"
    done
}

has_ldap() { grep -q '^\[infosys/ldap\]' "$place/arc.conf"; }

ldap() {
    (
        # These scripts keep the configuration of the machine's only cluster in one place.
        flock 9
        in_root /usr/share/arc/create-slapd-config
        in_root /usr/share/arc/create-bdii-config
    ) 9> "$root/run/clusters.lock"
    in_root /bin/sh "/srv/$name/ldap/bdii-slapd.cmd"
    wait_for 10 test -s "$place/bdii/db/slapd.pid" || return 1
    in_root /bin/sh "/srv/$name/ldap/bdii-update.cmd"
    wait_for 10 test -s "$place/bdii/bdii-update.pid"
}

up() {
    mounts
    mountpoint -q "$place/session" ||
        # Free space of a file system of its own is a known figure.
        mount -t tmpfs -o "size=$(cat "$place/disk_mb")m,mode=755" "session-$name" "$place/session"
    export ARC_CONFIG=/srv/$name/arc.conf
    ! has_ldap || ldap || return 1
    in_root /usr/share/arc/arc-arex-start || return 1
    in_root "/srv/$name/ws-start" || return 1
    wait_for 20 test -s "$place/run/arex.pid" -a -s "$place/run/arex-ws.pid" || return 1
    wait_for 60 test -s "$place/control/info.xml" || return 1
    # The first run of the information providers was before LDAP could take what they say.
    ! has_ldap || wait_for 30 test -p "$place/ldap/ldif-provider.fifo" || return 1
    ! has_ldap || info
}

run_up() {
    up > "$place/log/start.log" 2>&1 || { echo "$name did not start: $(tail -2 "$place/log/start.log")" >&2; return 1; }
    alive "$place/run/arex.pid"
}

start() { # ADDRESS DISK_MB
    [ -d "$ca/issuer" ] || { echo "no credentials" >&2; return 1; }
    end
    ! mountpoint -q "$place/session" || umount -l "$place/session"
    rm -rf "$place"
    configure "$@"
    run_up
}

restart() {
    end
    rm -rf "$place/run" && mkdir "$place/run"
    run_up
}

# One run of the information providers: LDAP is told by them, REST reads a file.
info() {
    ARC_CONFIG=/srv/$name/arc.conf in_root /usr/share/arc/CEinfo.pl --splitjobs --config "/srv/$name/run/arex.cfg" \
        > "$place/control/info.new"
    mv "$place/control/info.new" "$place/control/info.xml"
}

# Processes in this root: those of clusters, and of their jobs.
inside() {
    local at
    for at in /proc/[0-9]*; do
        [ "$(readlink "$at/root" 2> /dev/null)" != "$root" ] || echo "${at#/proc/}"
    done
}

stop() {
    local pids
    # What is killed may have started something meanwhile.
    while pids=$(inside) && [ -n "$pids" ]; do
        kill -KILL $pids 2> /dev/null || true
        sleep 0.2
    done
    unmount
}

case $verb in
start | info | kill | restart) [ -f "$here/$name.conf" ] || usage ;;
esac

case $verb in
install) install ;;
names) shift 2; names "$@" ;;
credentials) credentials ;;
start) start "${4:?ADDRESS}" "${5:?DISK_MB}" ;;
info) info ;;
kill) end ;;
restart) restart ;;
stop) stop ;;
*) usage ;;
esac
