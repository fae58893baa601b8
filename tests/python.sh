# Sourced, in strict mode, by tests in Python: a Python of their own, and checks of a package with it.

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

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

# What LIST requires, and PACKAGEs without hooks of their builds and without what they require: those of panda-server
# want users and programs of a server, and what a web server needs.
provide() { # LIST PACKAGE...
    local sum pip=("$venv/bin/pip" install -q --disable-pip-version-check --no-compile)
    sum=$(cksum - "$1" <<< "${*:2}")
    [ "$(cat "$venv/sum" 2> /dev/null)" != "$sum" ] || return 0
    make_venv && "${pip[@]}" -r "$1" || return 1
    [ $# = 1 ] || HATCH_BUILD_NO_HOOKS=true "${pip[@]}" --no-deps "${@:2}" || return 1
    echo "$sum" > "$venv/sum"
}

# Brings a Python into $venv, below $work, which is NAME in ${CARGO_TARGET_DIR:-target}. Ends with exit code 77
# where it cannot be had. LIST is a file of the repository.
bring() { # NAME LIST PACKAGE...
    work=${CARGO_TARGET_DIR:-$repository/target}/$1
    mkdir -p "$work"
    work=$(cd "$work" && pwd)
    venv=$work/python
    export PYTHONPYCACHEPREFIX=$work/bytecode
    provide "$repository/$2" "${@:3}" || {
        echo "no Python with the packages of $2" "${@:3}"
        exit 77
    }
    "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        echo "Python 3.11 or newer is needed: $("$venv/bin/python" --version) is here"
        exit 77
    }
}

# ruff, mypy --strict, pytest, and a wheel with what is WANTED in it; ruff and mypy check MORE too, folders with blanks
# between or none.
check() { # FOLDER MORE WANTED...
    local folder=$1 more wheel
    read -ra more <<< "$2"
    shift 2
    echo "== $folder"
    cd "$repository/$folder"
    "$venv/bin/ruff" check --no-cache . "${more[@]}"
    "$venv/bin/ruff" format --no-cache --check . "${more[@]}"
    "$venv/bin/mypy" --cache-dir "$work/mypy" src tests "${more[@]}"
    "$venv/bin/python" -m pytest -p no:cacheprovider
    rm -rf "$work/dist"
    "$venv/bin/python" -m build --no-isolation --wheel --outdir "$work/dist" . > "$work/build.log" 2>&1 || {
        tail -20 "$work/build.log"
        exit 1
    }
    wheel=$(echo "$work"/dist/*.whl)
    "$venv/bin/python" - "$wheel" "$@" <<'P'
import sys, zipfile
names = zipfile.ZipFile(sys.argv[1]).namelist()
missing = [name for name in sys.argv[2:] if name not in names]
sys.exit(f"{sys.argv[1]} lacks {missing}" if missing else None)
P
}
