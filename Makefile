# make test runs everything that has to hold, on a machine with only Go and
# Debian's packages; CONTRIBUTING.md says what each target does.

SHELL := /usr/bin/env bash
.DEFAULT_GOAL := build

# Some machines export a bundle that S3 clients then trust alone.
unexport AWS_CA_BUNDLE
export PATH := $(CURDIR)/.bin:$(PATH)

GO ?= go
STAGE := scripts/stage.sh
# How long each fuzz target runs: so many inputs, or a time such as 30s (a short time fails where a machine is busy).
FUZZTIME ?= 250x
# How many seeds the simulation runs; full coverage is demanded of 100,000 and more (make sim SCHEDULES=100000).
SCHEDULES ?= 4000
# How many schedules each pair of the ledger's methods runs (0: all with one
# interruption), and how many triples.
INTERLEAVINGS ?= 16
TRIPLES ?= 200
# How often lethe serve is killed (0: once at every point, and at moments of chance).
KILLS ?= 0
# How many processes of adoption each of its tests kills.
ADOPTION_KILLS ?= 4
# How many objects expire on several instances while things break.
OBJECTS ?= 30000
# How many worlds of two ledgers over the same backends the simulation runs.
FORKS ?= 1500
# How many schedules the simulation of adoption runs.
ADOPTIONS ?= 1200
# How many rows expire in adopt-load.
ROWS ?= 100000
# How long a soak lasts.
DURATION ?= 2h
# Where the databases of make test lie: in memory, if files may take 4 GB there.
DATABASES ?= $(shell [ "$$(df -m --output=avail /dev/shm 2>/dev/null | tail -n 1)" -ge 4096 ] 2>/dev/null && echo /dev/shm)
# What cross compiles for.
CROSS ?= windows
# Packages whose tests run under the race detector as well.
RACE ?= . ./blob/... ./cache/... ./object ./reclaim/schedule ./internal/config ./internal/ratelimit ./internal/wake ./internal/claimlock ./paste
# What the program calls itself: the tag and commit, where there is a history; else what
# cmd/lethe/version.go says.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
# Where the program is built to.
OUT ?= lethe
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
COMPOSE := github.com/compose-spec/compose-go/v2@v2.16.2
HELM := helm.sh/helm/v3/cmd/helm@v3.22.0
NFPM := github.com/goreleaser/nfpm/v2@v2.45.2
CYCLONEDX := github.com/CycloneDX/cyclonedx-gomod@v1.10.0
MINIO := github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c
WARP := github.com/minio/warp@v1.3.1 . h1:EHNax13sUn7YUR4bYpUrgXW+ldtMKoELPYzN4rrtH6U=

.PHONY: faults check check-stages demo-adopt build release image package package-installed cross compile test stages test-short needs lint fmt vet staticcheck govulncheck house unit race sim mutants mutants-stepwise mutants-loaded interleave crash cluster clients fuzz model soak adopt-load bench bench-binaries bench-peers conformance variants compat postgres chart compose clean

# The program as it is released: without symbols and paths of this machine. The tag leaves
# out gRPC's debugging pages, whose templates would make the linker keep every exported
# method. deploy/Dockerfile builds alike.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -tags grpcnotrace -ldflags '-s -w -X main.version=$(VERSION)' -o $(OUT) ./cmd/lethe
	@echo "$(OUT): $$(( ($$(wc -c < $(OUT)) + 524288) / 1048576 )) MiB"

# What a release has, in dist: TARGETS="linux/amd64 .." leaves out systems.
release: .bin/nfpm .bin/cyclonedx-gomod
	VERSION=$(VERSION) scripts/release.sh

.bin/nfpm:
	scripts/modbuild.sh nfpm $(NFPM) ./cmd/nfpm

.bin/cyclonedx-gomod:
	scripts/modbuild.sh cyclonedx-gomod $(CYCLONEDX) ./cmd/cyclonedx-gomod

# The image under the names that deploy/compose and deploy/helm look for.
image:
	docker build -f deploy/Dockerfile --build-arg VERSION=$(VERSION) -t lethe -t lethe:$$(sed -n 's/^appVersion: "\(.*\)"/\1/p' deploy/helm/lethe/Chart.yaml) .

