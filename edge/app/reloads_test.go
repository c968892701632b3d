package app

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

var reloads = flag.Int("reloads", 36, "how often TestReloadsUnderLoad changes the settings")

// caller is a client with a key of its own, which counts the changes of the list of tools that it is sent.
type caller struct {
	*sdk.ClientSession
	changes atomic.Int64
	want    int64
}

// keyed sends an API key with each request.
type keyed struct{ key string }

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return http.DefaultTransport.RoundTrip(r)
}

func connectAs(t *testing.T, url, key string) *caller {
	t.Helper()
	c := &caller{}
	client := sdk.NewClient(&sdk.Implementation{Name: key, Version: "1"}, &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { c.changes.Add(1) },
	})
	var err error
	transport := &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: keyed{key}}}
	if c.ClientSession, err = client.Connect(t.Context(), transport, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// serveTools starts a backend with tools that return their names.
func serveTools(t *testing.T, name string, tools ...string) string {
	t.Helper()
	s := capability.New(name, "1")
	for _, tool := range tools {
		capability.AddTool(s, tool, "Returns its name", func(context.Context, *capability.Call, struct{}) (string, error) { return tool, nil })
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := await.Receive(t, "the backend to stop", ended); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// turn is the state of the settings that TestReloadsUnderLoad changes.
type turn struct {
	title, inner, rate, comment int
	more, swing                 bool
}

func (s turn) text(first, second, keys string) string {
	out := fmt.Sprintf("# %d\nlisten: {address: '127.0.0.1:0', public-url: http://edge.test}\nadmin: {address: '127.0.0.1:0'}\nauth: {api-keys: %s}\n", s.comment, keys)
	out += fmt.Sprintf("backends:\n- {name: first, target: %q}\n", first)
	if s.more {
		out += fmt.Sprintf("- {name: second, target: %q, prefix: more_}\n", second)
	}
	out += fmt.Sprintf("catalog:\n  tools:\n  - {backend: first, tool: all, title: Title %d}\n  - {backend: first, tool: inner, description: Text %d}\n", s.title, s.inner)
	out += fmt.Sprintf("quotas: [{per: tool, rate: %d/1s, burst: 100000}]\n", 100000+s.rate)
	out += "policy:\n  default: allow\n  rules:\n  - {name: inner, when: 'tool.name == \"inner\" && !(\"dev\" in principal.roles)', then: hide}\n"
	if s.swing {
		out += "  - {name: swing, when: 'tool.name == \"swing\" && \"dev\" in principal.roles', then: hide}\n"
	}
	return out
}

// Settings change all the time, of every kind, while two callers call: no call fails, each is sent a change for each change of its own
// list and for nothing else, and nothing of an earlier generation stays.
func TestReloadsUnderLoad(t *testing.T) {
	dir := t.TempDir()
	keys, file := filepath.Join(dir, "keys.yaml"), filepath.Join(dir, "edge.yaml")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(keys, fmt.Sprintf("- {name: ann, sha256: %x, roles: [dev]}\n- {name: bob, sha256: %x}\n", sha256.Sum256([]byte("ann-key")), sha256.Sum256([]byte("bob-key"))))
	first, second := serveTools(t, "first", "all", "inner", "swing"), serveTools(t, "second", "tool")
	var now turn
	write(file, now.text(first, second, keys))
	cfg, err := config.Load("serve", []string{"--config", file}, func(string) (string, bool) { return "", false }, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended, endpoint := make(chan error, 1), make(chan string, 1)
	go func() { ended <- a.Run(ctx, func(url string) { endpoint <- url }) }()
	url := await.Receive(t, "the edge to serve", endpoint)
	ann, bob := connectAs(t, url, "ann-key"), connectAs(t, url, "bob-key")

	var load sync.WaitGroup
	var calls atomic.Int64
	calling, rest := context.WithCancel(t.Context())
	for _, c := range []*caller{ann, bob} {
		load.Go(func() {
			for calling.Err() == nil {
				r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "all"})
				if err != nil || r.IsError {
					t.Errorf("a call failed: %v, %+v", err, r)
					return
				}
				calls.Add(1)
			}
		})
	}
	var goroutines int
	for i := range *reloads {
		if i == len(changesOfSettings) {
			goroutines = runtime.NumGoroutine()
		}
		change := changesOfSettings[i%len(changesOfSettings)]
		forAnn, forBob := change.do(&now)
		ann.want, bob.want = ann.want+forAnn, bob.want+forBob
		write(file, now.text(first, second, keys))
		for range 2 {
			a.refreshSettings(t.Context())
		}
		await.Until(t, fmt.Sprintf("the changes of reload %d, %s", i, change.what), func() bool {
			return ann.changes.Load() >= ann.want && bob.changes.Load() >= bob.want
		})
		before := calls.Load()
		await.Until(t, "other calls", func() bool { return calls.Load() >= before+4 || t.Failed() })
		if ann.changes.Load() != ann.want || bob.changes.Load() != bob.want || t.Failed() {
			t.Fatalf("after reload %d, %s: ann was sent %d changes, want %d, bob %d, want %d", i, change.what, ann.changes.Load(), ann.want, bob.changes.Load(), bob.want)
		}
	}
	if *reloads > 2*len(changesOfSettings) {
		await.Until(t, "the goroutines of earlier generations to end", func() bool { return runtime.NumGoroutine() <= goroutines+8 })
	}
	if status := a.settings.status.Load(); status.Unusable != nil || status.Generation < int64(*reloads)*4/5 {
		t.Errorf("after %d reloads the status is %+v", *reloads, status)
	}
	rest()
	load.Wait()
	for c, want := range map[*caller][]string{ann: {"all", "inner", "swing"}, bob: {"all", "swing"}} {
		if now.more {
			want = append(want, "more_tool")
		}
		if now.swing && c == ann {
			want = slices.DeleteFunc(want, func(s string) bool { return s == "swing" })
		}
		var got []string
		for tool, err := range c.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, tool.Name)
		}
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("the tools are %q, want %q", got, want)
		}
		_ = c.Close()
	}
	t.Logf("%d reloads, %d calls", *reloads, calls.Load())
	stop()
	if err := await.Receive(t, "the edge to stop", ended); err != nil {
		t.Error(err)
	}
}

// changesOfSettings are the kinds of changes, each with how many changes of their lists ann and bob are sent.
var changesOfSettings = []struct {
	what string
	do   func(*turn) (ann, bob int64)
}{
	{"a title for both", func(s *turn) (int64, int64) { s.title++; return 1, 1 }},
	{"a description of a tool that one sees", func(s *turn) (int64, int64) { s.inner++; return 1, 0 }},
	{"a quota", func(s *turn) (int64, int64) { s.rate++; return 0, 0 }},
	{"a comment", func(s *turn) (int64, int64) { s.comment++; return 0, 0 }},
	{"a backend more or less", func(s *turn) (int64, int64) { s.more = !s.more; return 1, 1 }},
	{"a rule about a tool that one has", func(s *turn) (int64, int64) { s.swing = !s.swing; return 1, 0 }},
}
