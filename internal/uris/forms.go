package uris

import (
	"slices"
	"strings"
)

// MaxForms is the maximum number of forms of a URI.
const MaxForms = 128

// Forms returns the other URIs under which a backend may serve the resource of a URI, at most
// MaxForms, or nil. These are its Equivalents, and then the Shorter URIs of it and of them, because
// libraries drop these parts, also from a URI that is decoded first, so that an escaped "?" or "#"
// begins one.
func Forms(uri string) []string {
	f := newForms(uri)
	f.equivalents(f.rest)
	if !f.hasShorter() {
		return f.out
	}
	for _, marks := range [...]string{"#", "?#"} {
		f.equivalents(cutAtAny(f.rest, marks))
		text := cutAtAny(separated(f.rest), marks)
		path := cutAtAny(text, "?")
		f.decoded(path, text[len(path):])
	}
	for _, form := range append([]string{f.scheme + ":" + f.rest}, f.out...) {
		f.shorter(form[len(f.scheme)+1:])
	}
	return f.out
}

// Shorter returns the URIs that are left of a URI, as it is spelled, without the fragment, without
// the query and the fragment, and each without slashes at the end of the path, or nil.
func Shorter(uri string) []string {
	colon := schemeEnd(uri)
	if colon < 0 {
		return nil
	}
	f := &forms{uri: uri, scheme: uri[:colon]}
	f.shorter(uri[colon+1:])
	return f.out
}

// Equivalents returns the other URIs that a backend may read as a URI, with all its parts, or nil:
//   - the normal form and the decoded form;
//   - both without dot segments and empty segments (RFC 3986, section 6.2.2), with slashes for
//     backslashes, and without the marks of an empty user and an empty port;
//   - for a path with dot segments, a form in which the authority counts as a segment, because some
//     backends read docs://a/../b as b;
//   - if the query or the fragment has ".." segments, a form in which it counts as part of the
//     path, because a backend may match docs://{+path} and join the path of docs://a?/../b to a
//     directory.
func Equivalents(uri string) []string {
	f := newForms(uri)
	f.equivalents(f.rest)
	return f.out
}

// forms gathers the other forms of one URI.
type forms struct {
	uri string
	// scheme and rest are the parts of the normal form before and after the colon. The scheme is
	// empty if the text has none.
	scheme, rest string
	out          []string
}

func newForms(uri string) *forms {
	normal := Normal(uri)
	if colon := schemeEnd(normal); colon >= 0 {
		return &forms{uri: uri, scheme: normal[:colon], rest: normal[colon+1:]}
	}
	return &forms{uri: uri, rest: normal, out: formsOfText(uri, normal)}
}

// hasShorter reports whether the URI may have forms without some of its parts.
func (f *forms) hasShorter() bool {
	return f.scheme != "" && (!plain(f.rest) || strings.ContainsAny(f.rest, "?#") || strings.HasSuffix(f.rest, "/"))
}

// add adds the form with the given part after the scheme.
func (f *forms) add(rest string) {
	if form := f.scheme + ":" + rest; form != f.uri && !slices.Contains(f.out, form) {
		f.out = append(f.out, form)
	}
}

// shorter adds Shorter of the URI with the given part after the scheme.
func (f *forms) shorter(rest string) {
	for _, short := range [...]string{rest, cutAtAny(rest, "#"), cutAtAny(rest, "?#")} {
		f.add(short)
		f.add(unslashed(short))
	}
}

// equivalents adds the equivalents of the URI with the given part after the scheme.
func (f *forms) equivalents(rest string) {
	if f.scheme == "" {
		return
	}
	f.add(rest)
	if plain(rest) {
		return
	}
	f.add(Decode(rest))
	path := cutAtAny(rest, "?#")
	tail := rest[len(path):]
	pathForms(path, tail, f.add)
	f.decoded(separated(path), separated(tail))
}

// decoded adds the forms of a decoded path and the part after it.
func (f *forms) decoded(path, tail string) {
	pathForms(path, tail, f.add)
	if hasDotDot(tail) {
		whole := path + tail
		after, there := strings.CutPrefix(whole, "//")
		if there {
			f.add("//" + resolve(collapse(after)))
		} else {
			f.add(resolve(collapse(whole)))
		}
	}
}

// cutAtAny returns the text before the first of the given characters.
func cutAtAny(text, marks string) string {
	if at := strings.IndexAny(text, marks); at >= 0 {
		return text[:at]
	}
	return text
}

// unslashed returns the part of a URI after the scheme without slashes at the end of the path. A
// path that is one slash, without an authority, is kept.
func unslashed(rest string) string {
	path := cutAtAny(rest, "?#")
	short := strings.TrimRight(path, "/")
	if short == "" {
		return rest
	}
	return short + rest[len(path):]
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
		authority, path = "//"+host(after[:end]), after[end:]
		if hasDotDot(after) || strings.HasPrefix(after, "./") {
			add("//" + resolve(collapse(after)) + tail)
		}
	}
	add(authority + path + tail)
	add(authority + resolve(path) + tail)
	add(authority + resolve(collapse(path)) + tail)
}

// host returns an authority without the marks of an empty user, an empty password and an empty port.
func host(authority string) string {
	if user, rest, there := strings.Cut(authority, "@"); there && (user == "" || user == ":") {
		authority = rest
	}
	return strings.TrimSuffix(authority, ":")
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

// hasDotDot reports whether a segment of a path is "..".
func hasDotDot(path string) bool { return strings.Contains("/"+path+"/", "/../") }

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
