package reflect

import (
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/internal/pattern"
)

// selection selects the methods that become tools.
type selection struct {
	include, exclude []string
	// used are the patterns that matched something.
	used map[string]bool
	// patterns are the compiled patterns of include, exclude and their services, by their texts.
	patterns map[string]pattern.Pattern
}

func newSelection(include, exclude []string) *selection {
	return &selection{include: include, exclude: exclude, used: map[string]bool{}, patterns: map[string]pattern.Pattern{}}
}

// contract and reflectionPackage are the prefixes of services that are never shown: the edge's
// contract, and reflection.
const contract, reflectionPackage = "mcpedge.v1.", "grpc.reflection."

// infrastructure are prefixes of services for operating servers. They are shown only if included by
// name.
var infrastructure = []string{"grpc.health.", "grpc.channelz.", "grpc.lb.", "grpc.binarylog.", "grpc.gcp."}

// service reports whether a method of a service may be selected.
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
		if hides(name) { // methods of hidden services need an explicit pattern
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

// matches reports whether a pattern matches a method, or its service if the pattern has no slash.
func (s *selection) matches(text, full string) bool {
	text = strings.TrimPrefix(text, "/")
	if !strings.Contains(text, "/") {
		full, _, _ = strings.Cut(full, "/")
	}
	return s.match(text, full)
}

// match reports whether the pattern with a text matches a name.
func (s *selection) match(text, name string) bool {
	p, known := s.patterns[text]
	if !known {
		p = pattern.New(text)
		s.patterns[text] = p
	}
	return p.Match(name)
}
