package dispatch

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/policy/external"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// asking returns an access.Control with rules and a policy server.
func asking(t *testing.T, s policy.Settings) (*access.Control, *authorizer.Server) {
	t.Helper()
	pdp := authorizer.Serve(t)
	client, err := external.New(external.Options{Target: pdp.Addr, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	p, err := policy.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return access.New(access.Options{Policy: p, External: client}), pdp
}

// The policy server decides on a watch of a missing or hidden resource when the watch is requested,
// since the resource may appear later.
func TestPolicyServerDecidesOnWatchesOfTheUnknown(t *testing.T) {
	c, pdp := asking(t, policy.Settings{Default: policy.Allow, Rules: []policy.Rule{{
		Name: "hidden", Then: policy.Hide, When: `resource.uri == "docs://two"`,
	}}})
	d := start(t, Options{Access: by(c)}, &fake{name: "a", resources: []*pb.Resource{{Uri: "docs://one", Name: "one"}, {Uri: "docs://two", Name: "two"}}})
	for _, version := range []string{legacy, modern} {
		var denials []string
		for _, uri := range []string{"docs://one", "docs://two", "docs://none"} {
			call := request(t, mcp.MethodSubscribe, `{"uri":"`+uri+`"}`)
			pdp.SetDecide(authorizer.Allow)
			if _, err := d.Call(t.Context(), rules(t, version), call, nil); err != nil {
				t.Errorf("%s, %s, allowed: %v", version, uri, err)
			}
			pdp.SetDecide(authorizer.Deny("never"))
			_, err := d.Call(t.Context(), rules(t, version), call, nil)
			if kindOf(t, err) != mcp.KindForbidden {
				t.Errorf("%s, %s, denied: %v", version, uri, err)
				continue
			}
			denials = append(denials, seenBy(err, uri))
			if n := len(pdp.Asked()); n != 2 {
				t.Errorf("%s, %s: the server is asked %d times, want 2", version, uri, n)
			}
			if _, err := d.Resolve(t.Context(), rules(t, version), call); err != nil || len(pdp.Asked()) != 0 {
				t.Errorf("%s, %s: it is asked before it is due: %v", version, uri, err)
			}
		}
		for _, text := range denials {
			if text != denials[0] {
				t.Errorf("%s: denials distinguish what is there: %s", version, strings.Join(denials, "; "))
			}
		}
	}
}

// A watch that was allowed before its resource existed opens with the resource, without another
// request to the policy server.
func TestWatchesOfTheUnknownAreAskedAboutOnce(t *testing.T) {
	f := &fake{name: "a", describe: &pb.DescribeResponse{Resources: &pb.ResourceFeatures{Subscribe: true}}, resources: []*pb.Resource{{Uri: "docs://two", Name: "two"}}}
	c, pdp := asking(t, policy.Settings{Default: policy.Allow})
	d := start(t, Options{Access: by(c)}, f)
	if _, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodSubscribe, `{"uri":"docs://one"}`), nil); err != nil {
		t.Fatal(err)
	}
	feed, err := d.Changes(t.Context(), "", mcp.Principal{}, mcp.Filter{URIs: []string{"docs://one"}})
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	f.change(func() { f.resources = append(f.resources, &pb.Resource{Uri: "docs://one", Name: "one"}) })
	await.Until(t, "the watch to open", func() bool { return len(feed.Honoured().URIs) == 1 })
	for range 3 {
		f.update(t, "docs://one", "docs://one")
		if changes, err := feed.Next(t.Context(), await.Patience); err != nil || len(changes) == 0 {
			t.Fatalf("%v, %v", changes, err)
		}
	}
	if n := len(pdp.Asked()); n != 1 {
		t.Errorf("the server was asked %d times, want once", n)
	}
}
