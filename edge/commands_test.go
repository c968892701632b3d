package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
)

// mcpedge check tells of lists that clients get in pages, by the settings of the edge: clients are in use that read
// the first page only.
func TestCheckTellsOfPages(t *testing.T) {
	run := func(args ...string) string {
		t.Helper()
		var out strings.Builder
		if err := checkBackends(t.Context(), args, &out); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		return out.String()
	}
	many, few := "--backend=many="+manyTools(t, "m", 1001), "--backend=few="+manyTools(t, "f", 600)
	const want = `note    tools/list has 2 pages, as page-size is 1000: the first has 1000 of 1001 entries. ` +
		`Clients that read the first page alone, as some agent frameworks do, see nothing from "m1000" on: raise page-size, or serve fewer`
	if out := run(many); strings.Count(out, want) != 1 || strings.Count(out, "pages, as") != 1 {
		t.Errorf("%q is missing, or not alone, in:\n%.2000s", want, out)
	}
	if out := run(few); strings.Contains(out, "pages, as") {
		t.Errorf("one page:\n%s", out)
	}
	if out := run(few, "--page-bytes=4KiB"); !strings.Contains(out, "as page-bytes is 4096") {
		t.Errorf("the bytes of a page are not counted:\n%s", out)
	}
	out := run(few, "--backend=more="+manyTools(t, "x", 600))
	if want := "all backends together: tools/list has 2 pages, as page-size is 1000: the first has 1000 of 1200 entries"; strings.Count(out, "pages, as") != 1 || !strings.Contains(out, want) {
		t.Errorf("%q is missing, or not alone, in:\n%.2000s", want, out)
	}
}

// manyTools serves so many tools until the test ends, and returns where.
func manyTools(t *testing.T, name string, n int) string {
	t.Helper()
	s := capability.New(name, "1", capability.WithLogger(slog.New(slog.DiscardHandler)))
	for i := range n {
		capability.AddTool(s, fmt.Sprintf("%s%04d", name, i), "", func(context.Context, *capability.Call, struct{}) (string, error) { return "", nil })
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func TestTakePairs(t *testing.T) {
	calls, rest, err := takePairs("call", "NAME=JSON", []string{"--backend", "a=x:1", "--call", `t={"a":"b=c"}`, "-call=u={}", "--log-level=warn", "--call=v={}"})
	if err != nil || !slices.Equal(rest, []string{"--backend", "a=x:1", "--log-level=warn"}) ||
		!maps.Equal(calls, map[string]string{"t": `{"a":"b=c"}`, "u": "{}", "v": "{}"}) {
		t.Errorf("calls %v, rest %q, %v", calls, rest, err)
	}
	for _, bad := range [][]string{{"--call"}, {"--call", "tool"}, {"--call=={}"}} {
		if _, _, err := takePairs("call", "NAME=JSON", bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}
