#!/usr/bin/env bash
# A real HTCondor pool for the tests: central manager, schedd and four startds, on loopback only. As root:
#
#   pool.sh install ROOT         HTCondor of Debian 13 in the directory ROOT (debootstrap, about 700 MB)
#   pool.sh start ROOT PORT      configures and starts it; returns when all slots are there
#   pool.sh lead ROOT            adds 50-yardmaster.conf and 51-test.conf to the schedd
#   pool.sh shadow ROOT          takes them away again
#   pool.sh token ROOT DIR       a configuration and a token in DIR for a client outside of ROOT
#   pool.sh stop ROOT            stops what start started, by its process id, and takes mounts away
#
# ROOT may be / where HTCondor is installed and its directories are free for a test. `lead` reads
# YARDMASTER_POOL_GRACE_S (60).
#
# Exit code 77: the pool cannot be had here (no root, no debootstrap, no packages).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
shipped=$here/../../clients/htcondor/src/yardmaster_htcondor/shipped/50-yardmaster.conf
[ $# -ge 2 ] || { sed -n '2,16s/^# \{0,1\}//p' "$0" >&2; exit 2; }
verb=$1
root=${2%/}
pidfile=$root/run/condor/yardmaster-pool.pid
config=$root/etc/condor/config.d

not_here() { echo "no HTCondor pool: $*" >&2; exit 77; }

in_root() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root ${root:+chroot "$root"} "$@"
}

# The master's process id, if it is alive and is that of this pool.
alive() {
    local pid
    pid=$(cat "$pidfile" 2> /dev/null) || return 1
    grep -q condor_master "/proc/$pid/cmdline" 2> /dev/null || return 1
    echo "$pid"
}

mirror() {
    local found
    found=$(sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb (\[[^]]*\] )?([^ ]+) .*/\2/p' \
        /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2> /dev/null | grep -v security | head -1)
    echo "${MIRROR:-${found:-http://deb.debian.org/debian}}"
}

install() {
    [ "$(id -u)" = 0 ] || not_here "only root may make a chroot"
    [ ! -x "$root/usr/sbin/condor_master" ] || return 0
    [ -n "$root" ] || not_here "the machine has none, and / is not filled by a test"
    command -v debootstrap > /dev/null || {
        apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap
    } > /dev/null 2>&1 || not_here "no debootstrap"
    mkdir -p "$root"
    local log=$root.install.log
    {
        debootstrap --variant=minbase --include=ca-certificates,procps,python3 trixie "$root" "$(mirror)" &&
            # Packages do not start anything while they are installed in a chroot.
            printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d" &&
            chmod +x "$root/usr/sbin/policy-rc.d" &&
            cp /etc/resolv.conf "$root/etc/resolv.conf" &&
            mounts &&
            in_root apt-get update -qq &&
            in_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends condor
    } > "$log" 2>&1 || { unmount; not_here "the install failed: $(tail -1 "$log"); see $log"; }
    unmount
    in_root condor_version
}

mounts() {
    [ -n "$root" ] || return 0
    mountpoint -q "$root/proc" || mount -t proc proc "$root/proc" || not_here "proc cannot be mounted"
    mountpoint -q "$root/dev" || mount --bind /dev "$root/dev" || not_here "dev cannot be mounted"
}

unmount() {
    [ -n "$root" ] || return 0
    umount "$root/dev" 2> /dev/null || true
    umount "$root/proc" 2> /dev/null || true
}

configure() { # PORT
    rm -f "$config/00-htcondor-9.0.config"
    sed "s/@PORT@/$1/" "$here/pool.conf" > "$config/10-pool.conf"
    for pair in DESY:172800 NEB:86400 FNAL:172800 GPU:43200; do
        echo "${pair%:*}.GLIDEIN_ToRetire = $(($(date +%s) + ${pair#*:}))"
    done > "$root/etc/condor/pilot-ends.conf"
    for user in cmsdataops user1 user2 yardmaster; do
        in_root id "$user" > /dev/null 2>&1 || in_root useradd -m -s /bin/bash "$user"
    done
    in_root mkdir -p /var/lib/condor/execute/{desy,neb,fnal,gpu} /run/condor /var/lock/condor \
        /var/log/condor /var/spool/condor/b /etc/condor/passwords.d /etc/condor/tokens.d
    in_root chown -R condor:condor /var/lib/condor /run/condor /var/lock/condor /var/log/condor /var/spool/condor
    [ -s "$root/etc/condor/passwords.d/POOL" ] ||
        head -c 64 /dev/urandom > "$root/etc/condor/passwords.d/POOL"
    chmod 600 "$root/etc/condor/passwords.d/POOL"
}

