#!/usr/bin/env bash
# demo-adopt.sh [PASTES]: shows "lethe adopt" on the paste service of
# examples/pastebin. It starts PostgreSQL, Redis and an S3 server in a temporary
# folder on loopback, fills the service with pastes that expire at once, and
# reclaims. Nothing is left behind.
set -euo pipefail
cd "$(dirname "$0")/.."
pastes=${1:-10000}

dir=$(mktemp -d "${TMPDIR:-/tmp}/lethe-demo-adopt-XXXXXX")
pids=()
cleanup() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait 2>/dev/null || true
	rm -rf "$dir"
}
trap cleanup EXIT
chmod 711 "$dir"
mkdir "$dir/pg" "$dir/s3" "$dir/sidecar" "$dir/redis"

# PostgreSQL refuses to run as root.
as=()
if [ "$(id -u)" = 0 ]; then
	as=(setpriv --reuid postgres --regid postgres --init-groups)
	chown postgres "$dir/pg"
fi
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -n "$bin" ] || bin=$(dirname "$(command -v postgres)")
free() { # prints a port that nobody listens on
	local port
	while :; do
		port=$((20000 + RANDOM % 20000))
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
	done
}
await() { # await PORT: waits until somebody listens there
	for _ in $(seq 100); do
		(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
		sleep 0.1
	done
	echo "nothing listens on port $1" >&2
	exit 1
}

pg=$(free) redis=$(free) s3=$(free)
"${as[@]}" "$bin/initdb" -D "$dir/pg/data" -U pastes -A trust -E UTF8 --locale=C >"$dir/initdb.log" 2>&1
"${as[@]}" "$bin/postgres" -D "$dir/pg/data" -p "$pg" -c listen_addresses=127.0.0.1 -c unix_socket_directories="$dir/pg" >"$dir/pg.log" 2>&1 &
pids+=($!)
redis-server --bind 127.0.0.1 --port "$redis" --save '' --dir "$dir/redis" >"$dir/redis.log" 2>&1 &
pids+=($!)
ROOT_ACCESS_KEY=demo ROOT_SECRET_KEY=demosecret .bin/versitygw --port "127.0.0.1:$s3" posix --sidecar "$dir/sidecar" "$dir/s3" >"$dir/s3.log" 2>&1 &
pids+=($!)
await "$pg"; await "$redis"; await "$s3"

export PASTEBIN_DATABASE="postgres://pastes@127.0.0.1:$pg/postgres?sslmode=disable" PASTEBIN_REDIS="redis://127.0.0.1:$redis/0"
export PASTEBIN_S3_ENDPOINT="http://127.0.0.1:$s3" PASTEBIN_S3_BUCKET=pastes PASTEBIN_S3_ACCESS_KEY=demo PASTEBIN_S3_SECRET_KEY=demosecret
export PASTEBIN_SECRET=only-for-this-demonstration
lethe=$dir/lethe pastebin=$dir/pastebin file=$dir/adopt.yaml
go build -o "$lethe" ./cmd/lethe
go build -o "$pastebin" ./examples/pastebin
# Objects that lost their last reference go at once here, not after ten minutes, and
# nobody takes longer than a second to write a paste.
sed 's/unreferenced: 10m/unreferenced: 0s/; s/longest_write: 30s/longest_write: 1s/' examples/pastebin/adopt.yaml >"$file"

say() { printf '\n== %s\n' "$*"; }
census() {
	printf '   %s pastes, %s contents, %s objects, %s copies in Redis\n' \
		"$("$bin/psql" -qAt "$PASTEBIN_DATABASE" -c 'SELECT count(*) FROM pastes')" \
		"$("$bin/psql" -qAt "$PASTEBIN_DATABASE" -c 'SELECT count(*) FROM content')" \
		"$(find "$dir/s3/pastes/content" -type f -not -path '*/.lethe/*' 2>/dev/null | wc -l)" \
		"$(redis-cli -h 127.0.0.1 -p "$redis" dbsize)"
}

say "1. A paste service, and $pastes pastes that expire in a second, 30 % with shared contents"
"$pastebin" migrate
"$pastebin" fill -n "$pastes" -shared 0.3 -ttl 1s
"$pastebin" fill -n 100 -ttl 0
sleep 1 # then all of them have expired
census
say "2. lethe adopt check: what would go, and what is missing"
"$lethe" adopt check "$file" || true
say "3. lethe adopt guard install: objects are deleted only where nobody can refer to them meanwhile"
"$lethe" adopt guard install "$file" --yes
say "4. lethe adopt run --once"
time "$lethe" adopt run "$file" --once 2>"$dir/run.log" || { cat "$dir/run.log"; exit 1; }
census
say "5. lethe adopt remove: nothing of lethe is left in the database"
sleep 1 # the guard stays for the longest write after the last deletion
"$lethe" adopt remove "$file" --yes