compile:
	$(GO) build ./...

# The program compiles for a system that no test runs on. Nothing is linked. Not part of make test:
# make release builds for every system.
cross:
	CGO_ENABLED=0 GOOS=$(CROSS) GOARCH=amd64 $(GO) list -export ./cmd/lethe

# The stages of the whole test, one line each, with the time that each takes. go test vets by
# itself a part of what the stage vet does, and everything that is imported with it.
test: export GOFLAGS := $(GOFLAGS) -vet=off
test: export LETHE_DATABASES := $(DATABASES)
test:
	@$(STAGE) all $(MAKE) --no-print-directory stages

stages:
	@$(STAGE) needs scripts/needs.sh
	@$(STAGE) build $(MAKE) --no-print-directory compile
	@$(STAGE) vet $(MAKE) --no-print-directory vet
	@$(STAGE) house $(MAKE) --no-print-directory house
	@$(STAGE) unit $(MAKE) --no-print-directory unit
	@$(STAGE) race $(MAKE) --no-print-directory race
	@$(STAGE) sim $(MAKE) --no-print-directory sim
	@$(STAGE) mutants $(MAKE) --no-print-directory mutants
	@$(STAGE) faults $(MAKE) --no-print-directory faults
	@$(STAGE) clients $(MAKE) --no-print-directory clients
	@$(STAGE) model $(MAKE) --no-print-directory model

# What a change is held to while it is made: some three minutes on two cores, without
# servers. make test is the whole.
check:
	@$(STAGE) check $(MAKE) --no-print-directory check-stages

check-stages:
	@$(STAGE) compile $(MAKE) --no-print-directory compile
	@$(STAGE) vet $(MAKE) --no-print-directory vet fmt
	@$(STAGE) short env LETHE_SERVERS=skip LETHE_CLIENTS=skip $(GO) test -short -timeout 5m ./...
	@$(STAGE) ledger env LETHE_SERVERS=skip $(GO) test -count=1 -run '^TestConformance$$' ./ledger/sqlledger ./ledger/memledger
	@$(STAGE) schedules $(GO) test -count=1 -run '^TestSchedules$$' ./test/sim -sim.schedules=2000
	@$(STAGE) mutants $(GO) test -count=1 -run '^TestMutants$$' ./test/sim -sim.mutants -sim.mutant='counters'
	@$(STAGE) kills $(GO) test -count=1 -run '^TestKills$$' ./test/crash -crash.kills=20

# Shows "lethe adopt" on examples/pastebin, with servers of its own.
demo-adopt: needs
	scripts/demo-adopt.sh

test-short:
	LETHE_SERVERS=skip $(GO) test -short -timeout 5m ./...

needs:
	scripts/needs.sh

lint: fmt vet staticcheck govulncheck house

# Known vulnerabilities in what is called; says so where no database can be had.
govulncheck:
	@scripts/govulncheck.sh

fmt:
	@files=$$(gofmt -l .); test -z "$$files" || { echo "not formatted, run gofmt -w on:" $$files >&2; exit 1; }

vet:
	$(GO) vet ./...

staticcheck: .bin/staticcheck
	.bin/staticcheck ./...

.bin/staticcheck:
	GOBIN=$(CURDIR)/.bin $(GO) install $(STATICCHECK)

house:
	$(GO) test -count=1 ./internal/house

# The tests with real clients have a stage of their own; those with real servers
# (test/servers) run with the packages that they belong to.
# The ledger's tests last longest, and begin first. Three packages at once, as many wait for servers.
# What the stages sim and crash run at length is not run briefly before.
unit:
	LETHE_CLIENTS=skip LETHE_SERVERS=require $(GO) test -count=1 -timeout 20m -p 3 -skip '^(TestSchedules|TestForks|TestKills)$$' ./ledger/sqlledger ./...

race:
	LETHE_SERVERS=require $(GO) test -count=1 -race -short -timeout 10m $(RACE)
	LETHE_SERVERS=require $(GO) test -count=1 -race -short -timeout 10m -run '^TestTorture$$' ./ledger/sqlledger