# Queue and history of a pool before are not this one's.
clear_state() {
    rm -rf "${root:?}"/var/spool/condor/* "$root"/var/log/condor/* "$root"/var/lib/condor/execute
}

start() { # PORT
    [ "$(id -u)" = 0 ] || not_here "only root may start daemons of several users"
    [ -x "$root/usr/sbin/condor_master" ] || not_here "HTCondor is not installed in ${root:-/}"
    ! alive > /dev/null || { echo "runs already, master $(alive)" >&2; return 1; }
    mounts
    [ -z "$root" ] || clear_state
    rm -f "$config/50-yardmaster.conf" "$config/51-test.conf"
    configure "$1"
    in_root condor_master -pidfile /run/condor/yardmaster-pool.pid
    for _ in $(seq 240); do
        [ "$(in_root condor_status -af Name 2> /dev/null | wc -l)" -lt 4 ] || { known; alive; return; }
        sleep 0.25
    done
    echo "no slots after 60 s; see $root/var/log/condor" >&2
    stop
    return 1
}

# A schedd takes edits of users that it knows: of those that submitted a job once.
known() {
    in_root runuser -u yardmaster -- sh -c 'cd /tmp && for schedd in a b; do
        printf "executable = /bin/true\nhold = true\nqueue\n" | condor_submit -name $schedd@pool.test &&
            condor_rm -name $schedd@pool.test yardmaster; done' > /dev/null
}

stop() {
    local pid
    if pid=$(alive); then
        kill "$pid" # SIGTERM: the master ends its daemons
        for _ in $(seq 120); do kill -0 "$pid" 2> /dev/null || break; sleep 0.25; done
        # Its daemons are its children: those that are left are named by it, not by their name.
        kill -0 "$pid" 2> /dev/null && { pkill -KILL -P "$pid" || true; kill -KILL "$pid" || true; }
    fi
    rm -f "$pidfile"
    unmount
}

lead() {
    sed '/REQUIREMENTS/s/(AcctGroup =?= "none")$/(Fixture_Lead =?= true)/' "$shipped" > "$config/50-yardmaster.conf"
    {
        echo "YM_GRACE = ${YARDMASTER_POOL_GRACE_S:-60}"
        echo "NEGOTIATOR_CYCLE_DELAY = 1"
        echo "NEGOTIATOR_MIN_INTERVAL = 1"
        echo "NEGOTIATOR_INTERVAL = 1"
        echo "SCHEDD_MIN_INTERVAL = 1"
    } > "$config/51-test.conf"
    reconfigure
}

# Both schedds and the negotiator read their configuration again.
reconfigure() {
    for schedd in a b; do in_root condor_reconfig -schedd -name $schedd@pool.test; done
    in_root condor_reconfig -negotiator
}

shadow() {
    rm -f "$config/50-yardmaster.conf" "$config/51-test.conf"
    reconfigure
}

token() { # DIR
    mkdir -p "$1/tokens.d"
    chmod 700 "$1/tokens.d"
    in_root condor_token_create -identity yardmaster@pool.test > "$1/tokens.d/yardmaster"
    chmod 600 "$1/tokens.d/yardmaster"
    {
        grep -E '^(CONDOR_HOST|COLLECTOR_HOST|ENABLE_IPV6|NO_DNS|DEFAULT_DOMAIN_NAME|UID_DOMAIN|TRUST_DOMAIN) ' "$config/10-pool.conf"
        grep -E '^(NETWORK_INTERFACE|SEC_[A-Z_]*) ' "$config/10-pool.conf"
        echo "SEC_TOKEN_DIRECTORY = $1/tokens.d"
        echo "SEC_CLIENT_AUTHENTICATION_METHODS = IDTOKENS"
    } > "$1/condor_config"
}

case $verb in
install) install ;;
start) start "${3:?PORT}" ;;
lead) lead ;;
shadow) shadow ;;
token) token "${3:?DIR}" ;;
stop) stop ;;
*) sed -n '2,16s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
