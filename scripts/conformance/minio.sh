#!/usr/bin/env bash
# minio.sh FILE: compiles the functional tests of minio-go into FILE.
set -euo pipefail

version=v7.0.97
out=$1
mkdir -p "$(dirname "$out")"
work=$(mktemp -d "$(dirname "$out")/minio.XXXXXX")
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
cd "$work"
source=$(GOWORK=off go mod download -json "github.com/minio/minio-go/v7@$version" | awk -F'"' '$2 == "Dir" { print $4 }')
if [ ! -d "$source" ]; then
	echo "minio.sh: minio-go $version was not downloaded; check the network and GOPROXY" >&2
	exit 1
fi

# A copy, because the module cache is read-only; the tests are a program, which lies in
# the library's own folder.
cp -r "$source" src
chmod -R u+w src
cd src
mkdir functional
mv functional_tests.go functional/main.go
GOWORK=off GOFLAGS='-mod=mod -buildvcs=false' nice go build -tags mint -o "$out" ./functional
echo "built the functional tests of minio-go $version"