sim:
	$(GO) test -count=1 -v -timeout 20m -run '^(TestSchedules|TestForks)$$' ./test/sim -sim.schedules=$(SCHEDULES) -sim.forks=$(FORKS) -sim.table -sim.full=$(shell [ $(SCHEDULES) -ge 100000 ] && echo true || echo false)
	$(GO) test -count=1 -v -timeout 10m -run '^TestSchedules$$' ./test/adoptsim -sim.schedules=$(ADOPTIONS)

# Those under load wait, for what they killed and for what has to grow old, as long as the
# others take together.
mutants:
	@$(MAKE) --no-print-directory -j2 -O mutants-stepwise mutants-loaded

mutants-stepwise:
	$(GO) test -count=1 -v -timeout 20m -run '^TestMutants$$' ./test/sim -sim.mutants
	$(GO) test -count=1 -v -timeout 20m -run '^TestMutants$$' ./test/adoptsim -sim.mutants
	LETHE_SERVERS=require $(GO) test -count=1 -v -timeout 20m -run '^TestMutants$$' ./test/interleave -interleave.mutants
	LETHE_SERVERS=require $(GO) test -count=1 -v -timeout 20m -run '^TestMutants$$' ./test/adoptinterleave -interleave.mutants

mutants-loaded:
	LETHE_SERVERS=require $(GO) test -count=1 -v -timeout 20m -run '^TestLoadMutants$$' ./internal/app/adoption -adoption.mutants

# Every two methods of the ledger that share rows, and triples by chance, one statement
# at a time on a PostgreSQL; and every two methods of adoption, and each beside an
# application. Not part of make test, which runs the pairs of the mutants.
interleave:
	LETHE_SERVERS=require $(GO) test -count=1 -v -timeout 3h -run '^(TestPairs|TestTriples)$$' ./test/interleave -interleave.all -interleave.schedules=$(INTERLEAVINGS) -interleave.triples=$(TRIPLES) -parallel 4 -interleave.workers=4
	LETHE_SERVERS=require $(GO) test -count=1 -v -timeout 3h -run '^TestPairs$$' ./test/adoptinterleave -interleave.all -interleave.schedules=$(INTERLEAVINGS) -parallel 4 -interleave.workers=4

clients:
	LETHE_CLIENTS=require LETHE_SERVERS=require $(GO) test -count=1 -timeout 10m ./test/clients

# The .deb and the .rpm of this machine, installed in roots of their own, and the service started there;
# as root, where overlays can be mounted. Not part of make test, as most of it is building. The tools are built only where it can run.
package:
	@if command -v systemd-sysusers >/dev/null; then $(MAKE) --no-print-directory package-installed; \
	else echo "package: systemd-sysusers is missing (apt-get install systemd), so the .deb is not installed here"; fi

package-installed: .bin/nfpm .bin/cyclonedx-gomod
	LETHE_PACKAGE=1 $(GO) test -count=1 -v -timeout 10m ./test/debian

crash:
	$(GO) test -count=1 -v -timeout 30m -run '^TestKills$$' ./test/crash -crash.kills=$(KILLS)
	LETHE_SERVERS=require $(GO) test -count=1 -v -timeout 10m -parallel 2 ./test/twoledgers -doubt.run
	LETHE_SERVERS=require $(GO) test -count=1 -v -timeout 20m -run '^(TestKilledAtAnyMoment|TestQuarantineUnderLoad)$$/^(PostgreSQL|SQLite)$$' ./internal/app/adoption -adoption.kills=$(ADOPTION_KILLS)

# Both at once: each waits more than it computes, for what it killed to start again.
faults:
	@$(MAKE) --no-print-directory -j2 -O crash cluster

# ROWS rows expire in each database (of ENGINE alone, if it is set) while the application writes,
# instances die and stall, and servers fail; then workers are killed at any moment. Not part of
# make test, which runs 400 rows.
adopt-load:
	LETHE_SERVERS=require $(GO) test -count=1 -v -timeout 0 -parallel 1 -run '^TestUnderLoad$$/^$(ENGINE)' ./internal/app/adoption -adoption.rows=$(ROWS)
	LETHE_SERVERS=require $(GO) test -count=1 -v -timeout 0 -parallel 1 -run '^(TestKilledAtAnyMoment|TestQuarantineUnderLoad)$$/^$(ENGINE)' ./internal/app/adoption -adoption.kills=$(ADOPTION_KILLS)

