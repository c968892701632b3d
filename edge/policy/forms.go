package policy

import (
	"encoding/hex"
	"slices"
	"strings"
)

// forms are the other URIs under which a backend may serve what a URI names (RFC 3986, section 6.2.2): with the scheme in
// small letters, with escapes of unreserved characters replaced, without dot segments, and without the marks of a user and a port that
// are empty. Of a path with dot segments, also behind escaped separators, the authority counts as a segment, too, in a form of its
// own: backends are in use that take docs://a/../b for b. Where the query or the fragment climbs it counts as a part of the
// path in another one, as for who matches docs://{+path} and joins docs://a?/../b to a folder. nil: the URI is in normal form.
func forms(uri string) (out []string) {
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || strings.ContainsAny(scheme, "/?#%") {
		return nil
	}
	lower := strings.ToLower(scheme)
	if lower == scheme && !strings.ContainsAny(rest, `%\@`) && !strings.Contains(rest, "/.") && !strings.HasPrefix(rest, ".") && !emptyPort(rest) {
		return nil
	}
	add := func(form string) {
		if form = lower + ":" + form; form != uri && !slices.Contains(out, form) {
			out = append(out, form)
		}
	}
	path, tail := rest, ""
	if at := strings.IndexAny(rest, "?#"); at >= 0 {
		path, tail = rest[:at], rest[at:]
	}
	if whole := separated(rest); tail != "" && climbs(separated(tail)) {
		after, there := strings.CutPrefix(whole, "//")
		if there {
			after = "//" + resolve(after)
		} else {
			after = resolve(whole)
		}
		add(after)
	}
	path = unescape(path, unreserved)
	if all := separated(path); climbs(all) {
		path = all
	}
	authority := ""
	if after, there := strings.CutPrefix(path, "//"); there {
		end := strings.IndexByte(after, '/')
		if end < 0 {
			end = len(after)
		}
		authority, path = "//"+strings.TrimSuffix(strings.TrimPrefix(after[:end], "@"), ":"), after[end:]
		if lower == "http" || lower == "https" || lower == "file" {
			authority = strings.ToLower(authority)
		}
		if climbs(after) || strings.HasPrefix(after, "./") {
			add("//" + resolve(after) + tail)
		}
	}
	add(authority + resolve(path) + tail)
	return out
}

// emptyPort says whether the authority ends in a colon.
func emptyPort(rest string) bool {
	after, there := strings.CutPrefix(rest, "//")
	if end := strings.IndexAny(after, "/?#"); end >= 0 {
		after = after[:end]
	}
	return there && strings.HasSuffix(after, ":")
}

// separated has no escapes, and slashes for backslashes.
func separated(text string) string {
	return strings.ReplaceAll(unescape(text, func(byte) bool { return true }), `\`, "/")
}

// climbs says whether a segment of a path is "..".
func climbs(path string) bool { return strings.Contains("/"+path+"/", "/../") }

// resolve takes the dot segments out of a path (RFC 3986, section 5.2.4).
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

// unescape replaces the escapes of some bytes.
func unescape(text string, of func(byte) bool) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			var c [1]byte
			if _, err := hex.Decode(c[:], []byte(text[i+1:i+3])); err == nil && of(c[0]) {
				b.WriteByte(c[0])
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// unreserved characters mean the same, escaped or not (RFC 3986, section 2.3).
func unreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
