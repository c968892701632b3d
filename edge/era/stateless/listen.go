package stateless

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// listen serves subscriptions/listen. It acknowledges the honoured part of the filter and then
// sends changes, each with the subscription's id, until the client disconnects, its credentials
// expire, or the replica drains.
func (e *Era) listen(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, rules *revision.Rules, params *mcp.Params, out mcp.Outgoing, flight *mcp.InFlight) {
	ctx, op := e.observe(ctx, in, msg, rules, params)
	id := msg.ID
	filter, err := e.filter(params.More().Notifications)
	if err != nil {
		refuse(&op, out, rules, id, err)
		return
	}
	if len(filter.Tasks) > 0 {
		if caps, _ := mcp.ParseCapabilities(params.Meta.Capabilities); !caps.Extension(mcp.ExtensionTasks) {
			refuse(&op, out, rules, id, era.TasksUndeclared("params.notifications.taskIds"))
			return
		}
	}
	release, err := e.listens.take(in.Principal.Key(), bytesOf(filter.URIs), e.opts.Telemetry) // before any work for the subscription
	if err != nil {
		refuse(&op, out, rules, id, err)
		return
	}
	defer release()
	if filter.URIs, err = e.permitWatches(ctx, in, rules, id, filter.URIs); err != nil {
		refuse(&op, out, rules, id, err)
		return
	}
	feed, err := e.dispatch.Changes(ctx, in.Set, in.Principal, filter)
	if err != nil {
		refuse(&op, out, rules, id, err)
		return
	}
	defer feed.Close()
	if ctx.Err() != nil {
		op.End(&telemetry.Outcome{Kind: mcp.KindCancelled, Message: "the client cancelled the subscription"})
		out.Accept() // cancelled: nothing may be written afterwards
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
	s := &subscription{id: id, stream: stream, feed: feed, until: in.Principal.Until, credentials: ctx}
	if in.Credentials != nil {
		good, revoke := context.WithCancel(ctx)
		defer revoke()
		if stop := in.Credentials.Watch(in.Header, in.Principal, revoke); stop != nil {
			defer stop()
			s.credentials = good
		}
	}
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
	result = append(e.appendMeta(result, rules, in.Set, id), '}')
	_ = stream.Send(mcp.StreamEvent{Data: jsonrpc.AppendResult(nil, id, result)})
}

// permitAtOnce bounds the concurrent decisions on the resources of one filter; a decision by a
// policy server takes time.
const permitAtOnce = 16

// permitWatches returns the resources of a filter that may be watched. The error names the scopes
// that all of them together need. A resource that no scope permits is not honoured, without an
// error.
func (e *Era) permitWatches(ctx context.Context, in *mcp.Incoming, rules *revision.Rules, id jsonrpc.ID, uris []string) ([]string, error) {
	errs := make([]error, len(uris))
	var asking errgroup.Group
	asking.SetLimit(permitAtOnce)
	for i, uri := range uris {
		if ctx.Err() != nil {
			break
		}
		asking.Go(func() error {
			errs[i] = e.permitWatch(ctx, in, rules, id, uri)
			return nil
		})
	}
	_ = asking.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var permitted []string
	var refused *mcp.Error
	for i, err := range errs {
		var lacking *mcp.Error
		switch {
		case err == nil:
			permitted = append(permitted, uris[i])
		case errors.As(err, &lacking) && lacking.Challenge != nil:
			refused = combineChallenges(refused, lacking)
		}
	}
	if refused != nil {
		return nil, refused
	}
	return permitted, nil
}

// permitWatch decides whether a resource may be watched. A panic in the decision denies the watch,
// without further effect.
func (e *Era) permitWatch(ctx context.Context, in *mcp.Incoming, rules *revision.Rules, id jsonrpc.ID, uri string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			e.opts.Logger.ErrorContext(ctx, "a decision on a subscription panicked", "panic", p, "stack", string(debug.Stack()))
			err = mcp.Errorf(mcp.KindInternal, "internal error")
		}
	}()
	call := &mcp.Call{
		Attempt: 1, Method: mcp.MethodSubscribe, Set: in.Set, Envelope: mcp.Envelope{ID: id},
		Principal: in.Principal, Header: in.Header, HTTP: in.HTTP, From: in.Address,
	}
	if err := call.Params.Parse(call.Method, append(jsonrpc.AppendString([]byte(`{"uri":`), uri), '}'), nil); err != nil {
		return err
	}
	if call.Target, err = e.dispatch.Resolve(ctx, rules, call); err != nil {
		return err
	}
	_, err = e.dispatch.Call(ctx, rules, call, nil)
	return err
}

// combineChallenges combines the missing scopes of two requests; the first may be nil.
func combineChallenges(a, b *mcp.Error) *mcp.Error {
	if a == nil {
		return b
	}
	both := *a
	both.Challenge = &mcp.Challenge{Anonymous: a.Challenge.Anonymous, Scopes: slices.Clone(a.Challenge.Scopes)}
	for _, s := range b.Challenge.Scopes {
		if !slices.Contains(both.Challenge.Scopes, s) {
			both.Challenge.Scopes = append(both.Challenge.Scopes, s)
		}
	}
	return &both
}

