package reflect

import (
	"slices"
	"strings"
)

// selection says which methods become tools.
type selection struct {
	include, exclude []string
	// used are the patterns that matched something.
	used map[string]bool
}

func newSelection(include, exclude []string) *selection {
	return &selection{include: include, exclude: exclude, used: map[string]bool{}}
}

// contract is what the edge itself speaks, and reflectionPackage how a service is described: they are never shown.
const contract, reflectionPackage = "mcpedge.v1.", "grpc.reflection."

// infrastructure is how servers are run and looked at. It is shown only where it is included by name.
var infrastructure = []string{"grpc.health.", "grpc.channelz.", "grpc.lb.", "grpc.binarylog.", "grpc.gcp."}

// service reports whether any method of a service may be selected.
func (s *selection) service(name string) bool {
	for _, pattern := range s.exclude {
		service, _, methods := strings.Cut(strings.TrimPrefix(pattern, "/"), "/")
		if !match(service, name) {
			continue
		}
		if !methods {
			s.used[pattern] = true
			return false
		}
		if hides(name) { // its methods are not looked at
			s.used[pattern] = true
		}
	}
	if strings.HasPrefix(name, contract) || strings.HasPrefix(name, reflectionPackage) {
		return false
	}
	if len(s.include) == 0 {
		return !hides(name)
	}
	for _, pattern := range s.include {
		service, _, _ := strings.Cut(strings.TrimPrefix(pattern, "/"), "/")
		if match(service, name) && (!hides(name) || strings.HasPrefix(service, "grpc.")) {
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
		if matches(p, full) {
			s.used[p], found = true, true
		}
	}
	return found
}

// matches holds a method against a pattern, or its service against one without a slash.
func matches(pattern, full string) bool {
	pattern = strings.TrimPrefix(pattern, "/")
	if !strings.Contains(pattern, "/") {
		full, _, _ = strings.Cut(full, "/")
	}
	return match(pattern, full)
}

// match holds a text against a pattern in which * is any text.
func match(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(text, part)
		}
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text, rest = text[i+len(part):], more
	}
}
