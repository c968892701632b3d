package backend

import (
	"context"

	"google.golang.org/protobuf/proto"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// review replaces the entries by what by leaves of them. Skills stay as they are.
func (l *list) review(ctx context.Context, by func(context.Context, []proto.Message) ([]proto.Message, error)) (err error) {
	listed := l.tools
	if l.tools, err = reviewed(ctx, listed, by); err != nil {
		return err
	}
	l.listed = changedTools(listed, l.tools)
	if l.prompts, err = reviewed(ctx, l.prompts, by); err != nil {
		return err
	}
	before := l.resources
	if l.resources, err = reviewed(ctx, l.resources, by); err != nil {
		return err
	}
	l.withheld = removedURIs(before, l.resources)
	l.templates, err = reviewed(ctx, l.templates, by)
	return err
}

// changedTools maps each tool with changed texts in left to the listed one. It returns nil if there are
// none.
func changedTools(listed, left []*pb.Tool) map[*pb.Tool]*pb.Tool {
	byName := make(map[string]*pb.Tool, len(listed))
	for _, t := range listed {
		byName[t.GetName()] = t
	}
	var out map[*pb.Tool]*pb.Tool
	for _, t := range left {
		if was := byName[t.GetName()]; was != t {
			if out == nil {
				out = map[*pb.Tool]*pb.Tool{}
			}
			out[t] = was
		}
	}
	return out
}

// removedURIs returns the URIs of the removed resources, as listed and in their normal form, or nil if
// none was removed.
func removedURIs(resources, left []*pb.Resource) map[string]bool {
	if len(resources) == len(left) {
		return nil
	}
	kept := make(map[string]bool, len(left))
	for _, r := range left {
		kept[r.GetUri()] = true
	}
	out := map[string]bool{}
	for _, r := range resources {
		if uri := r.GetUri(); !kept[uri] {
			out[uri], out[uris.Normal(uri)] = true, true
		}
	}
	return out
}

func reviewed[T proto.Message](ctx context.Context, entries []T, by func(context.Context, []proto.Message) ([]proto.Message, error)) ([]T, error) {
	if len(entries) == 0 {
		return entries, nil
	}
	asked := make([]proto.Message, len(entries))
	for i, e := range entries {
		asked[i] = e
	}
	left, err := by(ctx, asked)
	if err != nil {
		return nil, &reviewError{err}
	}
	out := make([]T, len(left))
	for i, e := range left {
		out[i] = e.(T)
	}
	return out, nil
}

// reviewError reports that Config.Review has failed.
type reviewError struct{ err error }

func (e *reviewError) Error() string { return "a list is not served: " + e.err.Error() }
func (e *reviewError) Unwrap() error { return e.err }
