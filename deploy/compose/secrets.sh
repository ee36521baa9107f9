#!/bin/sh
# secrets.sh: makes the secrets of compose.yaml, once; what is there is kept.
# The folder is the user's alone; the files in it can be read by the containers,
# whose users have other ids.
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