type subscription struct {
	id     jsonrpc.ID
	stream mcp.Stream
	feed   mcp.Feed
	// credentials ends with the request, or when its credentials become invalid.
	credentials context.Context
	// until is when the credentials of the request expire; zero if they do not.
	until time.Time
}

// follow forwards changes. It returns nil if the result must be sent, because the replica drains or
// the credentials have expired. An error means that the client has disconnected.
func (s *subscription) follow(ctx context.Context, e *Era) error {
	wait, cancel := context.WithCancel(s.credentials)
	defer cancel()
	defer context.AfterFunc(e.draining, cancel)()
	if !s.until.IsZero() {
		wait, cancel = context.WithDeadline(wait, s.until)
		defer cancel()
	}
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
		case wait.Err() != nil:
			e.expired.Add(1)
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
		switch c.Kind {
		case mcp.ResourceUpdated:
			params = append(params, `,"uri":`...)
			params = jsonrpc.AppendString(params, c.URI)
		case mcp.TaskChanged:
			params = append(append(params, ','), c.Task...)
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
	if len(f.Tasks) > 0 {
		params = append(params, `"taskIds":[`...)
		for _, id := range f.Tasks {
			params = append(jsonrpc.AppendString(params, id), ',')
		}
		params = append(params[:len(params)-1], `],`...)
	}
	if params[len(params)-1] == ',' {
		params = params[:len(params)-1]
	}
	return s.notify(mcp.NotifyAcknowledged, append(params, `}}`...))
}

// cancelled notifies the client that the server ends the subscription. It is needed only on a
// connection that carries many requests: otherwise the stream ends (Patterns, "Cancellation").
func (s *subscription) cancelled() error {
	params := append(s.params(), `,"requestId":`...)
	params = append(append(params, s.id.Raw()...), '}')
	return s.notify(mcp.NotifyCancelled, params)
}

// params begins a params object with the subscription's id in its `_meta`.
func (s *subscription) params() []byte {
	params := append([]byte(nil), `{"_meta":{"`+mcp.MetaSubscriptionID+`":`...)
	params = append(params, s.id.Raw()...)
	return append(params, '}')
}

func (s *subscription) notify(m mcp.Method, params []byte) error {
	return s.stream.Send(mcp.StreamEvent{Data: jsonrpc.AppendNotification(nil, string(m), params)})
}

// maxListBytes bounds the total bytes of the entries of a list in a filter, because each URI is
// compared with all templates in all spellings.
const maxListBytes = 256 << 10

// bounded checks a list of a filter.
func (e *Era) bounded(name string, list []string, check func(what, entry string) error) error {
	name = "params.notifications." + name
	if n := len(list); n > e.opts.MaxSubscriptions {
		e.opts.Telemetry.Hit(telemetry.BoundSubscriptions)
		return mcp.Errorf(mcp.KindInvalidParams, "%s has %d entries: the limit is %d", name, n, e.opts.MaxSubscriptions)
	}
	bytes := 0
	for _, one := range list {
		if err := check("an entry of "+name, one); err != nil {
			return err
		}
		bytes += len(one)
	}
	if bytes > maxListBytes {
		return mcp.Errorf(mcp.KindInvalidParams, "the entries of %s have %d bytes together: the limit is %d, listen for the rest in another request",
			name, bytes, maxListBytes)
	}
	return nil
}

// filter reads the client's filter. Unknown members are ignored: they are missing from the
// acknowledgement.
func (e *Era) filter(raw json.RawMessage) (mcp.Filter, error) {
	var f mcp.Filter
	if jsonrpc.TypeOf(raw) != jsonrpc.Object {
		return f, mcp.Errorf(mcp.KindInvalidParams, "params.notifications must be an object: it names what to listen for")
	}
	// Names must match exactly: encoding/json would ignore case.
	err := jsonrpc.Members(raw, func(key string, value json.RawMessage) error {
		flag, list := map[string]*bool{
			"toolsListChanged": &f.Tools, "promptsListChanged": &f.Prompts, "resourcesListChanged": &f.Resources,
		}[key], map[string]*[]string{"resourceSubscriptions": &f.URIs, "taskIds": &f.Tasks}[key]
		switch {
		case flag != nil && json.Unmarshal(value, flag) != nil:
			return mcp.Errorf(mcp.KindInvalidParams, "params.notifications.%s must be true or false", key)
		case list != nil && json.Unmarshal(value, list) != nil:
			return mcp.Errorf(mcp.KindInvalidParams, "params.notifications.%s must be a list of strings", key)
		}
		return nil
	})
	if err != nil {
		return f, err
	}
	if err := e.bounded("resourceSubscriptions", f.URIs, mcp.CheckURI); err != nil {
		return f, err
	}
	if err := e.bounded("taskIds", f.Tasks, mcp.CheckName); err != nil {
		return f, err
	}
	for _, list := range []*[]string{&f.URIs, &f.Tasks} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return f, nil
}
