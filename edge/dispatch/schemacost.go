package dispatch

import (
	"math"
	"strings"
)

// maxChecks bounds how often one place of a value may be looked at. A schema that comes back to itself
// through several branches (a tree of filters, say) multiplies the looks with every level that a value
// nests, and nothing can stop a check once it runs.
const maxChecks = 8192

// checkableDepth is how deep a value may nest to be checked by a schema; 0: as deep as it likes.
func checkableDepth(doc any) int {
	w := refWalk{root: doc, open: map[string]bool{}, done: map[string]bool{}}
	w.follow(doc)
	if !w.recursive || w.branches < 2 {
		return 0
	}
	return max(2, int(math.Log(maxChecks)/math.Log(float64(w.branches))))
}

// refWalk follows a schema's references once each.
type refWalk struct {
	root       any
	open, done map[string]bool
	// recursive: a reference leads back to where it stands. branches is the largest number of
	// alternatives with references at one place.
	recursive bool
	branches  int
}

// follow walks a part of the schema; it reports whether there is a reference in it.
func (w *refWalk) follow(part any) (refs bool) {
	switch p := part.(type) {
	case []any:
		for _, x := range p {
			refs = w.follow(x) || refs
		}
	case map[string]any:
		branches := 0
		for key, x := range p {
			switch key {
			case "$ref", "$dynamicRef", "$recursiveRef":
				refs = true
				if target, ok := x.(string); ok {
					w.enter(target)
				}
				continue
			case "anyOf", "oneOf", "allOf":
				alternatives, _ := x.([]any)
				for _, a := range alternatives {
					if w.follow(a) {
						branches++
					}
				}
				refs = refs || branches > 0
				continue
			case "if", "then", "else", "not":
				if w.follow(x) {
					refs = true
					branches++
				}
				continue
			}
			refs = w.follow(x) || refs
		}
		w.branches = max(w.branches, branches)
	}
	return refs
}

// enter follows a reference to its target in the schema. What is no pointer into it counts as leading
// back: an anchor may be anywhere.
func (w *refWalk) enter(target string) {
	switch {
	case w.open[target] || target == "#":
		w.recursive = true
		return
	case w.done[target]:
		return
	}
	part, ok := w.at(target)
	if !ok {
		w.recursive = w.recursive || strings.HasPrefix(target, "#")
		return
	}
	w.open[target] = true
	w.follow(part)
	delete(w.open, target)
	w.done[target] = true
}

// at finds what a pointer such as #/$defs/node names.
func (w *refWalk) at(target string) (any, bool) {
	path, ok := strings.CutPrefix(target, "#/")
	if !ok {
		return nil, false
	}
	part := w.root
	for name := range strings.SplitSeq(path, "/") {
		members, ok := part.(map[string]any)
		if !ok {
			return nil, false
		}
		if part, ok = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]; !ok {
			return nil, false
		}
	}
	return part, true
}

// depth is how deep a valid JSON text nests.
func depth(raw []byte) int {
	level, deepest, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
