package main

import (
	"slices"
	"time"
)

// The directories of programs and of suites.
const (
	programs = "./tests/programs/"
	suites   = "./tests/suites/"
)

var (
	lands  = []string{landing}
	nights = []string{nightly}
	both   = []string{landing, nightly}
	byHand []string
)

// built is the needs of stages that run programs built by the stage programs.
var built = []string{"programs"}

// taken makes tests use the programs that the stage programs has built, see
// tests/helpers/process.EnvBuilt.
const taken = `export PROGRAMS_BUILT="$PWD/bin/services-ci"
`

// stages is the table of all stages, in order of preference: stages that others wait for first.
// Since stages run concurrently, each builds into bin/ under a name of its own.
var stages = slices.Concat([]stage{{
	name: "programs", sets: both, cores: 2, within: 15 * time.Minute,
	// Without what debuggers read, which takes the linker longer than the rest.
	run: `mkdir -p bin
export GOFLAGS="${GOFLAGS:-} -ldflags=-s"
go build -C tools -o ../bin/ ./gotest ./check
go build -o bin/ ` + programs + `{attack,chaos,conformance,examples,interop}
go build -o bin/mcpedge-ci ./edge
go build -o bin/services-ci/ ./services/...
ln -f bin/mcpedge-ci bin/services-ci/edge
go test -c -vet=off -o bin/capability.test ` + suites + `capability
echo "$(ls bin/{attack,chaos,check,conformance,examples,gotest,interop,mcpedge-ci} | wc -l) 0" >"$GOTEST_COUNTS"`,
}}, landed(), nightlies(), manual())

// landed returns the stages that decide whether a change lands. Their cores are CPU seconds divided
// by seconds, as runs of November 2026 on two cores with warm caches printed them; test has less, as it uses the time
// that the other stages leave. As long as both cores are busy, the sum of the CPU time decides the
// duration of the whole. So the stage that uses all cores is first, when no other one has to end
// for it. Then come stages that wait for long, for installed packages and for timeouts, and last
// those that keep a core busy.
func landed() []stage {
	return []stage{
		{
			// It uses all cores, as it measures how long streams are silent.
			name: "chaos-minute", sets: lands, cores: 2, within: 12 * time.Minute, counts: "CHAOS_COUNTS", needs: built,
			run: "bin/chaos -program bin/mcpedge-ci -duration 10s",
		},
		{name: "check", sets: lands, cores: 1.4, within: 15 * time.Minute, needs: built, run: "bin/check -beside-test"},
		{name: "test", sets: lands, cores: 1, within: 20 * time.Minute, after: []string{"check"}, run: "make --no-print-directory test TESTFLAGS=-vet=off"},
		library("python", 0.5),
		{
			name: "attack-minute", sets: lands, cores: 0.4, within: 12 * time.Minute, counts: "ATTACK_COUNTS", needs: built,
			run: "bin/attack -edge bin/mcpedge-ci -silent=false -duration 2s -only " +
				"items-plain,arguments-twice,bodies-http,connections,slowloris,requests,cancels,smuggling,rebinding,forged,backend-messages," +
				"http2-reset,http2-hpack,http2-window,sessions-info,parked,race,redis-dead,schema,tokens," +
				"vars-spelled,complete-denied,client-names,header-names,tasks-rights,asks-again,listens-revoked," +
				"replicas/,h2/",
		},
		library("java", 0.6),
		library("typescript", 0.5),
		library("rust", 1),
		{name: "bare", sets: lands, cores: 1, within: 20 * time.Minute, after: []string{"check"}, run: "tools/bare.sh"},
		{name: "lint", sets: lands, cores: 1, within: 20 * time.Minute, counts: "LINT_COUNTS", after: []string{"check"}, run: "tools/lint.sh"},
		{
			name: "clients", sets: lands, cores: 0.6, within: 15 * time.Minute, counts: "INTEROP_COUNTS", needs: built,
			run: taken + "bin/interop -only python,typescript-v1,mcp-go",
		},
		{name: "conformance", sets: lands, cores: 0.4, within: 12 * time.Minute, counts: "CONFORMANCE_COUNTS", needs: built, run: taken + "bin/conformance"},
		{
			name: "conformance-replicas", sets: lands, cores: 0.4, within: 12 * time.Minute, counts: "CONFORMANCE_COUNTS", needs: built, after: []string{"conformance"},
			run: taken + "bin/conformance -url '' -replicas 3",
		},
		{
			name: "chart", sets: lands, cores: 0.8, within: 20 * time.Minute, needs: built,
			// Go does not repeat a download that fails.
			run: `export MCPEDGE_BINARY="$PWD/bin/mcpedge-ci" GOTEST_NEEDS=redis-server
cd ` + suites + `chart
go list -deps -test ./... >/dev/null || { echo 'downloading modules once more'; sleep 5; go list -deps -test ./... >/dev/null; }
go vet ./...
../../../bin/gotest -count=1 -vet=off -timeout=10m ./...`,
		},
	}
}

// library returns the stage with the checks of a capability library and the suite that all
// libraries share.
func library(language string, cores float64) stage {
	return stage{
		name: "sdk-" + language, sets: lands, cores: cores, within: 20 * time.Minute, counts: "SDK_COUNTS", needs: built,
		run: `export MCPEDGE_PROGRAM="$PWD/bin/mcpedge-ci" CAPABILITY_TEST="$PWD/bin/capability.test"` + "\ntools/sdk.sh " + language + " checks shared",
	}
}
