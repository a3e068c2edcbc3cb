# What a contributor and CI run. Needs a stable cargo and nothing else, except where a target says so.

CARGO ?= cargo
# Tests that run at a time: many wait for processes and clocks.
TEST_THREADS ?= 3
# Seconds that `make fuzz` gives to each decoder.
FUZZ_SECONDS ?= 60
# How many times as many disks `make power-cuts` opens as `make test` does.
POWER_CUTS ?= 20
# Runs of `make sim`, and the first of their seeds: another one each time, unless it is given.
SEEDS ?= 10000
# Minutes of `make soak`, and on what: server or cluster.
SOAK_MINUTES ?= 10
SOAK_ON ?= server
# Empty for the build that `make test` makes.
SIM_PROFILE ?= --release
ifndef BASE
BASE := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
endif

.DEFAULT_GOAL := help

## test: formatting, lints, documentation and every test; what CI runs
.PHONY: test
test: format lint docs fuzz-builds tests
	@# They wait more than they work, so two of them run at a time.
	@($(MAKE) --no-print-directory clients && $(MAKE) --no-print-directory test-packages) & first=$$!; \
		$(MAKE) --no-print-directory test-beanstalkd test-redis test-openapi test-console; second=$$?; \
		wait $$first && exit $$second

## format: fail if a file is not formatted
.PHONY: format
format:
	@$(CARGO) fmt --check
	@cd fuzz && $(CARGO) fmt --check

## lint: every warning is an error, in all crates and in the client alone
.PHONY: lint
lint:
	@$(CARGO) clippy --quiet --locked --all-targets --test net --test mutants -- -D warnings
	@$(CARGO) clippy --quiet --locked --package adjourn-client --all-targets -- -D warnings

## docs: the documentation builds and its links resolve
.PHONY: docs
docs:
	@RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" $(CARGO) doc --quiet --locked --no-deps --document-private-items

## fuzz-builds: the fuzz targets compile
.PHONY: fuzz-builds
fuzz-builds:
	@cd fuzz && CARGO_TARGET_DIR=../target $(CARGO) check --quiet --locked

## tests: every test of the workspace; half of the clients' scenarios are played over TLS
.PHONY: tests
tests:
	@$(CARGO) test --quiet --locked --no-run
	@RUST_TEST_THREADS=$(TEST_THREADS) ADJOURN_CONFORMANCE_TLS=mixed $(CARGO) test --quiet --locked

## clients: the tests of the client libraries; skips languages that are not installed, and says so
.PHONY: clients
clients:
	@$(CARGO) build --quiet --locked
	@ADJOURN_BIN=$(CURDIR)/$(or $(CARGO_TARGET_DIR),target)/debug/adjourn clients/test

## packages: the server's binary as a wheel and as npm packages, in target/packages; needs Python and npm
.PHONY: packages
packages:
	@packages/build

## test-packages: build them, install each in an empty folder and use it; skips what is not installed, and says so
.PHONY: test-packages
test-packages:
	@packages/test

## test-openapi: a validator, generated requests and a generated client against the HTTP API; needs Python, and PyPI once
.PHONY: test-openapi
test-openapi:
	@$(CARGO) build --quiet --locked
	@ADJOURN_BIN=$(CURDIR)/$(or $(CARGO_TARGET_DIR),target)/debug/adjourn tests/openapi/test

## test-console: every page and action of the console in a browser; needs Python, PyPI once, and Chromium
.PHONY: test-console
test-console:
	@$(CARGO) build --quiet --locked
	@ADJOURN_BIN=$(CURDIR)/$(or $(CARGO_TARGET_DIR),target)/debug/adjourn tests/console/test

## test-beanstalkd: the port for callers of beanstalkd beside the original, and with its public clients; skips what is not installed
.PHONY: test-beanstalkd
test-beanstalkd:
	@$(CARGO) build --quiet --locked
	@ADJOURN_BIN=$(CURDIR)/$(or $(CARGO_TARGET_DIR),target)/debug/adjourn tests/beanstalkd/test

## test-redis: take over the jobs of BullMQ, Bull and Laravel, which these have put into Redis; skips what is not installed
.PHONY: test-redis
test-redis:
	@$(CARGO) build --quiet --locked
	@ADJOURN_BIN=$(CURDIR)/$(or $(CARGO_TARGET_DIR),target)/debug/adjourn tests/redis/test

## images: take the pictures of docs/images anew; target/images gets one of every screen
.PHONY: images
images:
	@$(CARGO) build --quiet --locked
	@ADJOURN_BIN=$(CURDIR)/$(or $(CARGO_TARGET_DIR),target)/debug/adjourn tests/console/test --images target/images
	@cp target/images/walk-*.png docs/images
	@for image in docs/images/*.png; do cp "target/images/$${image##*/}" "$$image" || exit 1; done

