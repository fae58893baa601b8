#!/bin/sh
# Makes what a release hands out for this machine's architecture, in the folder DIR (dist): the program
# without debug information, that information in a file of its own, the Debian package with the same
# program, and checksums. Needs binutils and cargo-deb (`cargo install cargo-deb --locked`).
#
#   packaging/release.sh [DIR]
#
# OpenSSL and zlib are those of the system, which keeps them up to date: libssl.so.3. The oldest glibc
# that the program runs on is that of the system it is built on; GLIBC_MAX=2.34 refuses a later one.
set -eu
cd "$(dirname "$0")/.."
dir=${1:-dist}
target=${CARGO_TARGET_DIR:-target}

# Kernels of arm64 have pages of up to 64 KiB; the allocator is built for the largest there are.
[ "$(uname -m)" != aarch64 ] || export JEMALLOC_SYS_WITH_LG_PAGE=16
cargo build --profile dist --locked --features tls --bin yardmaster
program=$target/dist/yardmaster
arch=$(uname -m)
version=$("$program" --version | cut -d ' ' -f 2)
name=yardmaster-$version-$arch-linux

mkdir -p "$dir/$name"
# A program that was cut already has nothing to be cut off.
if objdump --syms "$program" | grep -q ' main$'; then
    objcopy --only-keep-debug --compress-debug-sections "$program" "$dir/$name.debug"
    objcopy --strip-unneeded "$program"
    objcopy --add-gnu-debuglink="$dir/$name.debug" "$program"
fi

glibc=$(objdump --dynamic-syms "$program" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1)
if [ "$(printf '%s\n' "$glibc" "${GLIBC_MAX:-$glibc}" | sort -V | tail -n 1)" != "${GLIBC_MAX:-$glibc}" ]; then
    echo "the program needs glibc $glibc, more than $GLIBC_MAX: build it on an older system" >&2
    exit 1
fi
"$program" --version
echo "needs glibc $glibc or later"

packaging/generated.sh "$program" target/deb
install -m 755 "$program" "$dir/$name/yardmaster"
cp -R LICENSE README.md topology schemas dashboards "$dir/$name/"
mkdir -p "$dir/$name/share"
cp -R target/deb/man1 target/deb/yardmaster.bash target/deb/yardmaster.zsh target/deb/yardmaster.fish "$dir/$name/share/"
tar --sort=name --owner=0 --group=0 --numeric-owner -czf "$dir/$name.tar.gz" -C "$dir" "$name"
rm -r "${dir:?}/$name"
cargo deb --no-build --no-strip --profile dist --output "$dir/"
cd "$dir"
find . -name "yardmaster[-_]*" -type f | sed 's|^\./||' | sort | xargs sha256sum > "SHA256SUMS-$arch"
cat "SHA256SUMS-$arch"
