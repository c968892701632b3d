# What CI runs, and what it takes to change generated code. `make help` lists the targets.

.SUFFIXES:

GO       = go
TOOL     = $(GO) tool -modfile=tools/go.mod
# Runs of each fuzz target. A number of them, not a time: go test may fail when a time is over
# (golang/go#75804, "context deadline exceeded").
FUZZTIME = 120000x
# Packages whose fuzz targets `make fuzz` runs.
FUZZPKGS = ./edge/auth ./edge/jsonrpc ./edge/frame ./edge/telemetry ./edge/schema/portable
# Passed to `go test` by `make test`, as in: make test TESTFLAGS='-run TestTools'
TESTFLAGS =
TESTPKGS  = ./tests/suites/e2e ./... # the longest first

# Builds from archives, worktrees and other people's checkouts need no version control.
GOFLAGS_ALL = $(strip $(filter-out -buildvcs=%,$(GOFLAGS)) -buildvcs=false)
RUN = rm -f bin/left-out; export GOFLAGS="$(GOFLAGS_ALL)"; start=$$(date +%s)
END = code=$$?; echo "make $@: $$(($$(date +%s) - start)) s"; test ! -s bin/left-out || cat bin/left-out; exit $$code
# What gotest installs where it can, and the file for its line about what was left out without.
NEEDS_REDIS = export GOTEST_NEEDS=redis-server GOTEST_LEFT_OUT="$$PWD/bin/left-out"

.PHONY: help build check test stages nightly test-replicas test-tls generate lint fuzz conformance conformance-replicas conformance-access sdk sdk-conformance chaos chaos-tasks simulate attack access apps interop interop-access examples compose compose-docker images browser site apis chart kubernetes bench bench-waiting bench-baseline bench-compare test-versions version release release-tools bench-sdk traces dashboards screenshots

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | awk -F'|' '{ printf "  make %-20s %s\n", $$1, $$2 }'

build: ## Build bin/mcpedge and the bundled services in bin/services/
	@$(RUN); mkdir -p bin/services && \
	$(GO) build -o bin/mcpedge ./edge && \
	$(GO) build -o bin/services/ ./services/...; $(END)

check: ## What a change needs first, in a minute: format, vet, the tests that it reaches, and transcripts of an edge; CHECKFLAGS=-list
	@$(RUN); $(GO) build -C tools -o ../bin/ ./gotest ./check && bin/check $(CHECKFLAGS); $(END)

test: ## Run all Go tests, with the race detector where goroutines meet; installs redis-server where it can, or leaves out what needs it
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && \
	$(NEEDS_REDIS) && \
	bin/gotest -race -count=1 -timeout=10m $(TESTFLAGS) $(TESTPKGS); $(END)

# Names of stages of CI, separated by commas, as in: make stages ONLY='chart,sdk-*'; empty: those that decide whether a change lands.
ONLY =
stages: ## Run stages of CI by themselves, ONLY='chart,sdk-*'; ONLY='*' LIST=1 lists them
	@$(RUN); $(GO) build -C tools -o ../bin/ci ./ci && bin/ci -only '$(ONLY)' $(if $(LIST),-list); $(END)

nightly: ## What takes hours: all clients, languages, attacks, chaos, access, images, site (Linux, root)
	@.ci/run nightly

test-replicas: ## Run the end-to-end tests on replicas that share a Redis, and the matrix with its state there
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && \
	$(NEEDS_REDIS) && \
	bin/gotest -race -count=1 -timeout=10m $(TESTFLAGS) ./tests/suites/e2e ./tests/suites/matrix -args -redis; $(END)

test-tls: ## Run the matrix with clients that speak TLS, over HTTP/1.1 and over HTTP/2
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && \
	bin/gotest -race -count=1 -timeout=10m -run TestMatrix $(TESTFLAGS) ./tests/suites/matrix -args -tls=http/1.1,h2; $(END)

test-versions: ## Run the latest release and this version together: replicas on one Redis, backends of the other, rolled both ways; DURATION=60s for each part; by hand
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && $(GO) vet -tags=versions ./tests/suites/release && \
	rm -f bin/versions-figures; export VERSIONS_FIGURES="$$PWD/bin/versions-figures" && $(NEEDS_REDIS) && \
	{ bin/gotest -race -count=1 -timeout=20m -tags=versions -run='^TestVersions$$' $(TESTFLAGS) ./tests/suites/release -args -duration $(DURATION); code=$$?; \
	test ! -s bin/versions-figures || cat bin/versions-figures; (exit $$code); }; $(END)