## tools: install the Debian packages that the clients' tests need; needs root
.PHONY: tools
tools:
	@apt-get update --quiet
	@apt-get install --yes --quiet --no-install-recommends $$(sed 's/#.*//' tests/tools.txt)

## conformance: every client against the scenarios in conformance/; CLIENTS=rust,python takes only those, WHAT=worker/ only these, TLS=1 speaks it
.PHONY: conformance
conformance:
	@ADJOURN_CONFORMANCE=$(CLIENTS) ADJOURN_CONFORMANCE_TLS=$(TLS) $(CARGO) test --quiet --locked --test conformance -- $(WHAT)

## soak: push in one language, work in another, kill anything, for SOAK_MINUTES; SOAK_ON=cluster takes three nodes; CLIENTS=rust,python takes only those
.PHONY: soak
soak:
	@ADJOURN_CONFORMANCE=$(CLIENTS) ADJOURN_SOAK_ON=$(SOAK_ON) ADJOURN_SOAK_SECONDS=$$(($(SOAK_MINUTES) * 60)) \
		ADJOURN_SOAK_SEED=$${ADJOURN_SOAK_SEED:-$$(date +%s)} $(CARGO) test --quiet --locked --test conformance -- soak

## test-net: three nodes on cut cables, full disks and wrong clocks; needs root, iproute2 and libfaketime
.PHONY: test-net
test-net:
	@$(CARGO) test --quiet --locked --test net

## sim: simulate SEEDS new runs of a node and of a cluster, in a release build; BASE=... repeats them
.PHONY: sim
sim:
	@echo "make sim SEEDS=$(SEEDS) BASE=$(BASE)"
	@ADJOURN_SIM_SEEDS=$(SEEDS) ADJOURN_SIM_BASE=$(BASE) \
		ADJOURN_SIM_CLUSTER_SEEDS=$(SEEDS) ADJOURN_SIM_CLUSTER_BASE=$(BASE) \
		ADJOURN_SIM_SLOW_SEEDS=$$(($(SEEDS) / 20)) ADJOURN_SIM_SLOW_BASE=$(BASE) \
		ADJOURN_SIM_SLOW_CLUSTER_SEEDS=$$(($(SEEDS) / 5)) ADJOURN_SIM_SLOW_CLUSTER_BASE=$(BASE) \
		$(CARGO) test --quiet --locked $(SIM_PROFILE) --test sim every_invariant

## mutants: break lines of the code, one at a time, and see a test fail; MUTANTS=6 of them, or those of a name
.PHONY: mutants
mutants:
	@$(CARGO) test --quiet --locked --test mutants

## generate: write what follows from schema/: the codecs of the clients, the server's own, the tables of protocol.md
.PHONY: generate
generate:
	@$(CARGO) run --quiet --locked --package adjourn-generate

## fmt: format every file
.PHONY: fmt
fmt:
	@$(CARGO) fmt
	@cd fuzz && $(CARGO) fmt

## fuzz: run every fuzz target for FUZZ_SECONDS
.PHONY: fuzz
fuzz:
	@fuzz/run $(FUZZ_SECONDS)

## power-cuts: open POWER_CUTS times as many disks after power cuts as the tests do, under a new seed
.PHONY: power-cuts
power-cuts:
	@ADJOURN_POWER_CUTS=$(POWER_CUTS) ADJOURN_POWER_CUT_SEED=$${ADJOURN_POWER_CUT_SEED:-$$(date +%s)} \
		$(CARGO) test --quiet --locked --test all power_cut::
	@ADJOURN_SIM_ALL_PAIRS=1 $(CARGO) test --quiet --locked --release --test sim a_power_cut

## bench: Adjourn side by side with Redis and beanstalkd, as far as they are installed (--help of benches/peers says more)
.PHONY: bench
bench:
	@benches/peers

## bench-clients: each client library beside the other libraries of its language (--help of benches/clients says what it needs)
.PHONY: bench-clients
bench-clients:
	@benches/clients

## scale: memory, disk, starts, lookups and lateness with up to ten million jobs (40 minutes, 20 GB of disk)
.PHONY: scale
scale:
	@benches/scale

## deny: licences, sources and known vulnerabilities of dependencies (needs cargo-deny)
.PHONY: deny
deny:
	@$(CARGO) deny --locked check

## help: this list
.PHONY: help
help:
	@sed -n 's/^## \([a-z-]*\): /\1\t/p' $(MAKEFILE_LIST) | expand -t 14
