package capability_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// notes is a provider of "note://" with one note per name.
type notes struct {
	names   []string
	watches chan string // "begin" and "end"
	updated func(uri string)
}

func (n *notes) List(context.Context) ([]*capability.Resource, error) {
	var all []*capability.Resource
	for _, name := range n.names {
		all = append(all, &capability.Resource{Uri: "note://" + name, Name: name})
	}
	return all, nil
}

func (n *notes) Read(_ context.Context, _ *capability.Call, uri string) ([]*capability.ResourceContents, error) {
	switch uri {
	case "note://secret":
		return nil, fmt.Errorf("open: %w", fs.ErrPermission)
	case "note://gone":
		return nil, nil
	case "note://missing":
		return nil, fmt.Errorf("open /private/path: %w", fs.ErrNotExist)
	case "note://panic":
		panic("boom")
	}
	return []*capability.ResourceContents{capability.TextContents("", "", "note")}, nil
}

func (n *notes) Watch(updated func(string), _ func()) (func(), error) {
	n.updated = updated
	n.watches <- "begin"
	return func() { n.watches <- "end" }, nil
}

func library(n *notes) *capability.Server {
	s := capability.New("library", "1", capability.WithListCache(time.Minute, true),
		capability.WithLogger(slog.New(slog.DiscardHandler)))
	capability.AddResource(s, &capability.Resource{Uri: "file:///readme", Name: "readme", MimeType: "text/plain"},
		func(_ context.Context, c *capability.Call, _ string) (string, error) {
			c.SetCache(time.Second, false)
			return "read me", nil
		})
	capability.AddResource(s, &capability.Resource{Uri: "file:///logo", Name: "logo", MimeType: "image/svg"},
		func(context.Context, *capability.Call, string) ([]byte, error) { return []byte("<svg/>"), nil })
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "weather://{city}/{day}", Name: "weather", MimeType: "text/plain"},
		func(_ context.Context, _ *capability.Call, uri string, vars map[string]string) (*capability.ResourceContents, error) {
			return capability.TextContents("", "", vars["city"]+" on "+vars["day"]), nil
		},
		capability.Suggest("city", "Oslo", "Osaka", "Rome"),
		capability.Complete("day", func(_ context.Context, _ *capability.Call, value string, chosen map[string]string) ([]string, error) {
			if value == "bad" {
				return nil, capability.Errorf(capability.InvalidArgument, "no such day")
			}
			days := make([]string, 101)
			for i := range days {
				days[i] = fmt.Sprint(chosen["city"], i)
			}
			return days, nil
		}))
	s.Provide("note://", n)
	return s
}

func TestReads(t *testing.T) {
	c := capabilitytest.Start(t, library(&notes{names: []string{"a"}}))
	text := func(uri, mime, text string) *mcpedgev1.ReadResourceResult {
		return &mcpedgev1.ReadResourceResult{Contents: []*mcpedgev1.ResourceContents{capability.TextContents(uri, mime, text)}}
	}
	readme := text("file:///readme", "text/plain", "read me")
	readme.Cache = &mcpedgev1.CacheHint{Ttl: durationpb.New(time.Second), Scope: mcpedgev1.CacheScope_CACHE_SCOPE_PRIVATE}
	for uri, want := range map[string]*mcpedgev1.ReadResourceResult{
		"file:///readme": readme,
		"file:///logo": {Contents: []*mcpedgev1.ResourceContents{
			capability.BlobContents("file:///logo", "image/svg", []byte("<svg/>"))}},
		"weather://S%C3%A3o%20Paulo/monday": text("weather://S%C3%A3o%20Paulo/monday", "text/plain", "São Paulo on monday"),
		"note://unlisted":                   text("note://unlisted", "", "note"),
	} {
		out, err := c.ReadResource(limit(t), uri)
		if err != nil {
			t.Fatalf("%s: %v", uri, err)
		}
		if diff := cmp.Diff(want, out.Result, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", uri, diff)
		}
	}
	for uri, want := range map[string]capability.Reason{
		"file:///none": capability.NotFound, "note://gone": capability.NotFound, "note://missing": capability.NotFound,
		"note://secret": capability.PermissionDenied, "note://panic": capability.Internal,
	} {
		out, err := c.ReadResource(limit(t), uri)
		if err != nil || out.Failure.GetReason() != want || strings.Contains(out.Failure.GetMessage(), "/private") {
			t.Errorf("%s: %v, %v", uri, out.Failure, err)
		}
	}
}

