package reflect

import "strings"

// selection says which methods become tools.
type selection struct{ include, exclude []string }

// infrastructure is never shown: it describes the service, or is the contract itself.
var infrastructure = []string{"grpc.reflection.", "mcpedge.v1."}

// service reports whether any method of a service may be selected.
func (s *selection) service(name string) bool {
	for _, prefix := range infrastructure {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	for _, pattern := range s.exclude {
		if !strings.Contains(pattern, "/") && match(pattern, name) {
			return false
		}
	}
	if len(s.include) == 0 {
		return true
	}
	for _, pattern := range s.include {
		service, _, _ := strings.Cut(strings.TrimPrefix(pattern, "/"), "/")
		if match(service, name) {
			return true
		}
	}
	return false
}

// method reports whether a method, "package.Service/Method", is selected.
func (s *selection) method(full string) bool {
	if len(s.include) > 0 && !anyMatches(s.include, full) {
		return false
	}
	return !anyMatches(s.exclude, full)
}

func anyMatches(patterns []string, full string) bool {
	for _, p := range patterns {
		if matches(p, full) {
			return true
		}
	}
	return false
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
