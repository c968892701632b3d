package main

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// tagged returns a command that vets a suite with a build tag, and runs it with the race detector.
func tagged(tag, flags, suite string) string {
	return "go vet -tags=" + tag + " " + suites + suite + "\n" +
		"bin/gotest -race -count=1 -timeout=20m -tags=" + tag + " " + flags + "${TESTFLAGS:-} " + suites + suite + "\n"
}

// telling returns the beginning of a command whose tests write figures to the file that a variable
// names. The figures are printed when the command ends.
func telling(variable string) string {
	return "export " + variable + `="$PWD/bin/` + strings.ToLower(variable) + `"
rm -f "$` + variable + `"
trap '[ ! -s "$` + variable + `" ] || cat "$` + variable + `"' EXIT
`
}

// nightlies returns the stages of the cross product, and those that take long.
func nightlies() []stage {
	return slices.Concat(variants(), conformances(), loads(), peers(), deployments())
}

// variants returns the stages that run tests in other surroundings, or for longer.
func variants() []stage {
	return []stage{
		{
			name: "test-replicas", sets: nights, cores: 1.5, within: 30 * time.Minute, needs: built,
			run: "GOTEST_NEEDS=redis-server bin/gotest -race -count=1 -timeout=20m " + suites + "e2e " + suites + "matrix -args -redis",
		},
		{
			name: "test-tls", sets: nights, cores: 1, within: 15 * time.Minute, needs: built,
			run: "bin/gotest -race -count=1 -timeout=10m -run=TestMatrix " + suites + "matrix -args -tls=http/1.1,h2",
		},
		{name: "bare-all", sets: nights, cores: 1.2, within: 30 * time.Minute, after: built, run: "tools/bare.sh all"},
		{name: "fuzz", sets: nights, cores: 2, within: 40 * time.Minute, counts: "FUZZ_COUNTS", after: built, run: "FUZZTIME=120000x tools/fuzz.sh " +
			"./edge/auth ./edge/jsonrpc ./edge/frame ./edge/telemetry ./edge/schema/portable ./internal/uris ./edge/tasks"},
		{
			name: "simulate", sets: nights, cores: 1, within: 35 * time.Minute, needs: built,
			run: "bin/gotest -count=1 -timeout=30m -run='TestSimulation|TestOneSeed|TestPlanted' " + suites + "simulation -args -simulation.bugs -rapid.checks=${HISTORIES:-60000}",
		},
	}
}

// conformances returns the stages of the official suite, and those of the libraries.
func conformances() []stage {
	stages := []stage{
		{
			name: "conformance-access", sets: nights, cores: 0.7, within: 10 * time.Minute, counts: "CONFORMANCE_COUNTS", needs: built,
			run: taken + "bin/conformance -url '' -locked",
		},
		{
			name: "conformance-curated", sets: nights, cores: 0.7, within: 10 * time.Minute, counts: "CONFORMANCE_COUNTS", needs: built,
			run: taken + "bin/conformance -url '' -curated",
		},
	}
	parts := map[string]string{"rust": "stubs conformance"} // those of the others are made anew by sdk-*
	for _, language := range []string{"java", "python", "rust", "typescript"} {
		stages = append(stages, stage{
			name: "conformance-" + language, sets: nights, cores: 0.7, within: 20 * time.Minute, counts: "SDK_COUNTS", after: []string{"conformance-access", "conformance-curated"},
			run: "tools/sdk.sh " + language + " " + cmp.Or(parts[language], "conformance"),
		})
	}
	return stages
}

// loads returns the stages with many, or hostile, clients.
func loads() []stage {
	return []stage{
		{
			name: "chaos", sets: nights, cores: 2, within: 30 * time.Minute, counts: "CHAOS_COUNTS", needs: built,
			run: "bin/chaos -program bin/mcpedge-ci -duration 60s",
		},
		{
			name: "chaos-cluster", sets: nights, cores: 2, within: 20 * time.Minute, counts: "CHAOS_COUNTS", needs: built,
			run: "bin/chaos -program bin/mcpedge-ci -cluster -duration 20s",
		},
		{
			name: "attack", sets: nights, cores: 1.5, within: 45 * time.Minute, counts: "ATTACK_COUNTS", needs: built,
			run: "bin/attack -edge bin/mcpedge-ci -duration 10s",
		},
	}
}

