#!/usr/bin/env bash
# needs.sh [COMMAND:PACKAGE...]: installs what the tests need beyond Go, and the
# servers that are named. What is there already is left alone; the rest comes from
# Debian's packages (through sudo when not root) and, where Debian has none, is
# built from its module into .bin. Servers are installed without being started, now
# or at the next boot: the tests start their own.
set -euo pipefail
cd "$(dirname "$0")/.."

# The command to look for, and the package that has it. Version 2 of aws is
# Debian's; PATH may have another. Debian keeps PostgreSQL's server out of PATH.
# mariadb-server-core is the server's program alone, without a service.
commands=(gcc:gcc curl:curl openssl:openssl s3cmd:s3cmd rclone:rclone restic:restic /usr/bin/aws:awscli spin:spin mariadbd:mariadb-server-core strace:strace libfaketime.so.1:libfaketime chromium:chromium rpm:rpm)
servers=(postgres:postgresql pgbouncer:pgbouncer redis-server:redis-server promtool:prometheus nats-server:nats-server "$@")

have() {
	command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] || compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null ||
		compgen -G "/usr/lib/*/faketime/$1" >/dev/null
}

packages=() daemons=()
for pair in "${commands[@]}"; do
	have "${pair%%:*}" || packages+=("${pair#*:}")
done
[ -e /usr/include/stdlib.h ] || packages+=(libc6-dev)
for pair in "${servers[@]}"; do
	have "${pair%%:*}" || daemons+=("${pair#*:}")
done

root=()
quietly() {
	local log
	log=$("${root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" 2>&1) || {
		echo "$log" >&2
		exit 1
	}
}
install() { quietly apt-get -q install -y --no-install-recommends "$@"; }

# dormant installs servers so that none is started: Debian asks policy-rc.d
# whether it may, and create_main_cluster whether PostgreSQL gets a database.
policy=/usr/sbin/policy-rc.d
kept=$policy.before-needs
conf=/etc/postgresql-common/createcluster.conf
awake() {
	if [ -e "$kept" ]; then
		"${root[@]}" mv "$kept" "$policy"
	else
		"${root[@]}" rm -f "$policy"
	fi
}
dormant() {
	trap awake EXIT
	[ ! -e "$policy" ] || quietly cp -p "$policy" "$kept"
	printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy.new" >/dev/null
	quietly chmod 755 "$policy.new"
	quietly mv "$policy.new" "$policy"
	local cluster=
	if [[ " $* " == *" postgresql "* ]]; then
		[ -e "$conf" ] || install postgresql-common
		grep -q '^ *create_main_cluster' "$conf" || cluster=ours
	fi
	[ -z "$cluster" ] || quietly pg_conftool "$conf" set create_main_cluster off
	install "$@"
	[ -z "$cluster" ] || quietly pg_conftool "$conf" remove create_main_cluster
	if command -v systemctl >/dev/null; then
		quietly systemctl disable "$@"
	fi
}

if [ "$((${#packages[@]} + ${#daemons[@]}))" -gt 0 ]; then
	echo "installing: ${packages[*]} ${daemons[*]}"
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || {
			echo "needs.sh: not root and no sudo; install these packages by hand: ${packages[*]} ${daemons[*]}" >&2
			exit 1
		}
		root=(sudo)
	fi
	quietly apt-get -q update
	[ "${#packages[@]}" -eq 0 ] || install "${packages[@]}"
	[ "${#daemons[@]}" -eq 0 ] || (dormant "${daemons[@]}")
fi

[ -x .bin/s5cmd ] || scripts/modbuild.sh s5cmd github.com/peak/s5cmd/v2@v2.3.0
[ -x .bin/bazel-remote ] || scripts/modbuild.sh bazel-remote github.com/buchgr/bazel-remote/v2@v2.6.1
[ -x .bin/versitygw ] || scripts/modbuild.sh versitygw \
	"github.com/versity/versitygw@$(go list -m -f '{{.Version}}' github.com/versity/versitygw)" ./cmd/versitygw
