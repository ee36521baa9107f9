#!/usr/bin/env bash
# vulndb.sh CHECKOUT FOLDER: makes a vulnerability database for govulncheck.sh out of a
# checkout of github.com/golang/vulndb, so that GOVULNDB=file://FOLDER needs no network.
set -euo pipefail

command -v jq >/dev/null || { echo "vulndb.sh: jq is not installed" >&2; exit 1; }
reports=$1/data/osv folder=$2
[ -d "$reports" ] || { echo "vulndb.sh: there are no reports in $reports" >&2; exit 1; }
mkdir -p "$folder/ID" "$folder/index"
cp "$reports"/*.json "$folder/ID/"
find "$folder/ID" -name '*.json' -print0 | sort -z | xargs -0 cat | jq -s '
	map({id, modified, affected: [.affected[] | {path: .package.name, fixed: ([.ranges[]?.events[]?.fixed // empty] | last)}]})
	| [.[] as $r | $r.affected[] | {path, vuln: ({id: $r.id, modified: $r.modified} + if .fixed then {fixed} else {} end)}]
	| group_by(.path) | map({path: .[0].path, vulns: (map(.vuln) | unique_by(.id))})' >"$folder/index/modules.json"
date=$(git -C "$1" log -1 --format=%cI 2>/dev/null || date -Iseconds)
jq -n --arg modified "$(date -u -d "$date" +%Y-%m-%dT%H:%M:%SZ)" '{modified: $modified}' >"$folder/index/db.json"
echo "$(jq length "$folder/index/modules.json") modules in $folder"
