#!/usr/bin/env bash
# rclone.sh FOLDER: compiles the tests of rclone's S3 backend into
# FOLDER/backend/s3/rclone-s3.test, beside the few files of its source that they
# look for. It takes minutes.
set -euo pipefail

version=v1.75.1
home=$1
mkdir -p "$home/backend/s3"
work=$(mktemp -d "$home/build.XXXXXX")
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
cd "$work"
source=$(GOWORK=off go mod download -json "github.com/rclone/rclone@$version" | awk -F'"' '$2 == "Dir" { print $4 }')
if [ ! -d "$source" ]; then
	echo "rclone.sh: rclone $version was not downloaded; check the network and GOPROXY" >&2
	exit 1
fi

# A copy, because the module cache is read-only and building may complete go.sum.
cp -r "$source" src
chmod -R u+w src
cd src
GOWORK=off GOFLAGS='-mod=mod -buildvcs=false' nice go test -c -vet=off -ldflags='-s -w' -o "$home/backend/s3/rclone-s3.test" ./backend/s3
mkdir -p "$home/fstest"
cp -r fstest/testserver "$home/fstest/"
echo "built the tests of rclone $version"
