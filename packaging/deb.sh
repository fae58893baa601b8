#!/bin/sh
# Makes the Debian package, target/debian/yardmaster_*.deb: builds the program, has it write its man
# pages and completions, and packs them with it. Needs cargo-deb (`cargo install cargo-deb --locked`).
#
#   packaging/deb.sh [FLAGS OF cargo deb]
set -eu
cd "$(dirname "$0")/.."

cargo build --release --locked --features tls
packaging/generated.sh "${CARGO_TARGET_DIR:-target}/release/yardmaster" target/deb
exec cargo deb --no-build "$@"
