package reflect

import (
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/internal/pattern"
)

// selection says which methods become tools.
type selection struct {
	include, exclude []string
	// used are the patterns that matched something.
	used map[string]bool
	// patterns are those of include and exclude, and their services', by their texts.
	patterns map[string]pattern.Pattern
}

func newSelection(include, exclude []string) *selection {
	return &selection{include: include, exclude: exclude, used: map[string]bool{}, patterns: map[string]pattern.Pattern{}}
}

// contract is what the edge itself speaks, and reflectionPackage how a service is described: they are never shown.
const contract, reflectionPackage = "mcpedge.v1.", "grpc.reflection."

// infrastructure is how servers are run and looked at. It is shown only where it is included by name.
var infrastructure = []string{"grpc.health.", "grpc.channelz.", "grpc.lb.", "grpc.binarylog.", "grpc.gcp."}

// service reports whether any method of a service may be selected.
func (s *selection) service(name string) bool {
	for _, text := range s.exclude {
		service, _, methods := strings.Cut(strings.TrimPrefix(text, "/"), "/")
		if !s.match(service, name) {
			continue
		}
		if !methods {
			s.used[text] = true
			return false
		}
		if hides(name) { // its methods are not looked at
			s.used[text] = true
		}
	}
	if strings.HasPrefix(name, contract) || strings.HasPrefix(name, reflectionPackage) {
		return false
	}
	if len(s.include) == 0 {
		return !hides(name)
	}
	for _, text := range s.include {
		service, _, _ := strings.Cut(strings.TrimPrefix(text, "/"), "/")
		if s.match(service, name) && (!hides(name) || strings.HasPrefix(service, "grpc.")) {
			return true
		}
	}
	return false
}

// hides reports whether a service is infrastructure.
func hides(name string) bool {
	return slices.ContainsFunc(infrastructure, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// method reports whether a method, "package.Service/Method", is selected.
func (s *selection) method(full string) bool {
	included := s.anyMatches(s.include, full)
	return !s.anyMatches(s.exclude, full) && (included || len(s.include) == 0)
}

func (s *selection) anyMatches(patterns []string, full string) (found bool) {
	for _, p := range patterns {
		if s.matches(p, full) {
			s.used[p], found = true, true
		}
	}
	return found
}

// matches holds a method against a pattern, or its service against one without a slash.
func (s *selection) matches(text, full string) bool {
	text = strings.TrimPrefix(text, "/")
	if !strings.Contains(text, "/") {
		full, _, _ = strings.Cut(full, "/")
	}
	return s.match(text, full)
}

// match reports whether a name matches the pattern with a text.
func (s *selection) match(text, name string) bool {
	p, known := s.patterns[text]
	if !known {
		p = pattern.New(text)
		s.patterns[text] = p
	}
	return p.Match(name)
}
