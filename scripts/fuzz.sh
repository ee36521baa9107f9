#!/usr/bin/env bash
# fuzz.sh [TIME]: runs every fuzz target of the module for TIME (default 5s)
# each. An input that breaks a target is left under its testdata/fuzz: commit it
# together with the fix.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-5s}
count=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Building with coverage lasts longer than most runs, so a package is built once for all its targets.
run_folder() {
	local folder=$1 target log execs
	shift
	go test -c -o "$scratch/test" -fuzz . "$folder"
	for target in "$@"; do
		log=$(cd "$folder" && "$scratch/test" -test.run '^$' -test.fuzz "^$target\$" \
			-test.fuzztime "$time" -test.fuzzcachedir "$scratch/inputs" 2>&1) || {
			echo "$log" >&2
			echo "fuzz.sh: $target in $folder failed" >&2
			exit 1
		}
		execs=$(grep -Eo 'execs: [0-9]+' <<<"$log" | tail -n 1 || true)
		echo "$target in $folder: ${execs:-nothing beyond its seeds, give it more time}"
		count=$((count + 1))
	done
}

declare -A targets
while IFS=: read -r file line; do
	target=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/' <<<"$line")
	targets[$(dirname "$file")]+=" $target"
done < <(grep -rE --include='*_test.go' --exclude-dir='.?*' '^func Fuzz[A-Z0-9_][A-Za-z0-9_]*\(' . | sort)

for folder in $(printf '%s\n' "${!targets[@]}" | sort); do
	# shellcheck disable=SC2086 # the names of targets are words
	run_folder "$folder" ${targets[$folder]}
done
[ "$count" -gt 0 ] || { echo "fuzz.sh: no fuzz target was found" >&2; exit 1; }
echo "$count fuzz targets ran for $time each"
