#!/usr/bin/env bash
# fuzz.sh [TIME]: runs every fuzz target of the module for TIME (default 5s)
# each. An input that breaks a target is left under its testdata/fuzz: commit it
# together with the fix.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-5s}
count=0
while IFS=: read -r file line; do
	target=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/' <<<"$line")
	folder=$(dirname "$file")
	log=$(go test -count=1 -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$folder" 2>&1) || {
		echo "$log" >&2
		echo "fuzz.sh: $target in $folder failed" >&2
		exit 1
	}
	execs=$(grep -Eo 'execs: [0-9]+' <<<"$log" | tail -n 1 || true)
	echo "$target in $folder: ${execs:-nothing beyond its seeds, give it more time}"
	count=$((count + 1))
done < <(grep -rE --include='*_test.go' --exclude-dir='.?*' '^func Fuzz[A-Z0-9_][A-Za-z0-9_]*\(' . | sort)
[ "$count" -gt 0 ] || { echo "fuzz.sh: no fuzz target was found" >&2; exit 1; }
echo "$count fuzz targets ran for $time each"
