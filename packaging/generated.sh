#!/bin/sh
# Writes what a package has of the program's flags: man pages, and completions of three shells.
#
#   packaging/generated.sh PROGRAM DIR
set -eu

if [ $# -ne 2 ]; then
    echo "give the program and a directory: packaging/generated.sh target/release/yardmaster target/deb" >&2
    exit 2
fi
program=$1
dir=$2

# Pages of verbs that there are no more are not to be packed.
rm -rf "$dir/man1"
mkdir -p "$dir"
"$program" man --dir "$dir/man1" > /dev/null
for shell in bash zsh fish; do
    "$program" completions "$shell" > "$dir/yardmaster.$shell"
done
