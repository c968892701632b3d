package stateless

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// listen serves subscriptions/listen: acknowledged with the part of the filter that is honoured, then
// changes, each tagged with the subscription's id, until the client leaves or the replica drains.
func (e *Era) listen(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, rules *revision.Rules, params *mcp.Params, out mcp.Outgoing, flight *mcp.InFlight) {
	ctx, op := e.observe(ctx, in, msg, rules, params)
	id := msg.ID
	filter, err := e.filter(params.Notifications)
	if err != nil {
		refuse(&op, out, rules, id, err)
		return
	}
	release, err := e.listens.take(in.Principal.Key(), bytesOf(filter.URIs), e.opts.Telemetry)
	if err != nil {
		refuse(&op, out, rules, id, err)
		return
	}
	defer release()
	feed, err := e.dispatch.Changes(ctx, in.Principal, filter)
	if err != nil {
		refuse(&op, out, rules, id, err)
		return
	}
	defer feed.Close()
	if ctx.Err() != nil {
		op.End(&telemetry.Outcome{Kind: mcp.KindCancelled, Message: "the client cancelled the subscription"})
		out.Accept() // cancelled: nothing may follow
		return
	}
	stream, err := out.Open()
	if err != nil {
		op.End(&telemetry.Outcome{Kind: mcp.KindCancelled, Message: "the client is gone"})
		return
	}
	e.listening.Add(1)
	defer e.listening.Add(-1)
	defer e.opts.Telemetry.ListenEnded(op.Began(), rules.Version)
	s := &subscription{id: id, stream: stream, feed: feed}
	err = s.acknowledge()
	op.EndOpen(&telemetry.Outcome{})
	if err != nil || s.follow(ctx, e) != nil {
		return
	}
	if !flight.Finish() {
		return
	}
	if in.Conn != nil && s.cancelled() != nil {
		return
	}
	result := append([]byte(nil), `{"resultType":"complete","_meta":`...)
	result = append(e.appendMeta(ctx, result, rules, in.Principal, id), '}')
	_ = stream.Send(mcp.StreamEvent{Data: jsonrpc.AppendResult(nil, id, result)})
}

type subscription struct {
	id     jsonrpc.ID
	stream mcp.Stream
	feed   mcp.Feed
}

// follow passes changes on. nil: the replica drains, and the result is due; else the client is gone.
func (s *subscription) follow(ctx context.Context, e *Era) error {
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.draining, cancel)()
	for {
		changes, err := s.feed.Next(wait, e.opts.KeepAlive)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && len(changes) == 0:
			err = s.stream.KeepAlive()
		case err == nil:
			err = s.send(changes)
		case e.draining.Err() != nil:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *subscription) send(changes []mcp.Change) error {
	for _, c := range changes {
		params := s.params()
		if c.Kind == mcp.ResourceUpdated {
			params = append(params, `,"uri":`...)
			params = jsonrpc.AppendString(params, c.URI)
		}
		if err := s.notify(c.Kind.Notification(), append(params, '}')); err != nil {
			return err
		}
	}
	return nil
}

func (s *subscription) acknowledge() error {
	f := s.feed.Honoured()
	params := append(s.params(), `,"notifications":{`...)
	for _, flag := range []struct {
		name string
		on   bool
	}{{"toolsListChanged", f.Tools}, {"promptsListChanged", f.Prompts}, {"resourcesListChanged", f.Resources}} {
		if flag.on {
			params = append(params, `"`+flag.name+`":true,`...)
		}
	}
	if len(f.URIs) > 0 {
		params = append(params, `"resourceSubscriptions":[`...)
		for _, uri := range f.URIs {
			params = append(jsonrpc.AppendString(params, uri), ',')
		}
		params = append(params[:len(params)-1], `],`...)
	}
	if params[len(params)-1] == ',' {
		params = params[:len(params)-1]
	}
	return s.notify(mcp.NotifyAcknowledged, append(params, `}}`...))
}

// cancelled tells the client that the server ends the subscription. Only a connection that many share
// needs it: elsewhere the stream ends (Patterns, "Cancellation").
func (s *subscription) cancelled() error {
	params := append(s.params(), `,"requestId":`...)
	params = append(append(params, s.id.Raw()...), '}')
	return s.notify(mcp.NotifyCancelled, params)
}

// params opens a params object with the subscription's id in its `_meta`.
func (s *subscription) params() []byte {
	params := append([]byte(nil), `{"_meta":{"`+mcp.MetaSubscriptionID+`":`...)
	params = append(params, s.id.Raw()...)
	return append(params, '}')
}

func (s *subscription) notify(m mcp.Method, params []byte) error {
	return s.stream.Send(mcp.StreamEvent{Data: jsonrpc.AppendNotification(nil, string(m), params)})
}

// filter reads what the client wants to hear of. Unknown members are ignored: what is not honoured
// is missing from the acknowledgement.
func (e *Era) filter(raw json.RawMessage) (mcp.Filter, error) {
	var f mcp.Filter
	if jsonrpc.TypeOf(raw) != jsonrpc.Object {
		return f, mcp.Errorf(mcp.KindInvalidParams, "params.notifications must be an object: it names what to listen for")
	}
	// By exact names: encoding/json would take others for them.
	err := jsonrpc.Members(raw, func(key string, value json.RawMessage) error {
		var into any
		switch key {
		case "toolsListChanged":
			into = &f.Tools
		case "promptsListChanged":
			into = &f.Prompts
		case "resourcesListChanged":
			into = &f.Resources
		case "resourceSubscriptions":
			into = &f.URIs
		default:
			return nil
		}
		return json.Unmarshal(value, into)
	})
	if err != nil {
		return f, mcp.Errorf(mcp.KindInvalidParams, "params.notifications: %v", err)
	}
	if n := len(f.URIs); n > e.opts.MaxSubscriptions {
		e.opts.Telemetry.Hit(telemetry.BoundSubscriptions)
		return f, mcp.Errorf(mcp.KindInvalidParams, "params.notifications.resourceSubscriptions has %d entries: the limit is %d", n, e.opts.MaxSubscriptions)
	}
	for _, uri := range f.URIs {
		if err := mcp.CheckURI("an entry of params.notifications.resourceSubscriptions", uri); err != nil {
			return f, err
		}
	}
	slices.Sort(f.URIs)
	f.URIs = slices.Compact(f.URIs)
	return f, nil
}
