#!/bin/sh
# Checks dashboards/*.json against Grafana's types of its dashboard schema. The packages that
# package-lock.json pins are brought by npm once, into the directory that is named (target/boards).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=${1:-$here/../../target/boards}
mkdir -p "$work"
sum=$(cat "$here/package.json" "$here/package-lock.json" | cksum)
if [ "$(cat "$work/sum" 2> /dev/null)" != "$sum" ]; then
    rm -rf "$work/node_modules" "$work/sum"
    cp "$here/package.json" "$here/package-lock.json" "$work"
    (cd "$work" && npm ci --silent --no-audit --no-fund --ignore-scripts) || {
        echo "npm could not bring @grafana/schema and typescript"
        exit 2
    }
    echo "$sum" > "$work/sum"
fi
# Packages are found beside what imports them.
cp "$here/check.mjs" "$here/schema.d.ts" "$work"
exec node "$work/check.mjs" "$here"/../../dashboards/*.json
