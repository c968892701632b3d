package catalog

import (
	"log/slog"
	"testing"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// TestSumsAreKept: a view has the digests of those entries of the previous view that show the same, and makes those of others anew.
func TestSumsAreKept(t *testing.T) {
	report := &reporter{log: slog.New(slog.DiscardHandler)}
	schema := `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`
	tools := []*pb.Tool{{Name: "same", InputSchemaJson: schema}, {Name: "named", InputSchemaJson: schema}}
	prompts, resources, templates := []*pb.Prompt{{Name: "same"}}, []*pb.Resource{{Uri: "x://same", Name: "n"}}, []*pb.ResourceTemplate{{UriTemplate: "y://{same}", Name: "n"}}
	with := func(digest uint64, more ...*pb.Tool) *backend.Catalog {
		return &backend.Catalog{
			Present: true, HasTools: true, HasPrompts: true, HasResources: true, Digest: mcp.Digest{Tools: digest, Resources: digest, Prompts: digest},
			Tools: append(more, tools...), Prompts: prompts, Resources: resources, Templates: templates,
		}
	}
	one, own := with(1), with(2, &pb.Tool{Name: "mine", InputSchemaJson: schema})
	pool, err := backend.NewPool([]backend.Config{{Name: "b", Target: "127.0.0.1:1"}}, backend.Options{Logger: report.log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	b := pool.Backends()[0]
	form := showOptions{overlay: overlay.New(overlay.Entries{})}
	first := newView([]part{{Backend: b, Catalog: one}}, nil, report, form)
	first.Digest()
	second := newView([]part{{Backend: b, Catalog: own}}, first, report, form)
	sums := func(v *View) map[string]*entrySum {
		out := map[string]*entrySum{}
		for _, l := range []*list{v.Tools.List, v.Prompts.List, v.Resources.List, v.Resources.TemplateList} {
			for _, e := range l.Entries {
				out[l.kind.String()+" "+e.key] = e.sum
			}
		}
		return out
	}
	before, after := sums(first), sums(second)
	if len(after) != 6 {
		t.Fatalf("it has %d entries", len(after))
	}
	for key, sum := range before {
		if after[key] != sum {
			t.Errorf("%s: the digest is made again", key)
		}
	}
	renamed := showOptions{overlay: overlay.New(overlay.Entries{Tools: []overlay.Entry{{Backend: "b", Names: pattern.New("named"), Description: "Other."}}})}
	third := newView([]part{{Backend: b, Catalog: own}}, second, report, renamed)
	if now := sums(third); now["tools/list named"] == before["tools/list named"] || now["tools/list same"] != before["tools/list same"] {
		t.Error("the digest of a changed tool is kept, or that of another one is not")
	}
	if third.Digest() == second.Digest() {
		t.Error("the digest of the lists is the same")
	}
}
