#!/usr/bin/env bash
# check.sh: checks the model exhaustively, then each of its broken variants, and
# fails if the model has an error or a variant has none, or not the one that it
# is there to show.
# check.sh VARIANT: prints the counterexample of one broken variant.
# check.sh -large: the model with three blobs and one reclaimer; takes minutes.
set -euo pipefail
cd "$(dirname "$0")"

# Variant, and the property that has to fail.
variants=(
	NO_TOMBSTONE:S1
	NO_FENCE:S2
	NAME_REUSE:S1
	UNCHECKED_REFERENCE:S1
	UNGUARDED_COMMIT:S1
	BLIND_DECREMENT:S2
	NO_SECOND_DELETE:L1
	WINDOW_AT_SETTLE:L1
	TRUST_UNKNOWN:L1
	BYTES_BEFORE_ROW:L1
	PROMOTE_UNPROVEN:S1
	PROMOTE_STALE:S4
	COMPENSATE:S1
	NOT_DURABLE:S3
	MOVE_UNGUARDED:S2
	MOVE_BEFORE_BYTES:S1
)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp lethe.pml "$work"
cd "$work"

# search OPTION...: builds and runs the verifier; its report is in the file out.
search() {
	spin -a "$@" lethe.pml >spin.out 2>&1 || { cat spin.out >&2; return 1; }
	gcc -w "${OPTIMIZE:--O2}" -DSAFETY -DCOLLAPSE -DMEMLIM="${MEMORY:-2000}" -o pan pan.c
	./pan -m1000000 -w"${HASH:-24}" >out 2>&1 || { cat out >&2; return 1; }
}

# apart goes to a folder of its own, so that several searches can run at once.
apart() {
	cd "$(mktemp -d "$work/XXXXXX")"
	cp "$work/lethe.pml" .
}

figures() {
	awk '/states, stored/ { n = $1 } /memory used$|actual memory usage$/ { m = $1 }
		/depth reached/ { d = $6 } /elapsed time/ { t = $4 }
		END { sub(",", "", d); printf "%d states, depth %d, %d MB, %.1f s", n, d, m, t }' out
}

# right NAME OPTION...: the model must hold, and must have been searched to the
# end; every statement must have been reached unless PARTLY is set.
right() {
	local name=$1
	shift
	apart
	search "$@"
	if ! grep -q 'errors: 0' out || grep -qE 'not completed|max search depth too small|out of memory|reached -DMEMLIM' out; then
		cat out >&2
		echo "model: $name does not hold, or was not searched to the end" >&2
		exit 1
	fi
	if [ -z "${PARTLY:-}" ] && grep -E '^\s+\([1-9][0-9]* of [0-9]+ states\)' out >&2; then
		sed -n '/^unreached/,$p' out >&2
		echo "model: parts of $name were never reached, so nothing was shown about them" >&2
		exit 1
	fi
	echo "$name holds: $(figures)"
}

# failing VARIANT: prints the property that the variant violates. Spin names
# the line of the assertion.
failing() {
	local line
	HASH=18 OPTIMIZE=-O0 search "-D$1"
	[ -e lethe.pml.trail ] || return 0
	spin -t "-D$1" lethe.pml >trail 2>&1 || true
	line=$(sed -nE 's/.*lethe\.pml:([0-9]+), Error: assertion violated.*/\1/p' trail | head -n 1)
	sed -n "${line:-1}p" lethe.pml | grep -oE '(S[0-9]|L[0-9])_[a-z_]+' || echo "something else"
}

# broken VARIANT PROPERTY: the variant must violate the property.
broken() {
	local found
	apart
	found=$(failing "$1")
	case $found in
	"$2"_*) echo "$1 is found: violates $found, $(figures)" ;;
	*)
		echo "model: $1 should violate $2, found: ${found:-nothing}" >&2
		exit 1
		;;
	esac
}

case ${1:-} in
"")
	(right "the protocol without any assumption about time" -DUNTIMED) &
	untimed=$!
	(right "the protocol") &
	timed=$!
	wait "$timed"
	(right "the protocol with contents in the ledger" -DMOVES -DRECLAIMERS=1)
	(right "the same with three blobs and one client" -DMOVES -DRECLAIMERS=1 -DCLIENTS=1 -DBLOBS=3)
	# One client cannot do everything that is written there.
	(PARTLY=1 right "the same with two reclaimers and one client" -DMOVES -DCLIENTS=1)
	(right "the protocol that leaves duplicates to the reaper" -DLEAVE_DUPLICATES) &
	left=$!
	wait "$untimed"
	for v in "${variants[@]}"; do
		(broken "${v%%:*}" "${v#*:}")
	done
	wait "$left"
	;;
-large)
	MEMORY=4000 HASH=26 right "the protocol with three blobs and one reclaimer" -DBLOBS=3 -DRECLAIMERS=1
	;;
*)
	failing "$1"
	spin -t -p "-D$1" lethe.pml
	;;
esac