version: ## Print the version of the libraries, the chart and the pages; make version VERSION=1.2.3 gives them another one
	@$(GO) build -C tools -o ../bin/version ./version && bin/version $(VERSION)

# What makes a release, built into bin/.
release-tools:
	@mkdir -p bin && \
	$(GO) build -C tools/release -o ../../bin/goreleaser github.com/goreleaser/goreleaser/v2 && \
	$(GO) build -C tools/syft -o ../../bin/syft github.com/anchore/syft/cmd/syft && \
	$(GO) build -C tests/suites/chart -o ../../bin/helm helm.sh/helm/v3/cmd/helm && \
	$(GO) build -C tools -o ../bin/ ./packages ./version

release: ## Make all of a release, publish nothing, install each artefact where this machine can, and call it (Linux); by hand
	@$(RUN); $(MAKE) --no-print-directory release-tools && $(GO) build -C tools -o ../bin/gotest ./gotest && \
	$(GO) vet -tags=release ./tests/suites/release && \
	PATH="$$PWD/bin:$$PATH" HOMEBREW_TAP_TOKEN= bin/goreleaser release --snapshot --clean --parallelism=2 --skip=sign && \
	rm -f bin/release-table; export RELEASE_TABLE="$$PWD/bin/release-table" && \
	{ bin/gotest -count=1 -timeout=20m -tags=release -run='^TestRelease$$' $(TESTFLAGS) ./tests/suites/release; code=$$?; \
	test ! -s bin/release-table || cat bin/release-table; (exit $$code); }; $(END)

generate: ## Write gen/ and the OpenAPI document anew from proto/
	@$(RUN); $(TOOL) buf generate; $(END)

lint: ## Check format, vet, staticcheck, gosec, govulncheck, the contract, generated code and the import law
	@$(RUN); tools/lint.sh; $(END)

fuzz: ## Run every fuzz target FUZZTIME (120000x) times
	@$(RUN); FUZZTIME=$(FUZZTIME) tools/fuzz.sh $(FUZZPKGS); $(END)

conformance: ## Run the official conformance suite; CONFORMANCE_URL=… tests a running server
	@$(RUN); $(GO) build -o bin/conformance ./tests/programs/conformance && bin/conformance; $(END)

conformance-replicas: ## The same against three replicas on one Redis, behind a round-robin proxy
	@$(RUN); $(GO) build -o bin/conformance ./tests/programs/conformance && \
	bin/conformance -url '' -replicas 3 -counts "$$CONFORMANCE_REPLICAS_COUNTS"; $(END)

conformance-access: ## The same against an edge that wants a key, with a policy, quotas and audit
	@$(RUN); $(GO) build -o bin/conformance ./tests/programs/conformance && \
	bin/conformance -url '' -locked -counts "$$CONFORMANCE_ACCESS_COUNTS"; $(END)

sdk: ## The capability libraries of other languages: their own checks, and the suite that they share (needs npm, Python, Java with Maven, Rust)
	@$(RUN); $(GO) build -C tools -o ../bin/ci ./ci && bin/ci -only 'sdk-*'; $(END)

sdk-conformance: ## The conformance suite, every requirement set, with the fixtures of each library; by hand
	@$(RUN); $(GO) build -C tools -o ../bin/ci ./ci && bin/ci -only 'conformance-java,conformance-python,conformance-rust,conformance-typescript'; $(END)

# What `make chaos` does, separated by commas, and for how long each; empty is everything.
CHAOS    ?=
DURATION ?= 60s
chaos: ## Kill and roll replicas, restart and replace Redis, under 200 clients; CHAOS=kill,term DURATION=60s
	@$(RUN); $(GO) build -o bin/chaos ./tests/programs/chaos && bin/chaos -mode '$(CHAOS)' -duration $(DURATION); $(END)

chaos-tasks: ## 200 principals that hold 2,000 tasks, in every mode of chaos; by hand
	@$(GO) build -o bin/chaos ./tests/programs/chaos && \
	bin/chaos -mode '$(CHAOS)' -duration $(DURATION) -clients 20 -holders 200 -each 10 -task-for 5s -keys

# How many histories of calls are played, each of a new seed.
HISTORIES ?= 60000
simulate: ## Play HISTORIES (60000) of calls whose store loses writes, and find the bugs planted among them
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && \
	bin/gotest -count=1 -timeout=30m -run 'TestSimulation|TestOneSeed|TestPlanted' ./tests/suites/simulation -args -simulation.bugs -rapid.checks=$(HISTORIES); $(END)

