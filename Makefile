# What is run by hand, and what it takes to change generated code. `make help` lists the targets. CI runs stages, a graph in tools/ci, of which
# `make stages ONLY=NAME` runs any by itself.

.SUFFIXES:

GO   = go
TOOL = $(GO) tool -modfile=tools/go.mod
# Passed to `go test` by `make test`, as in: make test TESTFLAGS='-run TestTools'
TESTFLAGS =
TESTPKGS  = ./tests/suites/e2e ./... # the longest first

# Builds from archives, worktrees and other people's checkouts need no version control.
GOFLAGS_ALL = $(strip $(filter-out -buildvcs=%,$(GOFLAGS)) -buildvcs=false)
# What `make build` makes in a clone says its version and commit. In a worktree, and where git cannot tell, it is devel.
STAMPED = if git status --porcelain >/dev/null 2>&1; then export GOFLAGS="$(filter-out -buildvcs=%,$(GOFLAGS_ALL)) -buildvcs=auto"; fi
RUN = rm -f bin/left-out; mkdir -p bin; export GOFLAGS="$(GOFLAGS_ALL)"; start=$$(date +%s)
END = code=$$?; echo "make $@: $$(($$(date +%s) - start)) s"; test ! -s bin/left-out || cat bin/left-out; exit $$code
# What gotest installs where it can, and the file for its line about what was left out without.
NEEDS_REDIS = export GOTEST_NEEDS=redis-server GOTEST_LEFT_OUT="$$PWD/bin/left-out"

.PHONY: help build check test lint generate fuzz conformance chaos attack interop examples bench stages nightly version release

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | awk -F'|' '{ printf "  make %-12s %s\n", $$1, $$2 }'

build: ## Build bin/mcpedge and the bundled services in bin/services/
	@$(RUN); $(STAMPED); mkdir -p bin/services && \
	$(GO) build -tags=grpcnotrace -o bin/mcpedge ./edge && \
	$(GO) build -o bin/services/ ./services/...; $(END)

check: ## What a change needs first, in a minute: format, vet, the tests that it reaches, and transcripts of an edge; CHECKFLAGS=-list
	@$(RUN); $(GO) build -C tools -o ../bin/ ./gotest ./check && bin/check $(CHECKFLAGS); $(END)

test: ## Run all Go tests, with the race detector where goroutines meet; installs redis-server where it can, or leaves out what needs it
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && \
	$(NEEDS_REDIS) && \
	bin/gotest -race -count=1 -timeout=20m $(TESTFLAGS) $(TESTPKGS); $(END)

lint: ## Check format, vet, staticcheck, gosec, govulncheck, the contract, generated code and the import law
	@$(RUN); tools/lint.sh; $(END)

generate: ## Write gen/ and the OpenAPI document anew from proto/
	@$(RUN); $(TOOL) buf generate; $(END)

# Runs of each fuzz target. A number of them, not a time: go test may fail when a time is over
# (golang/go#75804, "context deadline exceeded").
FUZZTIME = 120000x
# Packages whose fuzz targets are run.
FUZZPKGS = ./edge/auth ./edge/jsonrpc ./edge/frame ./edge/telemetry ./edge/schema/portable ./internal/uris ./edge/tasks
fuzz: ## Run every fuzz target FUZZTIME (120000x) times
	@$(RUN); FUZZTIME=$(FUZZTIME) tools/fuzz.sh $(FUZZPKGS); $(END)

# LOCKED=1 has the edges of `make conformance` and `make interop` want a key, and have a policy, quotas and audit.
LOCKED   ?=
REPLICAS ?=
# CURATED=1 has the edges of `make conformance` serve other names of the backend, and tests a set that has those of the suite.
CURATED  ?=
conformance: ## Run the official conformance suite (needs npm); REPLICAS=3 on one Redis, LOCKED=1, CURATED=1, CONFORMANCE_URL=… tests a running server
	@$(RUN); $(GO) build -o bin/conformance ./tests/programs/conformance && \
	bin/conformance $(if $(REPLICAS)$(LOCKED)$(CURATED),-url '') $(if $(REPLICAS),-replicas $(REPLICAS)) $(if $(LOCKED),-locked) $(if $(CURATED),-curated); $(END)

