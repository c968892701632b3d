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

// stages is the table of all stages, in order of preference: stages that others wait for and long
// ones first. Since stages run concurrently, each builds into bin/ under a name of its own.
var stages = slices.Concat([]stage{{
	name: "programs", sets: both, cores: 2, within: 15 * time.Minute,
	run: `mkdir -p bin
go build -C tools -o ../bin/ ./gotest ./check
go build -o bin/ ` + programs + `{attack,chaos,conformance,examples,interop}
go build -o bin/mcpedge-ci ./edge
go build -o bin/services-ci/ ./services/...
ln -f bin/mcpedge-ci bin/services-ci/edge
go test -c -vet=off -o bin/capability.test ` + suites + `capability
echo "$(ls bin/{attack,chaos,check,conformance,examples,gotest,interop,mcpedge-ci} | wc -l) 0" >"$GOTEST_COUNTS"`,
}}, landed(), nightlies(), manual())

// landed returns the stages that decide whether a change lands.
func landed() []stage {
	return []stage{
		{name: "check", sets: lands, cores: 2, within: 15 * time.Minute, needs: built, run: "bin/check -beside-test"},
		{name: "conformance", sets: lands, cores: 0.5, within: 12 * time.Minute, counts: "CONFORMANCE_COUNTS", needs: built, run: taken + "bin/conformance"},
		{name: "test", sets: lands, cores: 1, within: 20 * time.Minute, after: []string{"check"}, run: "make --no-print-directory test TESTFLAGS=-vet=off"},
		{name: "lint", sets: lands, cores: 1, within: 20 * time.Minute, counts: "LINT_COUNTS", after: []string{"check"}, run: "tools/lint.sh"},
		library("rust", 1),
		{name: "bare", sets: lands, cores: 1, within: 20 * time.Minute, after: []string{"check"}, run: "tools/bare.sh"},
		library("java", 1),
		library("python", 0.5),
		library("typescript", 0.5),
		{
			name: "conformance-replicas", sets: lands, cores: 0.5, within: 12 * time.Minute, counts: "CONFORMANCE_COUNTS", needs: built, after: []string{"conformance"},
			run: taken + "bin/conformance -url '' -replicas 3",
		},
		{
			name: "clients", sets: lands, cores: 0.5, within: 15 * time.Minute, counts: "INTEROP_COUNTS", needs: built,
			run: taken + "bin/interop -only python,typescript-v1,mcp-go",
		},
		{
			name: "attack-minute", sets: lands, cores: 0.5, within: 12 * time.Minute, counts: "ATTACK_COUNTS", needs: built,
			run: "bin/attack -edge bin/mcpedge-ci -silent=false -duration 2s -only " +
				"items-plain,arguments-twice,bodies-http,connections,slowloris,requests,cancels,smuggling,rebinding,forged,backend-messages," +
				"http2-reset,http2-hpack,http2-window,sessions-info,parked,race,redis-dead,schema,tokens," +
				"vars-spelled,complete-denied,client-names,header-names,tasks-rights,asks-again,listens-revoked," +
				"replicas/,h2/",
		},
		{
			// It uses all cores, as it measures how long streams are silent.
			name: "chaos-minute", sets: lands, cores: 2, within: 12 * time.Minute, counts: "CHAOS_COUNTS", needs: built,
			run: "bin/chaos -program bin/mcpedge-ci -duration 10s",
		},
		{
			name: "chart", sets: lands, cores: 0.8, within: 20 * time.Minute, needs: built,
			run: `export MCPEDGE_BINARY="$PWD/bin/mcpedge-ci" GOTEST_NEEDS=redis-server
cd ` + suites + `chart
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
