package dispatch

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Clients see exactly the extensions that the edge forwards unchanged, of all backends, in every
// revision.
func TestExtensionsOfSeveralBackends(t *testing.T) {
	var log lockedBuffer
	describe := func(settings map[string]string) *pb.DescribeResponse {
		return &pb.DescribeResponse{ExtensionsJson: settings}
	}
	a := &fake{name: "a", describe: describe(map[string]string{
		"com.example/calls": `{"methods":["example/do"]}`, "io.modelcontextprotocol/tasks": `{}`,
	})}
	b := &fake{name: "b", carried: []string{"com.example/data"}, describe: describe(map[string]string{
		"io.modelcontextprotocol/ui": `{}`, "com.example/data": `{"v": 1}`,
	})}
	// c has the same extension as b, but its configuration does not forward it.
	c := &fake{name: "c", describe: describe(map[string]string{"io.modelcontextprotocol/ui": `{}`, "com.example/data": `{"v":2}`})}
	d := start(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, a, b, c)
	for _, r := range revision.All() {
		got := string(d.catalog.Describe(t.Context(), r, "", mcp.Principal{}).Capabilities)
		want := `,"extensions":{"com.example/data":{"v":1},"io.modelcontextprotocol/ui":{}}}`
		if !r.Extensions {
			want = `}`
		}
		if !strings.HasSuffix(got, want) || strings.Contains(got, "example/calls") || strings.Contains(got, "tasks") || strings.Contains(got, "experimental") {
			t.Errorf("%s: %s", r.Version, got)
		}
	}
	if got := d.Catalog().Conflicts(); len(got) > 0 {
		t.Errorf("what is not carried is no conflict: %v", got)
	}
	for _, want := range []string{"io.modelcontextprotocol/tasks", "com.example/calls", "com.example/data"} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("%s is named %d times in the log: %s", want, n, log.String())
		}
	}
}
