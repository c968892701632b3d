package e2e

import (
	"context"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// mostOnTheWay bounds the packages that a call passes.
const mostOnTheWay = 9

// TestWayOfACall bounds how many packages a call passes on its way to gRPC, as its goroutine has them on the stack while the backend
// serves it: what somebody reads who follows a request.
func TestWayOfACall(t *testing.T) {
	harness.OneProcess(t) // its stacks
	var stacks atomic.Value
	s := capability.New("way", "1.0.0")
	capability.AddTool(s, "look", "Looks at the stacks of the process", func(context.Context, *capability.Call, struct{}) (string, error) {
		all := make([]byte, 4<<20)
		stacks.Store(string(all[:runtime.Stack(all, true)]))
		return "done", nil
	})
	e := startEdge(t, only(startService(t, s)))
	calls := map[string]func(){
		"2026-07-28": func() { newStateless(t, e.URL).call("look", "{}").want(200) },
		"2025-11-25": func() { newSession(t, e.URL, vNov).call("look", "{}").want(200) },
	}
	for version, call := range calls {
		call()
		if got := packagesOnTheWay(stacks.Load().(string)); len(got) == 0 || len(got) > mostOnTheWay {
			t.Errorf("a call of %s passes %d packages, at most %d are wanted: %s", version, len(got), mostOnTheWay, strings.Join(got, ", "))
		} else {
			t.Logf("%s: %s", version, strings.Join(got, ", "))
		}
	}
}

var edgePackage = regexp.MustCompile(`(?m)^github\.com/mcpedge/mcpedge/((?:edge|internal)/[^.(]*)\.`)

// packagesOnTheWay returns the edge's packages on the stack of the goroutine that waits for a tool's backend.
func packagesOnTheWay(stacks string) []string {
	for goroutine := range strings.SplitSeq(stacks, "\n\n") {
		if !strings.Contains(goroutine, "mcpedge/edge/dispatch.") || !strings.Contains(goroutine, "google.golang.org/grpc.") {
			continue
		}
		var names []string
		for _, m := range edgePackage.FindAllStringSubmatch(goroutine, -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	return nil
}
