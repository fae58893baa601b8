#!/usr/bin/env bash
# rustdoc for `cargo test --doc`: it makes the pages of a crate in $YARDMASTER_DOC instead of running the
# examples in them, and fails where `cargo doc` would warn.
set -euo pipefail
words=()
while [ $# -gt 0 ]; do
    case $1 in
    --test) ;;
    --test-args | --test-run-directory | --test-builder | --test-runtool | --test-runtool-arg) shift ;;
    *) words+=("$1") ;;
    esac
    shift
done
exec rustdoc "${words[@]}" --out-dir "$YARDMASTER_DOC" -D warnings
