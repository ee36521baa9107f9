#!/usr/bin/env bash
# govulncheck.sh [PACKAGE...]: looks for known vulnerabilities in what the program calls,
# or the packages. The database is that of GOVULNDB (file:///folder for a copy that needs
# no network), by default https://vuln.go.dev. Where there is none it says so, and does
# not fail; with GOVULNCHECK=require it does.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
	echo "govulncheck: $1; NOT CHECKED for known vulnerabilities" >&2
	[ "${GOVULNCHECK:-}" != require ]
	exit
}

database=${GOVULNDB:-https://vuln.go.dev}
case $database in
file://*) [ -r "${database#file://}/index/db.json" ] || skip "no vulnerability database in ${database#file://}" ;;
*) curl -fsS --max-time 10 -o /dev/null "$database/index/db.json" 2>/dev/null || skip "no vulnerability database could be reached at $database (GOVULNDB=file:///folder names a copy; scripts/vulndb.sh makes one)" ;;
esac
[ -x .bin/govulncheck ] || scripts/modbuild.sh govulncheck golang.org/x/vuln@v1.1.4 ./cmd/govulncheck || skip "govulncheck could not be built"
.bin/govulncheck -db "$database" "${@:-./...}"
