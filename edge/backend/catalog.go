package backend

import (
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Kinds is a set of list kinds.
type Kinds uint8

// The kinds of lists. Resource templates belong to Resources.
const (
	Tools Kinds = 1 << iota
	Resources
	Prompts

	allKinds = Tools | Resources | Prompts
)

// singleKinds lists the kinds one by one, in the order in which they are listed.
var singleKinds = [...]Kinds{Tools, Resources, Prompts}

// Has reports whether all of k is in the set.
func (s Kinds) Has(k Kinds) bool { return s&k == k }

// String names the kinds, separated by commas.
func (s Kinds) String() string {
	text := ""
	for i, name := range [...]string{"tools", "resources", "prompts"} {
		if s&(1<<i) == 0 {
			continue
		}
		if text != "" {
			text += ","
		}
		text += name
	}
	return text
}

// Hint describes how clients may cache a list.
type Hint struct {
	// TTL is between 0 and 30 days, in whole milliseconds.
	TTL time.Duration
	// Public is true only if every page said so.
	Public bool
}

// Catalog has the lists of a backend, as one principal sees them. It and everything that it points
// to are immutable, and may be kept without limit.
type Catalog struct {
	// Describe is the backend's description of itself; never nil. For a backend without Describe it
	// holds the features found by probing; for an absent backend it is empty.
	Describe *pb.DescribeResponse
	// The lists, in the backend's order, with its own names: unique, and free of entries that break
	// the contract.
	Tools     []*pb.Tool
	Resources []*pb.Resource
	Templates []*pb.ResourceTemplate
	Prompts   []*pb.Prompt
	Skills    []*pb.Skill
	// Withheld has the URIs of resources that Config.Review has removed, and their normal forms.
	// They must not be read, even if a template or a prefix of the backend covers them. nil means
	// none.
	Withheld map[string]bool
	// HasTools, HasResources and HasPrompts report whether the service is served; its list may be
	// empty.
	HasTools, HasResources, HasPrompts bool
	// HasSkills reports whether the service of resources serves skills; they are part of its
	// digest.
	HasSkills bool
	// The hints are the zero value for a service that is not served.
	ToolsHint, ResourcesHint, TemplatesHint, PromptsHint, SkillsHint Hint
	// Private is true if a list is private, so that each principal has its own catalog. OwnBytes is
	// the length of the encoding of the lists that are this principal's own; 0 means none.
	Private  bool
	OwnBytes int
	// Digest of the lists' content: equal content has equal digests on every replica. 0 for a
	// service that is not served.
	Digest mcp.Digest
	// Present is true if the backend was listed, and has not been unreachable for longer than
	// StaleAfter.
	Present bool
	// Unread are the kinds of a present backend whose list could not be read.
	Unread Kinds

	unlisted atomic.Pointer[Catalog]
	// listed maps the tools whose texts Config.Review has changed to the tools as the backend lists
	// them. nil means none.
	listed map[*pb.Tool]*pb.Tool
}

// Listed returns a tool of the catalog as the backend lists it.
func (c *Catalog) Listed(t *pb.Tool) *pb.Tool {
	if was := c.listed[t]; was != nil {
		return was
	}
	return t
}

// Unlisted returns a catalog with the services of c whose lists are unknown: it is not present. The
// same c always returns the same one. Safe for concurrent use.
func (c *Catalog) Unlisted() *Catalog {
	if u := c.unlisted.Load(); u != nil {
		return u
	}
	c.unlisted.CompareAndSwap(nil, &Catalog{
		Describe: c.Describe, HasTools: c.HasTools, HasResources: c.HasResources, HasPrompts: c.HasPrompts, HasSkills: c.HasSkills,
		Private: c.Private,
	})
	return c.unlisted.Load()
}

// absent is the catalog of an absent backend.
var absent = &Catalog{Describe: &pb.DescribeResponse{}}

// lists holds the lists of the three kinds; nil means never listed, or unreachable for too long.
type lists [len(singleKinds)]*list

// assemble creates a catalog. It drops describe if there is no list.
func (l *lists) assemble(describe *pb.DescribeResponse) *Catalog {
	c := &Catalog{Describe: describe}
	for i, one := range l {
		if one == nil {
			c.Unread |= singleKinds[i]
			continue
		}
		c.Present = true
		c.Private = c.Private || one.private
	}
	if !c.Present || describe == nil {
		return absent
	}
	if t := l[0]; t != nil {
		c.listed = t.listed
		c.HasTools, c.Tools, c.ToolsHint, c.Digest.Tools = t.served, t.tools, t.hint, t.digest
	}
	if r := l[1]; r != nil {
		c.HasResources, c.Resources, c.ResourcesHint, c.Digest.Resources = r.served, r.resources, r.hint, r.digest
		c.Withheld = r.withheld
		c.Templates, c.TemplatesHint = r.templates, r.templatesHint
		c.HasSkills, c.Skills, c.SkillsHint = r.hasSkills, r.skills, r.skillsHint
	}
	if p := l[2]; p != nil {
		c.HasPrompts, c.Prompts, c.PromptsHint, c.Digest.Prompts = p.served, p.prompts, p.hint, p.digest
	}
	return c
}

// changes returns the kinds that differ between two catalogs, and whether anything differs.
func changes(a, b *Catalog) (kinds Kinds, differs bool) {
	if a == b {
		return 0, false
	}
	if a.Digest.Tools != b.Digest.Tools || a.HasTools != b.HasTools {
		kinds |= Tools
	}
	if a.Digest.Resources != b.Digest.Resources || a.HasResources != b.HasResources || a.HasSkills != b.HasSkills {
		kinds |= Resources
	}
	if a.Digest.Prompts != b.Digest.Prompts || a.HasPrompts != b.HasPrompts {
		kinds |= Prompts
	}
	differs = kinds != 0 || a.Present != b.Present || a.Unread != b.Unread || a.Private != b.Private ||
		a.ToolsHint != b.ToolsHint || a.ResourcesHint != b.ResourcesHint ||
		a.TemplatesHint != b.TemplatesHint || a.SkillsHint != b.SkillsHint || a.PromptsHint != b.PromptsHint ||
		!proto.Equal(a.Describe, b.Describe)
	return kinds, differs
}
