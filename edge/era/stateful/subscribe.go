package stateful

import (
	"context"
	"errors"
	"slices"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// subscribe adds a resource to those that the standalone stream reports (Resources,
// "Subscriptions"). It refuses a resource that no backend can watch.
func (e *Era) subscribe(ctx context.Context, in *mcp.Incoming, s *localSession, rec *record, c *mcp.Call) *mcp.Error {
	var err error
	if c.Target, err = e.dispatch.Resolve(ctx, rec.rules, c); err != nil {
		return mcp.AsError(err)
	}
	in.Admit() // A slow backend or policy server must not delay a ping.
	if _, err = e.dispatch.Call(ctx, rec.rules, c, nil); err != nil {
		return mcp.AsError(err)
	}
	if !subscribes(e.server.Describe(ctx, rec.rules, rec.Set, in.Principal).Capabilities) {
		return mcp.Errorf(mcp.KindMethodNotFound, "resources cannot be subscribed to here: the capability is not advertised")
	}
	// The watch of the check stays open until the stream's own watch is in force.
	wctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	defer context.AfterFunc(e.life, cancel)()
	uri := c.Params.Target
	feed, err := e.dispatch.Changes(wctx, rec.Set, in.Principal, mcp.Filter{URIs: []string{uri}})
	if errors.Is(err, context.DeadlineExceeded) {
		return mcp.Errorf(mcp.KindTimeout, "the resource's backend did not begin to watch it within %s; try again later", watchTimeout)
	}
	if err != nil {
		return mcp.AsError(err)
	}
	defer feed.Close()
	if !slices.Contains(feed.Honoured().URIs, uri) {
		return &mcp.Error{
			Kind:    mcp.KindResourceNotFound,
			Message: "the resource does not exist or cannot be subscribed to",
			Data:    uriObject(uri),
		}
	}
	return e.resubscribe(ctx, s, state.Patch{Subscribe: uri})
}

func (e *Era) resubscribe(ctx context.Context, s *localSession, p state.Patch) *mcp.Error {
	if _, err := e.update(ctx, s, p); err != nil {
		if err.Kind == mcp.KindLimit {
			e.o.Telemetry.Hit(limitOf(err, telemetry.BoundSubscriptions))
		}
		return err
	}
	if a := s.attached(); a != nil {
		e.sync(ctx, s, a, false)
	}
	e.notify(ctx, state.SessionEvent{Kind: state.SessionChanged, Session: s.id})
	return nil
}

// subscribes reads resources.subscribe of a ServerCapabilities object.
func subscribes(caps []byte) bool {
	resources, _ := jsonrpc.Member(caps, "resources")
	v, _ := jsonrpc.Member(resources, "subscribe")
	return string(v) == "true"
}

func uriObject(uri string) []byte {
	b := append(make([]byte, 0, len(uri)+12), `{"uri":`...)
	return append(jsonrpc.AppendString(b, uri), '}')
}