# Three instances on one PostgreSQL, S3 server and Redis, all of which break.
cluster:
	LETHE_SERVERS=require $(GO) test -count=1 -v -timeout 20m -run '^TestCluster$$' ./test/cluster -cluster.objects=$(OBJECTS)

# The same with everything at once, and copies that rot, for DURATION; not part of make
# test. LOGS names a folder for the logs of the instances.
soak:
	LETHE_SERVERS=require $(GO) test -count=1 -v -timeout 0 -run '^TestCluster$$' ./test/cluster -cluster.objects=20000 -cluster.soak=$(DURATION) -cluster.logs=$(LOGS)

# Not part of make test, which runs the seeds and what was ever found.
fuzz:
	scripts/fuzz.sh $(FUZZTIME)

model:
	model/check.sh

# What reclaiming, serving and large objects cost on this machine; BENCH=quick for
# a glance. docs/performance.md says what each table means.
bench: bench-binaries bench-peers
	bench/run.sh $(or $(BENCH),standard)

bench-binaries:
	$(GO) build -o bench/out/lethe ./cmd/lethe
	$(GO) build -o bench/out/lethe-bench ./bench/lethe-bench

# What Lethe is compared with, beside versitygw; MinIO takes some minutes to compile. Both are
# under the AGPL, and only run beside.
bench-peers: .bin/minio .bin/warp

.bin/minio:
	scripts/modbuild.sh minio $(MINIO)

.bin/warp:
	scripts/modbuild.sh warp $(WARP)

# Other people's suites; S3TESTS names a checkout of Ceph's, PROVIDERS a folder with
# Terraform's provider for AWS. Not part of make test.
conformance:
	S3TESTS=$(S3TESTS) PROVIDERS=$(PROVIDERS) scripts/conformance/run.sh $(SUITES)

# The ledger's suite in memory and through a pooler, and adoption's on more kinds of MariaDB's tables;
# not part of make test.
variants:
	LETHE_SERVERS=require $(GO) test -count=1 -timeout 20m -run '^(TestConformance|TestPostgresConformance)$$' ./ledger/sqlledger -ledger.variants
	LETHE_SERVERS=require $(GO) test -count=1 -timeout 20m -run '^TestMySQLSuite$$' ./adopt/sqladopt -sqladopt.tables
	LETHE_SERVERS=require $(GO) test -count=1 -timeout 20m -run '^(TestKilledAtAnyMoment|TestQuarantineUnderLoad)$$/^MariaDB$$' ./internal/app/adoption -adoption.kills=$(ADOPTION_KILLS)

# The suite of the backends on every S3 server that is installed, and on the one
# that LETHE_S3_ENDPOINT names; docs/s3-backends.md has the results.
compat:
	@set -o pipefail; LETHE_COMPAT=1 $(GO) test -count=1 -v -timeout 20m -run '^TestCompatibility$$' ./blob/s3blob | grep -Ev '^(=== | +--- PASS)'

# The ledger's suite, plans, migrations and random histories on the PostgreSQL whose
# programs lie in the folder POSTGRES=; test/README.md has the results.
postgres:
	PATH=$(abspath $(POSTGRES)):$$PATH postgres --version
	PATH=$(abspath $(POSTGRES)):$$PATH LETHE_SERVERS=require $(GO) test -count=1 -timeout 20m -run 'Postgres|Migrations|NewerSchema|LostCommit|Statements' ./ledger/sqlledger/...

# The Helm chart lints, and what it makes of its values is a configuration that
# lethe takes. Not part of make test: helm compiles for minutes.
chart: .bin/helm
	.bin/helm lint --strict deploy/helm/lethe
	scripts/chart.sh .bin/helm

.bin/helm:
	GOBIN=$(CURDIR)/.bin $(GO) install $(HELM)

# What deploy/compose describes, started without containers and used; as root, and
# not part of make test.
compose: .bin/compose-spec
	scripts/compose.sh .bin/compose-spec

.bin/compose-spec:
	scripts/modbuild.sh compose-spec $(COMPOSE) ./cmd

clean:
	rm -rf .bin .cache bench/out dist lethe
