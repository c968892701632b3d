package portable

import (
	"net/url"
	"strconv"
	"strings"
)

// sub is a schema that stands somewhere below another.
type sub struct {
	// value is an *object or a bool; nil: none.
	value any
	// open are the references on the way to it.
	open *opened
	// referred: not properties alone lead to it.
	referred bool
}

// opened is a list of references, the last one first.
type opened struct {
	target any
	before *opened
}

// times is how often a target is on the way.
func (o *opened) times(target any) (n int) {
	for ; o != nil; o = o.before {
		if o.target == target {
			n++
		}
	}
	return n
}

// refs resolves references within one document. Nothing is ever fetched.
type refs struct {
	doc     *object
	anchors map[string]any
	// found is where references lead that were looked for.
	found map[string]any
	// foreign: some part has a base of its own, so no reference is followed.
	foreign bool
	// alone: a dialect in which what stands beside $ref is ignored.
	alone bool
}

func newRefs(doc *object) *refs {
	r := &refs{doc: doc, anchors: map[string]any{}, found: map[string]any{}}
	if dialect, ok := doc.get("$schema").(string); ok {
		r.alone = strings.Contains(dialect, "/draft-0") // draft-03 to draft-07
	}
	r.index(doc, true)
	return r
}

// index finds the anchors, and whether a part names its own base.
func (r *refs) index(value any, root bool) {
	switch v := value.(type) {
	case []any:
		for _, x := range v {
			r.index(x, false)
		}
	case *object:
		for _, key := range v.keys {
			if name, ok := v.values[key].(string); ok {
				switch key {
				case "$anchor", "$dynamicAnchor":
					if _, taken := r.anchors[name]; !taken {
						r.anchors[name] = v
					}
				case "$id", "id":
					r.foreign = r.foreign || !root && key == "$id" || strings.HasPrefix(name, "#")
				}
				continue
			}
			r.index(v.values[key], false)
		}
	}
}

func (r *refs) root() *opened { return &opened{target: r.doc} }

// find is the schema that a reference leads to; false: it is outside, or there is none.
func (r *refs) find(ref string) (any, bool) {
	at, known := r.found[ref]
	if !known {
		at, _ = r.look(ref)
		r.found[ref] = at
	}
	return at, at != nil
}

// look looks for the schema that a reference leads to.
func (r *refs) look(ref string) (any, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok || r.foreign {
		return nil, false
	}
	if fragment == "" {
		return r.doc, true
	}
	if text, err := url.PathUnescape(fragment); err == nil {
		fragment = text
	}
	path, ok := strings.CutPrefix(fragment, "/")
	if !ok {
		target, ok := r.anchors[fragment]
		return target, ok
	}
	var at any = r.doc
	for step := range strings.SplitSeq(path, "/") {
		step = pointerStep.Replace(step)
		switch v := at.(type) {
		case *object:
			if at, ok = v.values[step]; !ok {
				return nil, false
			}
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(v) {
				return nil, false
			}
			at = v[n]
		default:
			return nil, false
		}
	}
	switch at.(type) {
	case *object, bool:
		return at, true
	}
	return nil, false
}

// pointerStep reads a step of a JSON pointer (RFC 6901).
var pointerStep = strings.NewReplacer("~1", "/", "~0", "~")
