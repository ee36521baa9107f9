#!/usr/bin/env bash
# stage.sh NAME COMMAND...: runs the command and prints how long it took.
# Exits as the command does.
set -uo pipefail

name=$1
shift
begin=$(date +%s.%N)
"$@"
code=$?
spent=$(awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
if [ "$code" -eq 0 ]; then
	echo "stage $name: $spent s"
else
	echo "stage $name: FAILED after $spent s (exit code $code)" >&2
fi
exit "$code"