# Beginnings of the names of the attacks of `make attack`, separated by commas, empty is everything; how long
# those go on that have no end; and the most resident memory in MiB.
ATTACK          ?=
ATTACK_DURATION ?= 10s
ATTACK_MEMORY   ?= 512
attack: ## Attack an edge beside honest clients; ATTACK=bodies,http2 ATTACK_DURATION=60s ATTACK_MEMORY=512
	@$(RUN); $(GO) build -o bin/attack ./tests/programs/attack && \
	bin/attack -only '$(ATTACK)' -duration $(ATTACK_DURATION) -memory $(ATTACK_MEMORY); $(END)

# Passed to the clients' driver, as in: make interop INTEROPFLAGS='-only python -transport http'; -docs writes the
# table of docs/clients.md.
INTEROPFLAGS =
apps: ## Show the page of an MCP App in a host, @modelcontextprotocol/ext-apps, behind an edge (needs npm)
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && $(GO) vet -tags=apps ./tests/suites/apps && \
	npm ci --prefix tests/suites/apps --loglevel=error >/dev/null && \
	bin/gotest -race -count=1 -timeout=10m -tags=apps $(TESTFLAGS) ./tests/suites/apps; $(END)

interop: ## Drive the edge with the SDKs and clients that people use, over every transport and on two replicas
	@$(RUN); $(GO) run ./tests/programs/interop $(INTEROPFLAGS); $(END)

interop-access: ## The same but for stdio against edges that want a key, with a policy, quotas and audit
	@$(RUN); $(GO) run ./tests/programs/interop -locked $(INTEROPFLAGS); $(END)

examples: ## Build the example backends of every language and use them through an edge
	@$(RUN); $(GO) run ./tests/programs/examples; $(END)

compose: ## Run docker-compose.yml without Docker, the real HAProxy in front of two edges
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && \
	PATH="$$PATH:/usr/sbin" bin/gotest -race -count=1 -timeout=10m -tags=haproxy -run='^TestHAProxy' $(TESTFLAGS) ./tests/suites/compose; $(END)

compose-docker: ## Run docker-compose.yml as it is, with Compose on a Docker engine of its own (Linux, root); kill, stop and roll its edges
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && $(GO) vet -tags=composedocker ./tests/suites/compose && \
	export GOTEST_LEFT_OUT="$$PWD/bin/left-out" && \
	bin/gotest -race -count=1 -timeout=20m -tags=composedocker -run='^TestDocker$$' $(TESTFLAGS) ./tests/suites/compose; $(END)

images: ## Build the images on a Docker engine of its own, for both platforms, run them locked down, push and pull them (Linux, root)
	@$(RUN); rm -f bin/images-sizes; $(GO) build -C tools -o ../bin/gotest ./gotest && $(GO) vet -tags=images ./tests/suites/images && \
	export GOTEST_LEFT_OUT="$$PWD/bin/left-out" IMAGES_SIZES="$$PWD/bin/images-sizes" && \
	bin/gotest -race -count=1 -timeout=20m -tags=images $(TESTFLAGS) ./tests/suites/images && \
	{ test ! -s bin/images-sizes || cat bin/images-sizes; }; $(END)

site: ## Build the documentation as a site in site/dist, and look at every page in headless Chromium and with Lighthouse (needs npm, chromium)
	@$(RUN); site/build.sh && cd site && node check.mjs; $(END)

screenshots: ## Take the pictures of docs/images anew, light and dark; by hand (Linux; needs npm, chromium, redis-server, prometheus, pngquant; a quarter of an hour)
	@$(RUN); site/screenshots/run; $(END)

browser: ## Drive the page of --dev in headless Chromium; DEV_PICTURES=DIR writes what it shows there
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && $(GO) build -race -o bin/mcpedge-race ./edge && $(GO) build -o bin/everything ./services/everything && \
	export MCPEDGE_BINARY="$$PWD/bin/mcpedge-race" EVERYTHING_BINARY="$$PWD/bin/everything" DEV_PICTURES="$(abspath $(DEV_PICTURES))" && \
	cd tests/suites/browser && $(GO) vet . && ../../bin/gotest -count=1 -timeout=10m $(TESTFLAGS) .; $(END)

access: ## Log in at real authorization servers, Keycloak and oidc-provider, by clients in use, and call an edge (needs npm, Python, Java with Maven, Chromium)
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && $(GO) vet -tags=access ./tests/suites/access && $(GO) vet -C tests/suites/browser ./login && \
	bin/gotest -race -count=1 -timeout=10m -parallel=16 -tags=access $(TESTFLAGS) ./tests/suites/access; $(END)

