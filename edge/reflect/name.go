package reflect

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// maxName is the contract's bound of a tool's name, including the edge's prefix.
	maxName = 64
	// minRoom is the least length that a prefix leaves for a name: a few letters and a digest.
	minRoom = 12
)

// validName reports whether a name satisfies the contract and has at most most bytes.
func validName(name string, most int) bool {
	return name != "" && len(name) <= most && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.-", r)
	}) < 0
}

// shortName returns a tool's default name: service and method in snake case, the service without
// "Service" at its end. A prefix, if there is one, replaces the service. The name has at most most
// bytes.
func shortName(md protoreflect.MethodDescriptor, prefix string, most int) string {
	if prefix == "" {
		service := string(md.Parent().Name())
		if bare := strings.TrimSuffix(service, "Service"); bare != "" {
			service = bare
		}
		prefix = snake(service) + "_"
	}
	return fit(prefix+snake(string(md.Name())), md, most)
}

// longName returns a name with the package, for methods whose short names collide.
func longName(md protoreflect.MethodDescriptor, most int) string {
	return fit(snake(strings.ReplaceAll(string(md.FullName()), ".", "_")), md, most)
}

// fit shortens a name that is too long, with a digest of the method that keeps it unique.
func fit(name string, md protoreflect.MethodDescriptor, most int) string {
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(md.FullName()))
	return name[:most-9] + "_" + hex.EncodeToString(sum[:4])
}

// snake converts HTTPServer to http_server.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && runes[i-1] != '_' &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// words converts GetUser to "Get user".
func words(name string) string {
	text := strings.ReplaceAll(snake(name), "_", " ")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// names gives every method a unique name. A name in a method's options takes precedence, then the
// order of full names decides. All methods whose short names collide get long names, so that names
// do not depend on the order of methods. prefix is prepended by the edge.
func names(methods []*method, prefix string, note func(format string, args ...any)) {
	most := max(maxName-len(prefix), minRoom)
	taken := map[string]*method{}
	for _, m := range methods {
		name := m.options.GetName()
		switch {
		case name == "":
		case !validName(name, most):
			note("method %s: the name %q is not 1 to %d of [A-Za-z0-9_.-], and is not used", m.full, name, most)
		case taken[name] != nil:
			note("method %s: the name %q is that of %s already, and is not used", m.full, name, taken[name].full)
		default:
			m.tool.Name, taken[name] = name, m
		}
	}
	short := map[string][]*method{}
	for _, m := range methods {
		if m.tool.Name == "" {
			name := shortName(m.desc, m.prefix, most)
			short[name] = append(short[name], m)
		}
	}
	for _, m := range methods {
		if m.tool.Name != "" {
			continue
		}
		name := shortName(m.desc, m.prefix, most)
		if len(short[name]) > 1 || taken[name] != nil || !validName(name, most) {
			name = longName(m.desc, most)
		}
		if taken[name] != nil {
			sum := sha256.Sum256([]byte(m.full))
			name = name[:min(len(name), most-9)] + "_" + hex.EncodeToString(sum[:4])
		}
		m.tool.Name, taken[name] = name, m
	}
}
