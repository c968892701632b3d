package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(await.Leaks(m)) }

func start(t *testing.T, o Options) *capabilitytest.Client {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	o.Now = func() time.Time { return time.Date(2026, time.July, 28, 12, 0, 0, 0, time.UTC) }
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return capabilitytest.Start(t, s)
}

func timed(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), await.Patience)
	t.Cleanup(cancel)
	return ctx
}

// write writes a file as a whole: the service has the text before or this one, and never an empty file.
func write(t *testing.T, path, text string) {
	t.Helper()
	hidden := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := os.WriteFile(hidden, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(hidden, path); err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, c *capabilitytest.Client) []*mcpedgev1.Resource {
	t.Helper()
	got, err := c.Resources.ListResources(timed(t), &mcpedgev1.ListResourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return got.GetResources()
}

func read(t *testing.T, c *capabilitytest.Client, uri string) *capabilitytest.Outcome[mcpedgev1.ReadResourceResult] {
	t.Helper()
	out, err := c.ReadResource(timed(t), uri)
	if err != nil {
		t.Fatalf("%s: %v", uri, err)
	}
	return out
}

func TestListedResourcesAreReadable(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a file, 50% ü#?.md"), "# A")
	write(t, filepath.Join(dir, "picture"), "\x89PNG\r\n\x1a\n")
	for name, o := range map[string]Options{"bundled": {}, "directory": {Dir: dir}} {
		c := start(t, o)
		resources := list(t, c)
		if len(resources) < 2 {
			t.Errorf("%s: %d resources", name, len(resources))
		}
		for _, r := range resources {
			out := read(t, c, r.GetUri())
			contents := out.Result.GetContents()
			if len(contents) != 1 || contents[0].GetUri() != r.GetUri() || contents[0].GetMimeType() == "" || contents[0].GetBody() == nil {
				t.Errorf("%s: %s: %v, failure %v", name, r.GetUri(), contents, out.Failure)
			}
		}
	}
}

func TestTextAndBlob(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.png"), "not really")
	write(t, filepath.Join(dir, "a.svg"), "<svg/>")
	write(t, filepath.Join(dir, "data"), "\x00\x01")
	write(t, filepath.Join(dir, "big"), strings.Repeat("x", 100))
	c := start(t, Options{Dir: dir, MaxBytes: 99})
	base := fileURI(dir) + "/"
	for name, want := range map[string]string{
		"a.png": "image/png blob", "a.svg": "image/svg+xml text", "data": "application/octet-stream blob",
	} {
		contents := read(t, c, base+name).Result.GetContents()[0]
		kind := "text"
		if _, ok := contents.GetBody().(*mcpedgev1.ResourceContents_Blob); ok {
			kind = "blob"
		}
		if got := contents.GetMimeType() + " " + kind; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if f := read(t, c, base+"big").Failure; f.GetReason() != capability.FailedPrecondition || !strings.Contains(f.GetMessage(), "has 100 bytes, above the limit of 99") {
		t.Errorf("a large file: %v", f)
	}
}

func TestNoURILeavesTheDirectory(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "dir")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(parent, "secret"), "secret")
	write(t, filepath.Join(dir, ".hidden"), "hidden")
	write(t, filepath.Join(dir, "sub", "a"), "A")
	if err := os.Symlink(filepath.Join(parent, "secret"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	c := start(t, Options{Dir: dir})
	base := fileURI(dir)
	for _, uri := range []string{
		base + "/../secret", base + "/%2e%2e/secret", base + "/..%2fsecret", base + "/%2e%2e%2fsecret", base + "/sub/../../secret",
		base + "/link", base + "/.hidden", base + "/%2ehidden", base + "//secret", base + "/" + parent + "/secret", base + "/sub%2Fa",
		base + "/", base, base + "/sub", base + "/sub/a?x", base + "/sub/a#x", base + "/%00", base + "/%zz", base + `/..\secret`,
		fileURI(filepath.Join(parent, "secret")), "file:///etc/passwd", "file://localhost" + parent + "/secret", "file:secret", base + "x/secret",
	} {
		if out := read(t, c, uri); out.Failure.GetReason() != capability.NotFound {
			t.Errorf("%s: %v", uri, out)
		}
	}
	if out := read(t, c, base+"/sub/a"); out.Result.GetContents()[0].GetText() != "A" {
		t.Errorf("sub/a: %v", out)
	}
}

func TestBoundsAreToldAtStart(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "")
	write(t, filepath.Join(dir, "b"), "")
	for want, o := range map[string]Options{
		"more than 1":                        {Dir: dir, MaxFiles: 1},
		"no such file":                       {Dir: filepath.Join(dir, "missing")},
		"exceeds the 15728640 that fit into": {Dir: dir, MaxBytes: 16 << 20},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

// feed sends a stream's events to a channel.
func feed[M any](t *testing.T, recv func() (*M, error)) chan *M {
	t.Helper()
	events := make(chan *M, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			m, err := recv()
			if err != nil {
				return
			}
			events <- m
		}
	}()
	t.Cleanup(func() { <-done })
	return events
}

func next[M any](t *testing.T, what string, events chan *M) *M {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(await.Patience):
		t.Fatalf("%s: no event", what)
		return nil
	}
}

func TestChangesOnDiskReachTheFeeds(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	write(t, path, "1")
	c := start(t, Options{Dir: dir})
	ctx, cancel := context.WithCancel(context.Background())
	uri := fileURI(path)
	lists, err := c.Resources.WatchResources(ctx, &mcpedgev1.WatchResourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	one, err := c.Resources.WatchResource(ctx, &mcpedgev1.WatchResourceRequest{Uri: uri})
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.Resources.WatchResource(ctx, &mcpedgev1.WatchResourceRequest{Uri: fileURI(dir) + "/"})
	if err != nil {
		t.Fatal(err)
	}
	changed, updated, below := feed(t, lists.Recv), feed(t, one.Recv), feed(t, all.Recv)
	t.Cleanup(cancel)
	if next(t, "lists", changed).GetStarted() == nil || next(t, "one", updated).GetStarted() == nil || next(t, "all", below).GetStarted() == nil {
		t.Fatal("a feed did not begin with started")
	}
	write(t, path, "2")
	if got := next(t, "written", updated).GetUpdated().GetUri(); got != uri {
		t.Errorf("updated %q, want %q", got, uri)
	}
	if got := next(t, "written", below).GetUpdated().GetUri(); got != uri {
		t.Errorf("updated below %q, want %q", got, uri)
	}
	if got := read(t, c, uri).Result.GetContents()[0].GetText(); got != "2" {
		t.Errorf("read %q after the update", got)
	}
	write(t, filepath.Join(dir, "b.txt"), "new")
	if next(t, "created", changed).GetChanged() == nil {
		t.Error("the list did not change")
	}
	if got := list(t, c); len(got) != 2 || got[1].GetName() != "b.txt" || got[1].GetMimeType() != "text/plain" {
		t.Errorf("listed %v", got)
	}
}

func TestTemplates(t *testing.T) {
	c := start(t, Options{})
	for uri, want := range map[string]string{
		"weather://forecast/Barcelona/2026-07-28":        `"city": "Barcelona"`,
		"weather://forecast/New%20York/2026-01-01":       `"date": "2026-01-01"`,
		"weather://forecast/S%C3%A3o%20Paulo/2026-01-01": `"city": "São Paulo"`,
		"travel://flights/ZRH/Barcelona":                 `"origin": "Zurich"`,
		"calendar://events/2026":                         `"name": "New Year's Day"`,
	} {
		out := read(t, c, uri)
		text := out.Result.GetContents()[0].GetText()
		if !strings.Contains(text, want) || !json.Valid([]byte(text)) || !strings.Contains(text, "Sample data") {
			t.Errorf("%s: %q, %v", uri, text, out.Failure)
		}
		if again := read(t, c, uri).Result.GetContents()[0].GetText(); again != text {
			t.Errorf("%s answers differently the second time", uri)
		}
	}
	for uri, want := range map[string]string{
		"weather://forecast/Atlantis/2026-07-28": `no weather for "Atlantis"`,
		"weather://forecast/Rome/2026-02-30":     `date "2026-02-30"`,
		"weather://forecast/Rome":                "there is no resource",
		"travel://flights/ZRH/ZRH":               "both Zurich",
		"travel://flights/ZRH/X":                 `destination "X" is not known`,
		"calendar://events/soon":                 `year "soon"`,
		"calendar://events/0":                    `year "0"`,
	} {
		if f := read(t, c, uri).Failure; f.GetReason() != capability.NotFound || !strings.Contains(f.GetMessage(), want) {
			t.Errorf("%s: %v, want %q", uri, f, want)
		}
	}
}

func TestCompletion(t *testing.T) {
	c := start(t, Options{})
	const weather, flights, events = "weather://forecast/{city}/{date}", "travel://flights/{origin}/{destination}", "calendar://events/{year}"
	for _, test := range []struct {
		template, argument, value string
		chosen                    map[string]string
		want                      string // values, or their beginning
	}{
		{weather, "city", "Bar", nil, "Barcelona"},
		{weather, "city", "b", nil, "Bangkok Barcelona Basel Berlin Brussels"},
		{weather, "city", "jfk", nil, "New York"},
		{weather, "city", "xyz", nil, ""},
		{weather, "date", "", nil, "2026-07-28 2026-07-29"},
		{weather, "date", "2026-08-0", nil, "2026-08-01 2026-08-02"},
		{weather, "date", "1999", nil, ""},
		{flights, "origin", "Bar", nil, "Barcelona BCN"},
		{flights, "origin", "bcn", nil, "BCN"},
		{flights, "destination", "Bar", map[string]string{"origin": "Barcelona"}, ""},
		{flights, "destination", "Bar", map[string]string{"origin": "nowhere"}, "Barcelona BCN"},
		{events, "year", "", nil, "2026 2027 2028"},
		{events, "year", "202", nil, "2026 2027 2028 2029 2025"},
	} {
		got, err := c.Resources.CompleteResourceTemplate(timed(t), &mcpedgev1.CompleteResourceTemplateRequest{
			UriTemplate: test.template, ArgumentName: test.argument, ArgumentValue: test.value, ContextArguments: test.chosen})
		values := strings.Join(got.GetValues(), " ")
		if err != nil || !strings.HasPrefix(values, test.want) || (test.want == "" && values != "") {
			t.Errorf("%s %q with %v: %q, %v; want %q", test.argument, test.value, test.chosen, values, err, test.want)
		}
	}
}

// TestDestinationsDependOnTheOrigin: suggested destinations have flights from the origin.
func TestDestinationsDependOnTheOrigin(t *testing.T) {
	c := start(t, Options{})
	suggest := func(origin string) []string {
		got, err := c.Resources.CompleteResourceTemplate(timed(t), &mcpedgev1.CompleteResourceTemplateRequest{
			UriTemplate: "travel://flights/{origin}/{destination}", ArgumentName: "destination",
			ContextArguments: map[string]string{"origin": origin}})
		if err != nil {
			t.Fatal(err)
		}
		return got.GetValues()
	}
	zurich, tokyo := suggest("Zurich"), suggest("HND")
	if len(zurich) == 0 || strings.Join(zurich, " ") == strings.Join(tokyo, " ") {
		t.Fatalf("from Zurich %q, from Tokyo %q", zurich, tokyo)
	}
	for _, destination := range zurich {
		text := read(t, c, "travel://flights/Zurich/"+strings.ReplaceAll(strings.ReplaceAll(destination, " ", "%20"), "ã", "%C3%A3")).Result.GetContents()[0].GetText()
		if !strings.Contains(text, `"number"`) {
			t.Errorf("no flights from Zurich to %s: %s", destination, text)
		}
	}
}