# What `make chaos` does, separated by commas, and for how long each; empty is everything.
CHAOS    ?=
DURATION ?= 60s
TASKS    ?=
CLUSTER  ?=
chaos: ## Kill and roll replicas, restart and replace Redis, under 200 clients; CHAOS=kill,term DURATION=60s; TASKS=1 has them hold 2,000 tasks; CLUSTER=1
	@$(RUN); $(GO) build -o bin/chaos ./tests/programs/chaos && \
	bin/chaos -mode '$(CHAOS)' -duration $(DURATION) $(if $(CLUSTER),-cluster) $(if $(TASKS),-clients 20 -holders 200 -each 10 -task-for 5s -keys); $(END)

# Beginnings of the names of the attacks of `make attack`, separated by commas, empty is everything; how long
# those go on that have no end; and the most resident memory in MiB.
ATTACK          ?=
ATTACK_DURATION ?= 10s
ATTACK_MEMORY   ?= 512
attack: ## Attack an edge beside honest clients (Linux); ATTACK=bodies,http2 ATTACK_DURATION=60s ATTACK_MEMORY=512
	@$(RUN); $(GO) build -o bin/attack ./tests/programs/attack && \
	bin/attack -only '$(ATTACK)' -duration $(ATTACK_DURATION) -memory $(ATTACK_MEMORY); $(END)

# Passed to the clients' driver, as in: make interop INTEROPFLAGS='-only python -transport http'; -docs writes the
# table of docs/clients.md.
INTEROPFLAGS =
interop: ## Drive the edge with the SDKs and clients that people use, over every transport and on replicas; LOCKED=1 (needs npm, Python, Java with Maven, Rust)
	@$(RUN); $(GO) run ./tests/programs/interop $(if $(LOCKED),-locked) $(INTEROPFLAGS); $(END)

# Folders of examples/, separated by commas; reflect is that of services that check their callers. Empty is everything.
EXAMPLES =
examples: ## Build the examples of every language, and use them as clients do; EXAMPLES=go,reflect (needs npm, Python, Java with Maven, Rust)
	@$(RUN); $(GO) run ./tests/programs/examples -only '$(EXAMPLES)'; $(END)

# Which benchmarks: empty, the edge beside a bare bridge and the official SDK; waiting, 100,000 tasks that wait; languages, a trivial tool in
# each. BENCHFLAGS is passed to them, as in: make bench BENCHFLAGS='-case modern-64 -profile bin/profiles'
BENCH         =
BENCHFLAGS    =
BENCHBASELINE = bench/baseline.txt
SAVE          =
COMPARE       =
bench: ## Run the benchmarks, with verdicts on what is bounded; SAVE=1 keeps the rounds, COMPARE=1 compares with those; BENCH=waiting or languages
	@$(RUN); \
	if [ -n '$(COMPARE)' ] && [ ! -f $(BENCHBASELINE) ]; then echo "$(BENCHBASELINE) is missing: make bench SAVE=1 writes it"; exit 1; fi; \
	$(GO) run ./bench$(if $(BENCH),/$(BENCH)) $(BENCHFLAGS) $(if $(SAVE),-benchfmt $(BENCHBASELINE)) $(if $(COMPARE),-benchfmt bin/bench.txt) $(if $(COMPARE),&& \
	$(TOOL) benchstat -ignore goversion $(BENCHBASELINE) bin/bench.txt); $(END)

# Names of stages of CI, separated by commas, as in: make stages ONLY='chart,sdk-*'; empty: those that decide whether a change lands.
ONLY =
stages: ## Run stages of CI by themselves, ONLY='chart,sdk-*'; ONLY='*' LIST=1 lists them
	@$(RUN); $(GO) build -C tools -o ../bin/ci ./ci && bin/ci -only '$(ONLY)' $(if $(LIST),-list); $(END)

nightly: ## What takes hours: all clients, languages, attacks, chaos, access, images, site (Linux, root)
	@.ci/run nightly

version: ## Print the version of the libraries, the chart and the pages; VERSION=1.2.3 gives them another one
	@$(GO) build -C tools -o ../bin/version ./version && bin/version $(VERSION)

release: ## Make all of a release, publish nothing, install each artefact where this machine can, and call it (Linux); by hand
	@$(RUN); tools/release.sh $(TESTFLAGS); $(END)
