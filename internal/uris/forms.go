package uris

import (
	"slices"
	"strings"
)

// Forms returns the other URIs under which a backend may serve the resource of a URI, at most 16,
// or nil:
//   - the normal form and the decoded form;
//   - both without dot segments and empty segments (RFC 3986, section 6.2.2), with slashes for
//     backslashes, and without the marks of an empty user and an empty port;
//   - for a path with dot segments, a form in which the authority counts as a segment, because some
//     backends read docs://a/../b as b;
//   - if the query or the fragment has ".." segments, a form in which it counts as part of the
//     path, because a backend may match docs://{+path} and join the path of docs://a?/../b to a
//     directory.
func Forms(uri string) (out []string) {
	normal := Normal(uri)
	colon := schemeEnd(normal)
	if colon < 0 {
		return formsOfText(uri, normal)
	}
	scheme, rest := normal[:colon], normal[colon+1:]
	if normal == uri && plain(rest) {
		return nil
	}
	add := func(form string) {
		if form = scheme + ":" + form; form != uri && !slices.Contains(out, form) {
			out = append(out, form)
		}
	}
	add(rest)
	add(Decode(rest))
	path, tail := rest, ""
	if at := strings.IndexAny(rest, "?#"); at >= 0 {
		path, tail = rest[:at], rest[at:]
	}
	pathForms(path, tail, add)
	path, tail = separated(path), separated(tail)
	pathForms(path, tail, add)
	if climbs(tail) {
		whole := path + tail
		after, there := strings.CutPrefix(whole, "//")
		if there {
			add("//" + resolve(collapse(after)))
		} else {
			add(resolve(collapse(whole)))
		}
	}
	return out
}

// formsOfText returns the forms of a text without a scheme.
func formsOfText(text, normal string) (out []string) {
	for _, form := range []string{normal, Decode(normal)} {
		if form != text && !slices.Contains(out, form) {
			out = append(out, form)
		}
	}
	return out
}

// plain reports whether the part after the scheme has only one form.
func plain(rest string) bool {
	return !strings.ContainsAny(rest, `%\@`) && !strings.Contains(rest, "/.") && !strings.HasPrefix(rest, ".") &&
		!strings.Contains(strings.TrimPrefix(rest, "//"), "//") && !emptyPort(rest)
}

// pathForms adds the forms of a path and the part after it.
func pathForms(path, tail string, add func(string)) {
	authority := ""
	if after, there := strings.CutPrefix(path, "//"); there {
		end := strings.IndexByte(after, '/')
		if end < 0 {
			end = len(after)
		}
		authority, path = "//"+strings.TrimSuffix(strings.TrimPrefix(after[:end], "@"), ":"), after[end:]
		if climbs(after) || strings.HasPrefix(after, "./") {
			add("//" + resolve(collapse(after)) + tail)
		}
	}
	add(authority + path + tail)
	add(authority + resolve(path) + tail)
	add(authority + resolve(collapse(path)) + tail)
}

// emptyPort reports whether the authority ends in a colon.
func emptyPort(rest string) bool {
	after, there := strings.CutPrefix(rest, "//")
	if end := strings.IndexAny(after, "/?#"); end >= 0 {
		after = after[:end]
	}
	return there && strings.HasSuffix(after, ":")
}

// separated returns a text decoded, with slashes for backslashes.
func separated(text string) string { return strings.ReplaceAll(Decode(text), `\`, "/") }

// climbs reports whether a segment of a path is "..".
func climbs(path string) bool { return strings.Contains("/"+path+"/", "/../") }

// collapse returns a path without empty segments except the last, as a file system reads it.
func collapse(path string) string {
	if !strings.Contains(path, "//") {
		return path
	}
	var b strings.Builder
	b.Grow(len(path))
	for at := range len(path) {
		if path[at] != '/' || at == 0 || path[at-1] != '/' {
			b.WriteByte(path[at])
		}
	}
	return b.String()
}

// resolve returns a path without dot segments (RFC 3986, section 5.2.4).
func resolve(path string) string {
	if !strings.Contains("/"+path, "/.") {
		return path
	}
	rooted := strings.HasPrefix(path, "/")
	var kept []string
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, s := range segments {
		switch {
		case s != "." && s != "..":
			kept = append(kept, s)
			continue
		case s == ".." && len(kept) > 0:
			kept = kept[:len(kept)-1]
		}
		if i == len(segments)-1 && len(kept) > 0 {
			kept = append(kept, "")
		}
	}
	out := strings.Join(kept, "/")
	if rooted {
		return "/" + out
	}
	return out
}
