#!/usr/bin/env bash
# python.sh FOLDER: prints the path of a Python that can run s3-tests. What the
# machine's python3 lacks is put into FOLDER: by pip, or from Debian's packages
# where there is no package index.
set -euo pipefail

home=$1
needed=(pytest munch isodate pytz httplib2 lxml gevent requests yaml boto3)

# missing PYTHON: the modules that it cannot import, one per line.
missing() {
	"$1" - "${needed[@]}" <<-'EOF'
		import importlib, sys
		for name in sys.argv[1:]:
		    try:
		        module = importlib.import_module(name)
		        if name == "boto3" and tuple(map(int, module.__version__.split(".")[:2])) < (1, 36):
		            raise ImportError(name)
		    except ImportError:
		        print(name)
	EOF
}

# answer PYTHON: prints it, and ends the script, if it has everything.
answer() {
	[ -n "$(missing "$1")" ] || { echo "$1"; exit 0; }
}

command -v python3 >/dev/null || { echo "python.sh: python3 is needed: apt-get install python3 python3-venv" >&2; exit 1; }
answer python3
[ ! -x "$home/python" ] || answer "$home/python"
mkdir -p "$home"

python3 -m venv "$home/venv" >&2 || true
if [ -x "$home/venv/bin/pip" ] && "$home/venv/bin/pip" install -q 'boto3>=1.36' pytest munch isodate pytz httplib2 lxml gevent requests pyyaml >"$home/pip.log" 2>&1; then
	answer "$home/venv/bin/python3"
fi

# Debian's packages, unpacked beside the system; its boto3 is too old.
mapfile -t names < <(missing python3 | sed -e '/^boto3$/d; s/^pytz$/tz/; s/^/python3-/')
if [ "${#names[@]}" -gt 0 ] && command -v apt-get >/dev/null; then
	mkdir -p "$home/deb" "$home/root"
	mapfile -t all < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "${names[@]}" |
		grep -E '^(python3-|libev4|libc-ares2)' | sort -u)
	(cd "$home/deb" && apt-get -q download "${all[@]}" >"$home/apt.log" 2>&1)
	for package in "$home"/deb/*.deb; do
		dpkg -x "$package" "$home/root"
	done
	printf '#!/bin/sh\nPYTHONPATH=%q exec python3 "$@"\n' "$home/root/usr/lib/python3/dist-packages" >"$home/python"
	chmod +x "$home/python"
	answer "$home/python"
fi
echo "python.sh: python3 lacks: $(missing "$([ -x "$home/python" ] && echo "$home/python" || echo python3)" | tr '\n' ' ')(boto3 at least 1.36); install them by pip" >&2
exit 1
