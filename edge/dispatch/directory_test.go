package dispatch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// TestDirectoriesAreTheirBackends: a backend does not show what belongs to another one as a child of its directory.
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
	if want := "skill://one/SKILL.md skill://one/sub docs://FIRST/a file:///own skill://one/sub/x"; strings.Join(shown, " ") != want {
		t.Errorf("%q, want %q", shown, want)
	}
}

// TestDirectoryCursors: a cursor is good for the directory and the caller that it was given for, and for nothing else.
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
	const refused = "was not given out for this directory"
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
