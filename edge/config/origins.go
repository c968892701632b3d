package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// origins are the sources of settings: the lines of the keys of the file, and the flags and
// variables that have overridden keys. nil has none.
type origins struct {
	// file is the name of the file. Empty means that there is none.
	file string
	// lines maps the paths of keys and of list entries, such as lists.page-size and backends[0],
	// to their lines.
	lines map[string]int
	// others maps the paths of keys to the flag or the variable that has set them, such as
	// --log-level or MCPEDGE_LOG_LEVEL.
	others map[string]string
	// backends maps the names of backends to the paths of their entries.
	backends map[string]string
	// taken is the content of the file that Load has read, and included that of the files it includes.
	taken    []byte
	included Included
	// command and again are those of Load: again is compose for another content of the file.
	command string
	again   func(raw []byte) (c Config, misplaced, err error)
}

// setBackends records the names of the backends.
func (p *origins) setBackends(c *Config) {
	p.backends = map[string]string{}
	for i := range c.Backends {
		p.backends[c.Backends[i].Name] = fmt.Sprintf("backends[%d]", i)
	}
}

// set records the name of the flag or variable that has set a key.
func (p *origins) set(key, name string) {
	if key != "" {
		p.others[key] = name
	}
}

// Locate prefixes an error that begins with a key or a backend with the place of its key: the file
// and the line, or the flag or the variable that has set it. It does so for each of several joined
// errors, and joins them in the order of their lines; those without a line are last. It returns other
// errors unchanged.
func (c *Config) Locate(err error) error { return c.origins.place(err) }

func (p *origins) place(err error) error {
	if p == nil || err == nil {
		return err
	}
	if _, joined := err.(interface{ Unwrap() []error }); !joined {
		_, placed := p.placed(err)
		return placed
	}
	type at struct {
		err  error
		line int
	}
	var all []at
	var add func(error)
	add = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, one := range joined.Unwrap() {
				add(one)
			}
			return
		}
		line, placed := p.placed(err)
		all = append(all, at{placed, line})
	}
	add(err)
	slices.SortStableFunc(all, func(a, b at) int { return cmp.Compare(a.line, b.line) })
	errs := make([]error, len(all))
	for i := range all {
		errs[i] = all[i].err
	}
	return errors.Join(errs...)
}

// placed returns the line of an error's key in the file, or math.MaxInt, and the error with its
// place.
func (p *origins) placed(err error) (line int, placed error) {
	path := p.pathOf(err.Error())
	if other := p.otherOf(path); other != "" {
		return math.MaxInt, fmt.Errorf("%s: %w", other, err)
	}
	if path == "" {
		return math.MaxInt, err
	}
	return p.lines[path], fmt.Errorf("config %s:%d: %w", p.file, p.lines[path], err)
}

// otherOf returns the flag or the variable that has set a key or a section that contains it. It is
// empty if there is none.
func (p *origins) otherOf(path string) string {
	for path = withoutIndexes(path); path != ""; path = path[:max(strings.LastIndexByte(path, '.'), 0)] {
		if other := p.others[path]; other != "" {
			return other
		}
	}
	return ""
}

// has reports whether the file has a path, or a flag or a variable has set it.
func (p *origins) has(path string) bool {
	return p.lines[path] != 0 || p.others[withoutIndexes(path)] != ""
}

// pathOf returns the longest known path with which an error begins, as in "backends[0] calc:
// tls.cert: it is …". It is empty if there is none.
func (p *origins) pathOf(text string) (path string) {
	text = p.indexed(text)
	for i, part := range strings.SplitN(text, ": ", 6) {
		word, _, _ := strings.Cut(part, " ")
		if path != "" {
			word = path + "." + word
		}
		for word != "" && word != path && !p.has(word) {
			word = word[:max(strings.LastIndexByte(word, '.'), 0)]
		}
		if word != "" {
			path = word
		}
		if i == 0 && path == "" {
			return ""
		}
	}
	return path
}

// indexed replaces the name of a backend at the beginning of an error, as in `backend "crm": ` and
// "backends.crm.tls.ca: ", by the path of its entry.
func (p *origins) indexed(text string) string {
	for start, end := range map[string]string{`backend "`: `"`, "backends.": "."} {
		if rest, found := strings.CutPrefix(text, start); found {
			name, rest, _ := strings.Cut(rest, end)
			if entry := p.backends[name]; entry != "" {
				return entry + strings.TrimSuffix(end, `"`) + rest
			}
		}
	}
	return text
}