// Every spelling of a URI reads its resource; a resource with exactly that spelling has precedence.
func TestSpellingsOfURIs(t *testing.T) {
	s := capability.New("spelled", "1")
	add := func(uri string) {
		capability.AddResource(s, &capability.Resource{Uri: uri, Name: "n"},
			func(context.Context, *capability.Call, string) (string, error) { return "of " + uri, nil })
	}
	for _, uri := range []string{"doc://notes/café menu.txt", "doc://notes/a%2Db", "doc://notes/a%2db", "doc://notes/plain"} {
		add(uri)
	}
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "file:///docs/café/{name}", Name: "t"},
		func(_ context.Context, _ *capability.Call, _ string, vars map[string]string) (string, error) {
			return "named " + vars["name"], nil
		})
	c := capabilitytest.Start(t, s)
	reads := func(uri, want string) {
		t.Helper()
		out, err := c.ReadResource(limit(t), uri)
		switch {
		case err != nil:
			t.Errorf("%s: %v", uri, err)
		case want == "" && out.Failure.GetReason() != capability.NotFound:
			t.Errorf("%s: %v, want NOT_FOUND", uri, out)
		case want != "" && (out.Result.GetContents()[0].GetText() != want || out.Result.GetContents()[0].GetUri() != uri):
			t.Errorf("%s: %v, want %q", uri, out.Result, want)
		}
	}
	reads("doc://notes/caf%C3%A9%20menu.txt", "of doc://notes/café menu.txt")
	reads("DOC://notes/caf%c3%a9%20menu%2Etxt", "of doc://notes/café menu.txt")
	reads("doc://notes/a%2Db", "of doc://notes/a%2Db")
	reads("doc://notes/a%2db", "of doc://notes/a%2db")
	reads("doc://notes/a-b", "of doc://notes/a%2Db")
	reads("DOC://notes/%70lain", "of doc://notes/plain")
	reads("DOC://Notes/plain", "")
	reads("file:///docs/caf%C3%A9/%61%2Fb", "named a/b")
	reads("FILE:///docs/café/a", "named a")
	if !s.RemoveResource("doc://notes/a%2Db") {
		t.Error("it was not there")
	}
	reads("doc://notes/a-b", "of doc://notes/a%2db")
	add("doc://notes/a-b")
	reads("doc://notes/%61-b", "of doc://notes/a-b")
}

func TestResourceLists(t *testing.T) {
	c := capabilitytest.Start(t, library(&notes{names: []string{"a", "b"}}))
	list, err := c.Resources.ListResources(limit(t), &mcpedgev1.ListResourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var uris []string
	for _, r := range list.GetResources() {
		uris = append(uris, r.GetUri())
	}
	if diff := cmp.Diff([]string{"file:///readme", "file:///logo", "note://a", "note://b"}, uris); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if list.GetCache().GetTtl().AsDuration() != time.Minute || list.GetCache().GetScope() != mcpedgev1.CacheScope_CACHE_SCOPE_PUBLIC {
		t.Errorf("cache %v", list.GetCache())
	}
	templates, err := c.Resources.ListResourceTemplates(limit(t), &mcpedgev1.ListResourceTemplatesRequest{})
	if err != nil || len(templates.GetResourceTemplates()) != 1 {
		t.Errorf("%v, %v", templates, err)
	}
}

func TestTemplateCompletion(t *testing.T) {
	c := capabilitytest.Start(t, library(&notes{}))
	ask := func(template, argument, value string) (*mcpedgev1.CompleteResourceTemplateResponse, error) {
		return c.Resources.CompleteResourceTemplate(limit(t), &mcpedgev1.CompleteResourceTemplateRequest{
			UriTemplate: template, ArgumentName: argument, ArgumentValue: value, ContextArguments: map[string]string{"city": "Rome"}})
	}
	const weather = "weather://{city}/{day}"
	got, err := ask(weather, "city", "os")
	if err != nil || !cmp.Equal(got.GetValues(), []string{"Oslo", "Osaka"}) || got.GetTotal() != 2 || got.GetHasMore() {
		t.Errorf("%v, %v", got, err)
	}
	got, err = ask(weather, "day", "")
	if err != nil || len(got.GetValues()) != 100 || got.GetValues()[0] != "Rome0" || got.GetTotal() != 101 || !got.GetHasMore() {
		t.Errorf("%v, %v", got, err)
	}
	if got, err = ask(weather, "hour", ""); err != nil || len(got.GetValues()) != 0 {
		t.Errorf("an argument without suggestions: %v, %v", got, err)
	}
	if _, err = ask(weather, "day", "bad"); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a failure: %v", err)
	}
	if _, err = ask("other://{x}", "x", ""); status.Code(err) != codes.NotFound {
		t.Errorf("an unknown template: %v", err)
	}
}

func TestReadAsks(t *testing.T) {
	s := capability.New("ask", "1")
	capability.AddResource(s, &capability.Resource{Uri: "x://a", Name: "a"}, func(_ context.Context, c *capability.Call, _ string) (string, error) {
		c.Progress(1, 1, "")
		c.Log(capability.LevelInfo, "", "asking")
		v, err := capability.Ask[age](c, "age", "How old?")
		return fmt.Sprint(v.Years), err
	})
	c := capabilitytest.Start(t, s)
	c.Answer = func(*capability.InputRequest) *capability.InputResponse {
		return capabilitytest.Accepted(`{"years":7}`)
	}
	out, err := c.ReadResource(limit(t), "x://a")
	if err != nil || out.Result.GetContents()[0].GetText() != "7" || len(out.Progress) != 2 || len(out.Logs) != 2 {
		t.Errorf("%+v, %v", out, err)
	}
}
