package portable

import (
	"net/url"
	"strconv"
	"strings"
)

// sub is a schema within another.
type sub struct {
	// value is an *object, a bool, or nil for none.
	value any
	// open are the references on the path to it.
	open *opened
	// referred is true if other keywords than properties lead to it.
	referred bool
}

// opened is a list of references, the last one first.
type opened struct {
	target any
	before *opened
}

// count returns how often a target is on the path.
func (o *opened) count(target any) (n int) {
	for ; o != nil; o = o.before {
		if o.target == target {
			n++
		}
	}
	return n
}

// refs resolves references within one document. Nothing is fetched.
type refs struct {
	doc     *object
	anchors map[string]any
	// found caches the targets of references.
	found map[string]any
	// foreign is true if some part has its own base URI. Then no reference is followed.
	foreign bool
	// ignoreSiblings is true for dialects that ignore keywords beside $ref.
	ignoreSiblings bool
}

func newRefs(doc *object) *refs {
	r := &refs{doc: doc, anchors: map[string]any{}, found: map[string]any{}}
	if dialect, ok := doc.get("$schema").(string); ok {
		r.ignoreSiblings = strings.Contains(dialect, "/draft-0") // draft-03 to draft-07
	}
	r.index(doc, true)
	return r
}

// index finds the anchors, and whether a part sets its own base URI.
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

// find returns the target of a reference. It returns false if there is none in the document.
func (r *refs) find(ref string) (any, bool) {
	at, known := r.found[ref]
	if !known {
		at, _ = r.look(ref)
		r.found[ref] = at
	}
	return at, at != nil
}

// look looks up the target of a reference.
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

// pointerStep decodes a step of a JSON pointer (RFC 6901).
var pointerStep = strings.NewReplacer("~1", "/", "~0", "~")
