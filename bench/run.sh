#!/usr/bin/env bash
# Prints the tables of docs/performance.md and bench/results, each below the command that prints it
# alone. Usage: bench/run.sh quick|standard|million|ten-million
# BENCH_DIR is the folder on the disk to measure; versitygw, MinIO, warp and rclone are
# compared with if they are in PATH.
set -euo pipefail
cd "$(dirname "$0")/.."
out=bench/out
lethe=$out/lethe
bench="$out/lethe-bench"
dir=${BENCH_DIR:-$PWD/bench/out}
others=()
if path=$(command -v versitygw); then
  others+=(-versitygw "$path")
fi
if path=$(command -v minio); then
  others+=(-minio "$path")
fi
if path=$(command -v rclone); then
  # Debian's has no S3 server.
  if [[ $("$path" serve s3 --help 2>/dev/null) == *--auth-key* ]]; then
    others+=(-rclone "$path")
  else
    echo "run.sh: $path has no serve s3; go install github.com/rclone/rclone@v1.75.1 for the comparison" >&2
  fi
fi

bench() {
  echo "    bench/out/lethe-bench $*"
  echo
  "$bench" "$@" -dir "$dir"
}
serve() { bench serve -lethe "$lethe" ${others[@]+"${others[@]}"} "$@"; }
gateway=$(command -v versitygw || true)
small() { bench small -lethe "$lethe" ${others[@]+"${others[@]}"} "$@"; }

case ${1:-standard} in
quick)
  bench reclaim -objects 20000 -runs 1 -one 500
  serve -runs 1 -objects 1000
  small -runs 1 -objects 1000 -due 5000
  bench memory -lethe "$lethe" -gib 0.5
  ;;
standard)
  bench reclaim
  bench reclaim -shared 80
  serve -warm 2000 -objects 3000
  serve -size 8388608 -objects 24 -gets 240 -warm 2
  small
  small -count -runs 1 -objects 1000 -due 10000
  small -flush 1ms -network 1ms -objects 3000 -due 20000
  small -flush 5ms -network 1ms -objects 3000 -due 20000
  if path=$(command -v warp); then
    small -warp "$path" -do "warp put,warp get,warp delete"
  fi
  bench room -lethe "$lethe"
  bench room -lethe "$lethe" -postgres
  bench list -lethe "$lethe"
  bench idle -lethe "$lethe"
  bench disturb -lethe "$lethe" -objects 60000 -waves 5 -every 35s
  bench disturb -lethe "$lethe" -rate 200 -objects 60000 -waves 5 -every 35s
  bench disturb -lethe "$lethe" -inline -rate 200 -objects 200000 -waves 4 -every 40s -start 60s -yields 1.2
  bench disturb -lethe "$lethe" -inline -postgres -rate 200 -objects 150000 -waves 4 -every 40s -start 90s -yields 1.2
  bench intent
  if [ -n "$gateway" ]; then
    bench cluster -versitygw "$gateway" -objects 30000 -one 200 -workers 2,4,1
    bench cluster -versitygw "$gateway" -objects 30000 -one 0 -shared 80
    bench disturb -lethe "$lethe" -versitygw "$gateway" -rate 200 -objects 100000 -waves 5 -every 60s
    bench intent -postgres
  fi
  bench memory -lethe "$lethe"
  ;;
million)
  bench reclaim -objects 1000000 -runs 1 -one 2000
  bench reclaim -objects 1000000 -runs 1 -one 0 -shared 80
  bench disturb -lethe "$lethe" -objects 200000 -waves 5 -every 63s
  if [ -n "$gateway" ]; then
    bench cluster -versitygw "$gateway" -objects 1000000 -runs 1 -one 300 -workers 2,4,1
    bench cluster -versitygw "$gateway" -objects 1000000 -runs 1 -one 0 -shared 80
  fi
  ;;
ten-million)
  bench cluster -versitygw "$gateway" -rows -objects 10000000 -runs 1 -one 0
  ;;
*)
  echo "usage: bench/run.sh quick|standard|million|ten-million" >&2
  exit 2
  ;;
esac
