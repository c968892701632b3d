package catalog

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// ShownContents returns the contents of a read without those of other URIs that a hook, the overlay
// or the set conceals. It modifies the slice.
func (t *Target) ShownContents(contents []*pb.ResourceContents) []*pb.ResourceContents {
	if !t.conceals() {
		return contents
	}
	of, named := len(contents), uris.Normal(t.URI.Sent)
	return slices.DeleteFunc(contents, func(c *pb.ResourceContents) bool {
		uri := c.GetUri()
		return uri != "" && uri != t.URI.Sent && (len(uri) > uris.MaxBytes || uris.Normal(uri) != named && t.Hides(uri, of))
	})
}

// ShownSkill returns a skill that the target's backend returned without the files that the overlay
// hides.
func (t *Target) ShownSkill(x *pb.Skill) *pb.Skill {
	return shownSkill(t.view.overlay.Resources(), t.view.skills[t.Backend], t.Backend.Name(), x, len(x.GetFiles()))
}

// ShownValues returns the suggested values of a completion without those for which the URI of the
// target's template is hidden. It modifies the slice.
func (t *Target) ShownValues(values []string) []string {
	if !t.conceals() || t.Template == nil || t.Template.parsed == nil {
		return values
	}
	of := len(values)
	return slices.DeleteFunc(values, func(value string) bool { return len(value) > uris.MaxBytes || t.hidesValue(value, of) })
}

// hidesValue reports whether the overlay hides the template's URI with a suggested value. If the
// value of another variable is unknown, the URI is hidden only if an entry hides the known part.
func (t *Target) hidesValue(value string, of int) bool {
	chosen := map[string]string{}
	maps.Copy(chosen, t.Completion.Arguments)
	chosen[t.Completion.Argument] = value
	uri := t.Template.parsed.Expand(chosen)
	for _, name := range t.Template.parsed.Variables() {
		if _, known := chosen[name]; !known {
			return hiddenByName(t.view.overlay.Resources(), t.Backend.Name(), uri, of) || t.view.excludesPart(t.Backend, uri, of)
		}
	}
	return t.Hides(uri, of)
}

// conceals reports whether a hook, the overlay or the set may conceal URIs of the target's backend.
func (t *Target) conceals() bool {
	return t.view.set != nil || t.view.overlay.Resources().About(t.Backend.Name()) || t.view.catalog(t.Backend).Withheld != nil || t.DependsOnCaller()
}

// hiddenByName reports whether an entry hides one of the forms of a URI of a backend, or the URI
// exceeds its share, see formsWithin.
func hiddenByName(entries overlay.List, backend, uri string, of int) bool {
	forms, ok := formsWithin(uri, entries.Count(backend), of)
	return !ok || slices.ContainsFunc(forms, func(form string) bool {
		_, hides := entries.Says(backend, form)
		return hides
	})
}

// shownSkill returns a skill without the files that an entry hides, and without hidden skills in
// it. of is the number of files that are compared. It returns x itself if nothing is hidden.
func shownSkill(entries overlay.List, skills overlaidSkills, backend string, x *pb.Skill, of int) *pb.Skill {
	if !entries.About(backend) {
		return x
	}
	hidden := func(f *pb.SkillFile) bool {
		return hiddenByName(entries, backend, f.GetUri(), of) || skills.hidden.contains(f.GetUri())
	}
	if !slices.ContainsFunc(x.GetFiles(), hidden) {
		return x
	}
	out := proto.CloneOf(x)
	out.Files = slices.DeleteFunc(out.Files, hidden)
	return out
}
