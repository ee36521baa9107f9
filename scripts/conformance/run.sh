#!/usr/bin/env bash
# run.sh [SUITE...]: runs other people's test suites against Lethe and compares
# them with the lists in s3/gateway/testdata. SUITE: versitygw (also against lethe serve, and
# against versitygw's own gateway), rclone, minio, terraform, s3tests (as versitygw);
# default all. S3TESTS names a checkout of github.com/ceph/s3-tests, PROVIDERS a folder with
# Terraform's provider for AWS; without them those suites are left out. What the others need
# is fetched and built into .bin and .cache.
set -euo pipefail
cd "$(dirname "$0")/../.."
unset AWS_CA_BUNDLE

bin=$PWD/.bin
failed=()

# suite NAME TEST: runs one of the suite tests of package s3.
suite() {
	local log=$PWD/.cache/conformance-$1.log
	mkdir -p .cache
	if go test -count=1 -v -timeout 90m -run "^$2\$" ./s3/gateway >"$log" 2>&1; then
		grep -E "_test.go:[0-9]+: $1: " "$log" | sed 's/^ *[a-z_]*\.go:[0-9]*: //'
	else
		grep -vE '^failure:' "$log" | tail -n 60 >&2
		echo "run.sh: $1 differs from s3/gateway/testdata/$1-failures.txt; the whole log is $log" >&2
		failed+=("$1")
	fi
}

# binary builds lethe, for the suites that run against lethe serve.
binary() {
	mkdir -p .cache
	go build -o .cache/lethe ./cmd/lethe
}

# gateway builds versitygw.
gateway() {
	[ -x .bin/versitygw ] || scripts/modbuild.sh versitygw github.com/versity/versitygw@v1.8.0 ./cmd/versitygw
	export LETHE_VERSITYGW=$bin/versitygw
}

versitygw() {
	gateway
	binary
	suite versitygw TestVersitygwSuite
	LETHE_BINARY=$PWD/.cache/lethe suite versitygw-serve TestVersitygwServeSuite
	suite versitygw-posix TestVersitygwPosixSuite
}

rclone() {
	local home=$PWD/.cache/rclone
	[ -x "$home/backend/s3/rclone-s3.test" ] || scripts/conformance/rclone.sh "$home"
	binary
	LETHE_BINARY=$PWD/.cache/lethe LETHE_RCLONE=$home/backend/s3/rclone-s3.test suite rclone TestRcloneSuite
}

minio() {
	local program=$PWD/.cache/minio-functional
	[ -x "$program" ] || scripts/conformance/minio.sh "$program"
	binary
	LETHE_BINARY=$PWD/.cache/lethe LETHE_MINIO=$program suite minio TestMinioSuite
}

terraform() {
	local program
	if ! program=$(command -v terraform) || [ -z "${PROVIDERS:-}" ]; then
		echo "terraform: left out; it needs terraform, and PROVIDERS= a folder with its provider for AWS (terraform providers mirror)"
		return
	fi
	binary
	LETHE_BINARY=$PWD/.cache/lethe LETHE_TERRAFORM=$program LETHE_TERRAFORM_PLUGINS=$(realpath "$PROVIDERS") suite terraform TestTerraformSuite
}

s3tests() {
	if [ -z "${S3TESTS:-}" ]; then
		echo "s3tests: left out; name a checkout of github.com/ceph/s3-tests by S3TESTS="
		return
	fi
	S3TESTS=$(realpath "$S3TESTS")
	LETHE_PYTHON=$(scripts/conformance/python.sh "$PWD/.cache/s3tests-python")
	export S3TESTS LETHE_PYTHON
	suite s3tests-front TestS3TestsSuite
	binary
	LETHE_BINARY=$PWD/.cache/lethe suite s3tests-serve TestS3TestsServeSuite
	gateway
	suite s3tests-posix TestS3TestsPosixSuite
}

[ $# -gt 0 ] || set -- versitygw rclone minio terraform s3tests
for name in "$@"; do
	case $name in
	versitygw | rclone | minio | terraform | s3tests) "$name" ;;
	*) echo "run.sh: there is no suite $name; there are versitygw, rclone, minio, terraform, s3tests" >&2; exit 2 ;;
	esac
done
[ "${#failed[@]}" -eq 0 ] || { echo "run.sh: failed: ${failed[*]}" >&2; exit 1; }
