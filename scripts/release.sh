#!/usr/bin/env bash
# release.sh: builds what a release has into dist (DIST=), without the network once
# modules and .bin are there: the program for each of TARGETS, stripped and stamped as
# "make build" does; an archive of each, with completions and manual pages; PACKAGES of
# it for Linux (.deb and .rpm); a bill of materials (CycloneDX) of each program; and the
# checksums of all.
#
# The same commit and Go give the same bytes. nfpm makes the packages: goreleaser would
# bring a thousand modules more, for what these lines do.
#
# COMPRESSION of the packages is xz, which takes its time; tests use gzip.
#
# VERSION is a tag and commit, empty without a history; then cmd/lethe/version.go says it.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
export PATH=$PWD/.bin:$PATH CGO_ENABLED=0 TZ=UTC

version=${VERSION-$(git describe --tags --always --dirty 2>/dev/null || true)}
dist=$(realpath -m "${DIST:-dist}")
read -ra targets <<<"${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64}"
packages=${PACKAGES-deb rpm}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH

# number prints the version of files and packages: 0.1.0 of a tag v0.1.0, 0.1.0+3.g1234abc
# three commits after it, 0.1.0-dev+1234abc where no tag is.
number() {
	local unreleased
	unreleased=$(sed -n 's/^const unreleased = "\(.*\)"$/\1/p' cmd/lethe/version.go)
	case $version in
	v[0-9]*.*) sed -E 's/^v//; s/-([0-9]+)-(g[0-9a-f]+)/+\1.\2/; s/(\+.*)-dirty$/\1.dirty/; s/-dirty$/+dirty/' <<<"$version" ;;
	'') echo "$unreleased" ;;
	*) echo "$unreleased+${version//-/.}" ;;
	esac
}

# build OS ARCH OUT
build() {
	GOOS=$1 GOARCH=$2 go build -trimpath -tags grpcnotrace -ldflags "-s -w -X main.version=$version" -o "$3" ./cmd/lethe
}

# pages: completions and manual pages, which are the same on every system.
pages() {
	local shell
	mkdir -p "$work/completions" "$work/man"
	build "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$work/lethe"
	for shell in bash zsh fish; do
		"$work/lethe" completion "$shell" >"$work/completions/lethe.$shell"
	done
	go test -count=1 -run '^TestManualPages$' ./cmd/lethe -man="$work/man" >/dev/null
	gzip -9n "$work"/man/*.1
}

# release OS ARCH: what one system gets.
release() {
	local os=$1 arch=$2 name=lethe_${number}_$1_$2 program=lethe kind
	[ "$os" != windows ] || program=lethe.exe
	local folder=$work/$name
	mkdir "$folder"
	if [ "$os/$arch" = "$(go env GOHOSTOS)/$(go env GOHOSTARCH)" ]; then
		cp "$work/lethe" "$folder/$program"
	else
		build "$os" "$arch" "$folder/$program"
	fi
	cp -r LICENSE README.md CHANGELOG.md "$work/completions" "$work/man" "$folder/"
	find "$folder" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
	if [ "$os" = windows ]; then
		(cd "$work" && find "$name" | LC_ALL=C sort | zip -qX "$dist/$name.zip" -@)
	else
		tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9n >"$dist/$name.tar.gz"
	fi
	cyclonedx-gomod bin -json -std -noserial -notimestamp -version "v${number#v}" -output "$dist/$name.cdx.json" "$folder/$program" 2>/dev/null
	[ "$os" = linux ] || return 0
	for kind in $packages; do
		VERSION=$number ARCH=$arch BUILT=$folder nfpm package -f "$work/nfpm.yaml" -p "$kind" -t "$dist/" >/dev/null
	done
}

number=$(number)
mkdir -p "$dist"
rm -f "$dist"/lethe[_-]* "$dist/SHA256SUMS"
work=$(mktemp -d "$dist/.release.XXXXXX")
trap 'rm -rf "$work"' EXIT
sed "s/compression: xz/compression: ${COMPRESSION:-xz}/" deploy/package/nfpm.yaml >"$work/nfpm.yaml"
pages
for target in "${targets[@]}"; do
	release "${target%/*}" "${target#*/}"
	rm -rf "$work/lethe_"*
done
cd "$dist"
sha256sum lethe[_-]* >SHA256SUMS
echo "lethe $number in $dist:"
ls -sh1 --block-size=M | tail -n +2
