#!/usr/bin/env bash
# compose.sh COMPOSE-SPEC: starts what deploy/compose describes as processes with
# networks and roots of their own, and uses it. As root: it makes name spaces.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || {
	echo "compose.sh: needs root, for networks and mounts of its own" >&2
	exit 1
}
for pair in ip:iproute2 nsenter:util-linux; do
	command -v "${pair%%:*}" >/dev/null || {
		echo "compose.sh: install the package ${pair#*:}" >&2
		exit 1
	}
done
scripts/needs.sh haproxy:haproxy
LETHE_COMPOSE=$(realpath "$1") go test -count=1 -v -timeout 10m ./test/compose
