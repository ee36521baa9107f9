#!/usr/bin/env bash
# modbuild.sh NAME MODULE@VERSION [PACKAGE [SUM]]: builds a program from the source of
# its own module, with the versions that its own go.mod names, into .bin/NAME.
# Unlike `go install` it accepts replace directives and never asks for a list of
# versions. A module of the given SUM (as in go.sum) need not be in the checksum database.
set -euo pipefail

name=$1 module=$2 package=${3:-.} sum=${4:-}
cd "$(dirname "$0")/.."
mkdir -p .bin .cache
out=$PWD/.bin/$name

# In an empty folder with GOWORK off; the versions of our go.mod play no part,
# because a version is named.
work=$(mktemp -d "$PWD/.cache/modbuild.XXXXXX")
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
cd "$work"
export GOWORK=off
[ -z "$sum" ] || export GONOSUMDB=${module%@*}
downloaded=$(go mod download -json "$module" || true)
field() { awk -F'"' -v name="$1" '$2 == name { print $4 }' <<<"$downloaded"; }
source=$(field Dir)
if [ ! -d "$source" ]; then
	echo "modbuild.sh: $module was not downloaded; check the network and GOPROXY" >&2
	exit 1
fi
if [ -n "$sum" ] && [ "$(field Sum)" != "$sum" ]; then
	echo "modbuild.sh: $module has the sum $(field Sum) instead of $sum" >&2
	exit 1
fi

# A copy, because the module cache is read-only and building may complete go.sum.
cp -r "$source" src
chmod -R u+w src
cd src
GOFLAGS='-mod=mod -buildvcs=false' go build -o "$out" "$package"
echo "built $name from $module"