apis: ## Put public gRPC APIs behind an edge and hold their tools against the rules of model interfaces
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && $(GO) build -o bin/mcpedge-apis ./edge && \
	export MCPEDGE_BINARY="$$PWD/bin/mcpedge-apis" && \
	cd tests/suites/apis && $(GO) vet . && ../../bin/gotest -count=1 -timeout=10m $(TESTFLAGS) .; $(END)

chart: ## Render the Helm chart with values that matter, hold its objects against their APIs, and start the edge as its pod does
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && $(GO) build -o bin/mcpedge-chart ./edge && \
	export MCPEDGE_BINARY="$$PWD/bin/mcpedge-chart" && $(NEEDS_REDIS) && \
	cd tests/suites/chart && $(GO) vet ./... && ../../bin/gotest -count=1 -timeout=10m $(TESTFLAGS) ./...; $(END)

kubernetes: ## Run the chart in a cluster of its own, under load: rolled, scaled, drained, killed, behind Traefik; builds Kubernetes (Linux, root); by hand
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && $(GO) vet -tags=kubernetes ./tests/suites/kubernetes && \
	rm -f bin/kubernetes-figures; export GOTEST_LEFT_OUT="$$PWD/bin/left-out" KUBERNETES_FIGURES="$$PWD/bin/kubernetes-figures" && \
	{ bin/gotest -race -count=1 -timeout=90m -tags=kubernetes $(TESTFLAGS) ./tests/suites/kubernetes; code=$$?; \
	test ! -s bin/kubernetes-figures || cat bin/kubernetes-figures; (exit $$code); }; $(END)

traces: ## Have Jaeger, built from source, receive the spans of clients, edges and services that are processes, and ask it for what docs/telemetry.md says
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && $(GO) vet -tags=jaeger ./tests/suites/telemetry && \
	$(GO) build -C tools/jaeger -ldflags='-s -w' -o ../../bin/jaeger github.com/jaegertracing/jaeger/cmd/jaeger && \
	export JAEGER_BINARY="$$PWD/bin/jaeger" && $(NEEDS_REDIS) && \
	bin/gotest -race -count=1 -timeout=10m -tags=jaeger -run='^TestJaeger$$' $(TESTFLAGS) ./tests/suites/telemetry; $(END)

# Without what discovers targets in clouds, which the configuration in deploy/ does not use: most of a Prometheus.
dashboards: ## Have Prometheus, built from source, scrape edges, and ask its API every query of the dashboards, alerts and documentation
	@$(RUN); $(GO) build -C tools -o ../bin/gotest ./gotest && $(GO) vet -tags=prometheus ./tests/suites/telemetry && \
	$(GO) build -C tools/prometheus -tags=remove_all_sd -ldflags='-s -w' -o ../../bin/prometheus github.com/prometheus/prometheus/cmd/prometheus && \
	export PROMETHEUS_BINARY="$$PWD/bin/prometheus" && $(NEEDS_REDIS) && \
	bin/gotest -race -count=1 -timeout=10m -tags=prometheus -run='^TestPrometheus$$' $(TESTFLAGS) ./tests/suites/telemetry; $(END)

# Passed to the benchmarks, as in: make bench BENCHFLAGS='-case modern-64 -profile bin/profiles'
BENCHFLAGS    =
BENCHBASELINE = bench/baseline.txt
bench: ## Run the benchmarks: ratios to a bare bridge and the official SDK, with verdicts on what is bounded
	@$(RUN); $(GO) run ./bench $(BENCHFLAGS); $(END)

bench-waiting: ## What 100,000 tasks that wait cost, in Redis and in the replicas; by hand
	@$(GO) run ./bench/waiting

bench-sdk: ## Calls per second and memory of a trivial tool in each language, and beside FastMCP, rmcp and the SDKs for Java and TypeScript; by hand (needs npm, Python, Java with Maven, Rust)
	@$(GO) run ./bench/languages $(BENCHFLAGS)

bench-baseline: ## Run the benchmarks and save their rounds as bench/baseline.txt
	@$(RUN); $(GO) run ./bench $(BENCHFLAGS) -benchfmt $(BENCHBASELINE); $(END)

bench-compare: ## Run the benchmarks and compare them with the baseline, by benchstat; on the baseline's machine
	@$(RUN); test -f $(BENCHBASELINE) || { echo "$(BENCHBASELINE) is missing: make bench-baseline writes it"; exit 1; }; \
	mkdir -p bin && $(GO) run ./bench $(BENCHFLAGS) -benchfmt bin/bench.txt && \
	$(TOOL) benchstat -ignore goversion $(BENCHBASELINE) bin/bench.txt; $(END)