// peers returns the stages that run the edge with programs of others, and its examples.
func peers() []stage {
	return []stage{
		{
			name: "interop", sets: nights, cores: 1.2, within: 40 * time.Minute, counts: "INTEROP_COUNTS", needs: built, run: taken + "bin/interop",
		},
		{
			name: "interop-access", sets: nights, cores: 1.2, within: 40 * time.Minute, counts: "INTEROP_COUNTS", needs: built, after: []string{"interop"}, run: taken + "bin/interop -locked",
		},
		{
			name: "hosts", sets: nights, cores: 1.2, within: 30 * time.Minute, needs: built,
			run: `export MCPEDGE_BINARY="$PWD/bin/mcpedge-ci"
go vet -tags=hosts ` + suites + `hosts
GOTEST_NEEDS=redis-server bin/gotest -count=1 -timeout=25m -tags=hosts ${TESTFLAGS:-} ` + suites + `hosts`,
		},
		{name: "installed", sets: nights, cores: 1.5, within: 15 * time.Minute, needs: built, run: tagged("installed", "-run='^TestInstalledVersion$' ", "release")},
		{name: "examples", sets: nights, cores: 1.5, within: 20 * time.Minute, counts: "EXAMPLES_COUNTS", needs: built, run: "bin/examples"},
		{name: "apps", sets: nights, cores: 1, within: 15 * time.Minute, needs: built, run: "npm ci --prefix " + suites + "apps --loglevel=error >/dev/null\n" +
			tagged("apps", "", "apps")},
		{
			name: "apis", sets: nights, cores: 1, within: 15 * time.Minute, needs: built,
			run: `export MCPEDGE_BINARY="$PWD/bin/mcpedge-ci"
cd ` + suites + `apis
npm ci --ignore-scripts --loglevel=error >/dev/null
go vet .
../../../bin/gotest -count=1 -timeout=10m ${TESTFLAGS:-} .`,
		},
		{
			name: "servers", sets: nights, cores: 1, within: 20 * time.Minute, needs: built,
			run: `export MCPEDGE_BINARY="$PWD/bin/mcpedge-ci"
go vet -tags=servers ` + suites + `servers
bin/gotest -count=1 -timeout=15m -tags=servers ${TESTFLAGS:-} ` + suites + `servers`,
		},
		{
			name: "browser", sets: nights, cores: 1.5, within: 20 * time.Minute, needs: built,
			run: `CGO_ENABLED=1 go build -race -o bin/mcpedge-race ./edge
export MCPEDGE_BINARY="$PWD/bin/mcpedge-race" EVERYTHING_BINARY="$PWD/bin/services-ci/everything"
cd ` + suites + `browser
go vet .
../../../bin/gotest -count=1 -timeout=10m ${TESTFLAGS:-} .`,
		},
	}
}

// deployments returns the stages of images, logins at real servers, and the site.
func deployments() []stage {
	return []stage{
		{name: "compose", sets: nights, cores: 1, within: 15 * time.Minute, needs: built, run: tagged("haproxy", "-run='^TestHAProxy' ", "compose")},
		{name: "images", sets: nights, cores: 1.5, within: 30 * time.Minute, needs: built, after: []string{"compose"}, run: telling("IMAGES_SIZES") + tagged("images", "", "images")},
		{name: "compose-docker", sets: nights, cores: 1.5, within: 30 * time.Minute, needs: built, after: []string{"images"}, run: tagged("composedocker", "-run='^TestDocker$' ", "compose")},
		{
			name: "access", sets: nights, cores: 1, within: 20 * time.Minute, needs: built,
			run: "go vet -C " + suites + "browser ./login\n" + tagged("access", "-parallel=16 ", "access"),
		},
		{
			name: "site", sets: nights, cores: 1.5, within: 20 * time.Minute, after: built,
			run: "site/build.sh\ncd site\nnode check.mjs\n" + `echo "1 0" >"$GOTEST_COUNTS"`,
		},
	}
}

// manual returns the stages that need root, hours or rare programs. They run only with -only.
func manual() []stage {
	return []stage{
		{
			name: "traces", sets: byHand, cores: 2, within: 60 * time.Minute, needs: built,
			run: `go build -C tools/jaeger -ldflags='-s -w' -o ../../bin/jaeger github.com/jaegertracing/jaeger/cmd/jaeger
export JAEGER_BINARY="$PWD/bin/jaeger" GOTEST_NEEDS=redis-server
` + tagged("jaeger", "-run='^TestJaeger$' ", "telemetry"),
		},
		{
			// Built without service discovery in clouds, which is most of Prometheus and unused by
			// the configuration in deploy/.
			name: "dashboards", sets: byHand, cores: 2, within: 60 * time.Minute, needs: built,
			run: `go build -C tools/prometheus -tags=remove_all_sd -ldflags='-s -w' -o ../../bin/prometheus github.com/prometheus/prometheus/cmd/prometheus
export PROMETHEUS_BINARY="$PWD/bin/prometheus" GOTEST_NEEDS=redis-server
` + tagged("prometheus", "-run='^TestPrometheus$' ", "telemetry"),
		},
		{
			name: "kubernetes", sets: byHand, cores: 2, within: 2 * time.Hour, needs: built,
			run: telling("KUBERNETES_FIGURES") + "go vet -tags=kubernetes " + suites + "kubernetes\nbin/gotest -race -count=1 -timeout=90m -tags=kubernetes ${TESTFLAGS:-} " + suites + "kubernetes",
		},
		{
			name: "versions", sets: byHand, cores: 2, within: 40 * time.Minute, needs: built,
			run: telling("VERSIONS_FIGURES") + "export GOTEST_NEEDS=redis-server\ngo vet -tags=versions " + suites + "release\n" +
				"bin/gotest -race -count=1 -timeout=20m -tags=versions -run='^TestVersions$' " + suites + "release -args -duration ${DURATION:-60s}",
		},
		{
			name: "chaos-tasks", sets: byHand, cores: 2, within: 40 * time.Minute, counts: "CHAOS_COUNTS", needs: built,
			run: "bin/chaos -program bin/mcpedge-ci -duration 60s -clients 20 -holders 200 -each 10 -task-for 5s -keys",
		},
	}
}
