#!/bin/sh
# secrets.sh: creates the secrets of compose.yaml; existing files are kept. Only the
# user can open the folder. The files are readable by all, because the containers run
# as other users.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
random() { od -An -tx1 -N24 /dev/urandom | tr -d ' \n'; }
put() {
	[ -e "secrets/$1" ] && return
	printf '%s' "$2" >"secrets/$1"
	chmod 444 "secrets/$1"
}
put database_password "$(random)"
put database_url "postgres://lethe:$(cat secrets/database_password)@postgres:5432/lethe?sslmode=disable"
put objects_secret "$(random)"
