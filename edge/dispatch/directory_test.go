package dispatch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// TestDirectoriesAreTheirBackends: a backend cannot show another backend's resource as a child of
// its directory.
func TestDirectoriesAreTheirBackends(t *testing.T) {
	first := &fake{
		name: "first", resources: []*pb.Resource{{Uri: "file:///listed", Name: "l"}},
		describe: &pb.DescribeResponse{Resources: &pb.ResourceFeatures{UriPrefixes: []string{"docs://first/"}}},
	}
	second := skilled("second", true, "skill://one/SKILL.md")
	for _, uri := range []string{"file:///listed", "docs://first/secret", "docs://FIRST/a", "file:///own", "skill://one/sub/x"} {
		second.children = append(second.children, &pb.Resource{Uri: uri, Name: "child"})
	}
	d := start(t, Options{}, first, second)
	shown := directory(t, d)
	if want := "skill://one/SKILL.md skill://one/sub docs://FIRST/a file:///own skill://one/sub/x"; shown != want {
		t.Errorf("%q, want %q", shown, want)
	}
}

// Children are validated and counted as the entries of a list are.
func TestDirectoriesAreValidated(t *testing.T) {
	f := skilled("one", true, "skill://one/SKILL.md")
	f.children = []*pb.Resource{
		{Uri: "file:///good", Name: "c"}, {Uri: "file:///good", Name: "again"}, {Uri: "file:///" + strings.Repeat("a", uris.MaxBytes), Name: "c"},
		{Uri: "file:///nameless"}, {Name: "c"}, {Uri: "a/b", Name: "c"}, {Uri: "file:///a\nb", Name: "c"}, {Uri: "file:///100%", Name: "c"},
	}
	d := start(t, Options{}, f)
	want := "skill://one/SKILL.md skill://one/sub file:///good"
	if got := directory(t, d); got != want {
		t.Errorf("%.300q, want %q", got, want)
	}
	f.children = nil
	for i := range backend.MaxEntries {
		f.children = append(f.children, &pb.Resource{Uri: fmt.Sprint("file:///", i), Name: "c"})
	}
	if got := ask(t, d, mcp.MethodDirectoryRead, `{"uri":"skill://one"}`); !strings.Contains(got, "10002 entries in one page") {
		t.Errorf("more children than a list may have entries: %.200s", got)
	}
}

// The comparison of children with templates and entries is bounded: beyond the bound they are left
// out.
func TestDirectoriesAreComparedWithinABound(t *testing.T) {
	long := "x:" + strings.Repeat(`a/../%2e%2e/b%2F../`, uris.MaxBytes/20)
	for name, options := range map[string]Options{
		"by the catalog": {Catalog: catalog.Options{Overlay: overlay.New(overlay.Entries{Resources: hiding("y:secret")})}},
		"by the policy":  {Access: decider(t, policy.Settings{Default: policy.Allow, Rules: []policy.Rule{{Name: "r", When: `has(resource.vars.none)`, Then: policy.Hide}}})},
	} {
		t.Run(name, func(t *testing.T) {
			f := skilled("one", true, "skill://one/SKILL.md")
			for i := range 15 {
				text := "x:"
				for v := range uris.MaxVariables {
					text += fmt.Sprintf("{+a%d_%d}", i, v)
				}
				f.templates = append(f.templates, &pb.ResourceTemplate{UriTemplate: text, Name: "t"})
			}
			f.children = []*pb.Resource{{Uri: "x:short", Name: "c"}}
			for i := range 100 {
				f.children = append(f.children, &pb.Resource{Uri: long + fmt.Sprint(i), Name: "c"})
			}
			d := start(t, options, f)
			want := "skill://one/SKILL.md skill://one/sub x:short"
			if got := directory(t, d); got != want {
				t.Errorf("%.300q, want %q", got, want)
			}
			f.children = f.children[:2]
			if got := directory(t, d); got != want+" "+long+"0" {
				t.Errorf("of a small directory: %.300q", got)
			}
		})
	}
}

// directory returns the URIs in the directory skill://one, separated by spaces.
func directory(t *testing.T, d *Dispatch) string {
	t.Helper()
	var got struct {
		Resources []struct{ URI string }
	}
	if err := json.Unmarshal([]byte(ask(t, d, mcp.MethodDirectoryRead, `{"uri":"skill://one"}`)), &got); err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, r := range got.Resources {
		shown = append(shown, r.URI)
	}
	return strings.Join(shown, " ")
}

// TestDirectoryCursors: a cursor is valid only for the directory and the caller for which it was
// issued.
func TestDirectoryCursors(t *testing.T) {
	d := start(t, Options{}, skilled("a", true, "skill://one/SKILL.md", "skill://two/SKILL.md"))
	read := func(who, uri, cursor string) string {
		call := request(t, mcp.MethodDirectoryRead, `{"uri":"`+uri+`"`+cursor+`}`)
		call.Principal = mcp.Principal{Issuer: "https://id", Subject: who}
		reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
		if err != nil {
			return mcp.AsError(err).Message
		}
		var page struct{ NextCursor string }
		if err := json.Unmarshal(reply.Result, &page); err != nil {
			t.Fatal(err)
		}
		return page.NextCursor
	}
	next := read("ann", "skill://one", "")
	if then := read("ann", "skill://one", `,"cursor":"`+next+`"`); then == "" || then == next || strings.Contains(then, " ") {
		t.Errorf("the second page: %q", then)
	}
	const refused = "was not issued for this directory"
	for name, got := range map[string]string{
		"another directory":    read("ann", "skill://two", `,"cursor":"`+next+`"`),
		"another caller":       read("bob", "skill://one", `,"cursor":"`+next+`"`),
		"the backend's token":  read("ann", "skill://one", `,"cursor":"after "`),
		"a bit that is wrong":  read("ann", "skill://one", `,"cursor":"A`+next[1:]+`"`),
		"an empty one":         read("ann", "skill://one", `,"cursor":""`),
		"a number":             read("ann", "skill://one", `,"cursor":7`),
		"less than a checksum": read("ann", "skill://one", `,"cursor":"AAAA"`),
	} {
		if !strings.Contains(got, refused) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
