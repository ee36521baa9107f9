#!/usr/bin/env bash
# Prints the tables of docs/performance.md. Usage: bench/run.sh quick|standard|million
# BENCH_DIR is the folder on the disk to measure; versitygw and rclone are compared
# with if they are in PATH.
set -euo pipefail
cd "$(dirname "$0")/.."
out=bench/out
lethe=$out/lethe
bench="$out/lethe-bench"
dir=${BENCH_DIR:-$PWD/bench/out}
others=()
for name in versitygw rclone; do
  if path=$(command -v "$name"); then
    others+=("-$name" "$path")
  fi
done

serve() { "$bench" serve -lethe "$lethe" -dir "$dir" ${others[@]+"${others[@]}"} "$@"; }

case ${1:-standard} in
quick)
  "$bench" reclaim -dir "$dir" -objects 20000 -runs 1 -one 500
  serve -runs 1 -objects 1000
  "$bench" memory -lethe "$lethe" -dir "$dir" -gib 0.5
  ;;
standard)
  "$bench" reclaim -dir "$dir"
  "$bench" reclaim -dir "$dir" -shared 80
  "$bench" reclaim -dir "$dir" -grace 1m -runs 3 -one 0
  serve -warm 3000
  serve -size 8388608 -objects 24 -gets 300 -warm 2
  "$bench" list -lethe "$lethe" -dir "$dir"
  "$bench" disturb -lethe "$lethe" -dir "$dir"
  "$bench" intent -dir "$dir"
  if command -v versitygw >/dev/null; then
    "$bench" cluster -versitygw "$(command -v versitygw)" -dir "$dir" -workers 2,1,4
    "$bench" cluster -versitygw "$(command -v versitygw)" -dir "$dir" -shared 80 -one 0
    "$bench" disturb -lethe "$lethe" -dir "$dir" -versitygw "$(command -v versitygw)" -rate 200 -objects 100000 -waves 3 -every 60s
  fi
  "$bench" memory -lethe "$lethe" -dir "$dir"
  ;;
million)
  "$bench" reclaim -dir "$dir" -objects 1000000 -runs 1 -one 2000
  "$bench" reclaim -dir "$dir" -objects 1000000 -runs 1 -one 0 -shared 80
  if command -v versitygw >/dev/null; then
    "$bench" cluster -versitygw "$(command -v versitygw)" -dir "$dir" -objects 1000000 -runs 1 -one 300 -workers 2,1,4
    "$bench" cluster -versitygw "$(command -v versitygw)" -dir "$dir" -objects 1000000 -runs 1 -one 0 -shared 80
  fi
  ;;
*)
  echo "usage: bench/run.sh quick|standard|million" >&2
  exit 2
  ;;
esac
