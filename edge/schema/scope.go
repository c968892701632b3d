package schema

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// resource is a schema resource, in which $dynamicRef and $recursiveRef resolve: the outermost
// entered resource with the anchor is used.
type resource struct {
	anchors   map[string]*node
	recursive bool
}

var errScope = errors.New("$dynamicRef and $recursiveRef cannot be resolved")

// resolve finds the resource of each node. The library does not export it, so it is read by
// reflection. A test fails if that stops working.
func (g *graph) resolve(compile func(location string) (*jsonschema.Schema, error)) error {
	resources := make(map[uintptr]*resource)
	for done := false; !done; {
		done = true
		for s, n := range g.nodes {
			if n.scope != nil {
				continue
			}
			done = false
			field := reflect.ValueOf(s).Elem().FieldByName("resource")
			if field.Kind() != reflect.Pointer || field.IsNil() {
				return errScope
			}
			r := resources[field.Pointer()]
			if r == nil {
				r = new(resource)
				resources[field.Pointer()] = r
				if err := g.readResource(r, field.Elem(), compile); err != nil {
					return err
				}
			}
			n.scope = r
		}
		g.read() // reads the schemas of the anchors
	}
	return nil
}

func (g *graph) readResource(r *resource, from reflect.Value, compile func(location string) (*jsonschema.Schema, error)) error {
	recursive, anchors := from.FieldByName("RecursiveAnchor"), from.FieldByName("dynamicAnchors")
	if recursive.Kind() != reflect.Bool || anchors.Kind() != reflect.Map {
		return errScope
	}
	r.recursive = recursive.Bool()
	r.anchors = make(map[string]*node, anchors.Len())
	for i := anchors.MapRange(); i.Next(); {
		location := i.Value().Elem().FieldByName("Location")
		if location.Kind() != reflect.String {
			return errScope
		}
		s, err := compile(location.String())
		if err != nil {
			return fmt.Errorf("%w: %w", errScope, err)
		}
		r.anchors[i.Key().String()] = g.node(s)
	}
	return nil
}
