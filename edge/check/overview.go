package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/schema/portable"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// overview reports the objects of a backend, and the invalid ones. trial may be nil.
func (f *findings) overview(s *backend.Survey, cfg backend.Config, trial *Trial) {
	if s.Described == nil {
		f.text.WriteString("  Describe: not served; the lists were tried instead\n")
	} else {
		i := s.Described.Implementation
		fmt.Fprintf(&f.text, "  Describe: %q, version %q\n", i.GetName(), i.GetVersion())
	}
	for _, l := range s.Lists {
		if l.Err == nil {
			f.list(l, s.Catalog, cfg.Prefix)
		}
	}
	unusable, multiplying := schemas(s.Catalog.Tools)
	for _, text := range slices.Concat(s.Failures, s.Breaches, unusable) {
		f.violation("%s", text)
	}
	for _, text := range multiplying {
		f.note("%s", text)
	}
	if s.Empty != "" {
		implemented := slices.ContainsFunc(s.Lists, func(l backend.Listing) bool { return l.Served })
		if implemented && cfg.Adapt == nil {
			f.note("%s", s.Empty) // it may serve something later
		} else {
			f.violation("%s", s.Empty)
		}
	}
	for _, text := range s.Notes {
		f.note("%s", text)
	}
	for _, text := range s.Unannounced {
		f.note("%s", text)
	}
	var list *portable.List
	if !cfg.FullSchemas {
		list = portable.NewList(0)
	}
	f.lint(shownTools(cfg, s.Catalog.Tools, trial), list, trial != nil && trial.Schemas)
}

// list writes the entries of one kind, with names as clients see them, after a prefix.
func (f *findings) list(l backend.Listing, c *backend.Catalog, prefix string) {
	if !l.Served {
		fmt.Fprintf(&f.text, "  %s: not served\n", l.Kind)
		return
	}
	feed := "no change feed"
	if l.Feed {
		feed = "change feed"
	}
	var names, extra []string
	var templates []*pb.ResourceTemplate
	switch l.Kind {
	case backend.Tools:
		names = collect(c.Tools, (*pb.Tool).GetName)
	case backend.Resources:
		prefix = "" // URIs have no prefix
		names, templates = collect(c.Resources, (*pb.Resource).GetUri), c.Templates
		extra = append(extra, fmt.Sprintf("%d templates", len(templates)), offers(c.Describe.GetResources().GetSubscribe(), "subscriptions"),
			offers(c.Describe.GetResources().GetCompletion(), "completion"))
	default:
		names = collect(c.Prompts, (*pb.Prompt).GetName)
		extra = append(extra, offers(c.Describe.GetPrompts().GetCompletion(), "completion"))
	}
	scope := "the same for all callers"
	if l.Private {
		scope = "private to each caller"
	}
	fmt.Fprintf(&f.text, "  %s: %d, %s\n", l.Kind, len(names), strings.Join(append([]string{scope, feed}, extra...), ", "))
	for _, n := range names {
		fmt.Fprintf(&f.text, "    %s\n", prefix+n)
	}
	for _, t := range templates {
		fmt.Fprintf(&f.text, "    %s (template)\n", t.GetUriTemplate())
	}
}

func offers(yes bool, what string) string {
	if yes {
		return what
	}
	return "no " + what
}

func collect[T any](entries []T, name func(T) string) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = name(e)
	}
	return names
}
