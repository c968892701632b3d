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
	feed, release, err := e.subscribe(ctx, in, rules, id, params)
	if err != nil {
		refuse(&op, out, rules, id, err)
		return
	}
	defer release()
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
	if err != nil || s.follow(ctx, e) != nil || !flight.Finish() {
		return
	}
	if in.Conn != nil && s.cancelled() != nil {
		return
	}
	result := appendMeta([]byte(`{"resultType":"complete"`), e.server.ServerInfo(rules, in.Set), id)
	_ = stream.Send(mcp.StreamEvent{Data: jsonrpc.AppendResult(nil, id, append(result, '}'))})
}

// subscribe opens the feed of a subscription, which counts until release is called.
func (e *Era) subscribe(
	ctx context.Context, in *mcp.Incoming, rules *revision.Rules, id jsonrpc.ID, params *mcp.Params,
) (feed mcp.Feed, release func(), _ error) {
	filter, err := e.filter(params)
	if err != nil {
		return nil, nil, err
	}
	uncount, err := e.listens.take(in.Principal.Key(), bytesOf(filter.URIs), e.opts.Telemetry) // before any work for the subscription
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if feed == nil {
			uncount()
		}
	}()
	if filter.URIs, err = e.permitWatches(ctx, in, rules, id, filter.URIs); err != nil {
		return nil, nil, err
	}
	feed, err = e.dispatch.Changes(ctx, in.Set, in.Principal, filter)
	if err != nil {
		return nil, nil, err
	}
	return feed, func() { feed.Close(); uncount() }, nil
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
	call := era.NewCall(in, id, mcp.MethodSubscribe)
	call.Header = in.Header
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
			params = jsonrpc.AppendString(append(params, `,"uri":`...), c.URI)
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
	filter := []byte{'{'}
	if f.Tools {
		filter = jsonrpc.AppendMember(filter, "toolsListChanged", []byte("true"))
	}
	if f.Prompts {
		filter = jsonrpc.AppendMember(filter, "promptsListChanged", []byte("true"))
	}
	if f.Resources {
		filter = jsonrpc.AppendMember(filter, "resourcesListChanged", []byte("true"))
	}
	if len(f.URIs) > 0 {
		filter = jsonrpc.AppendMember(filter, "resourceSubscriptions", arrayOf(f.URIs))
	}
	if len(f.Tasks) > 0 {
		filter = jsonrpc.AppendMember(filter, "taskIds", arrayOf(f.Tasks))
	}
	params := jsonrpc.AppendMember(s.params(), "notifications", append(filter, '}'))
	return s.notify(mcp.NotifyAcknowledged, append(params, '}'))
}

// arrayOf returns the array of at least one string.
func arrayOf(list []string) []byte {
	out := []byte{'['}
	for _, one := range list {
		out = append(jsonrpc.AppendString(out, one), ',')
	}
	out[len(out)-1] = ']'
	return out
}

// cancelled notifies the client that the server ends the subscription. It is needed only on a
// connection that carries many requests: otherwise the stream ends (Patterns, "Cancellation").
func (s *subscription) cancelled() error {
	params := jsonrpc.AppendMember(s.params(), "requestId", []byte(s.id.Raw()))
	return s.notify(mcp.NotifyCancelled, append(params, '}'))
}

// params begins a params object with the subscription's id in its `_meta`.
func (s *subscription) params() []byte {
	return append([]byte(`{"_meta":{"`+mcp.MetaSubscriptionID+`":`+s.id.Raw()), '}')
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
func (e *Era) filter(params *mcp.Params) (mcp.Filter, error) {
	var f mcp.Filter
	raw := params.More().Notifications
	if jsonrpc.TypeOf(raw) != jsonrpc.Object {
		return f, mcp.Errorf(mcp.KindInvalidParams, "params.notifications must be an object: it names what to listen for")
	}
	// Names must match exactly: encoding/json would ignore case.
	members := map[string]any{
		"toolsListChanged": &f.Tools, "promptsListChanged": &f.Prompts, "resourcesListChanged": &f.Resources,
		"resourceSubscriptions": &f.URIs, "taskIds": &f.Tasks,
	}
	err := jsonrpc.Members(raw, func(key string, value json.RawMessage) error {
		member, known := members[key]
		if !known || json.Unmarshal(value, member) == nil {
			return nil
		}
		want := "true or false"
		if _, list := member.(*[]string); list {
			want = "a list of strings"
		}
		return mcp.Errorf(mcp.KindInvalidParams, "params.notifications.%s must be %s", key, want)
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
	if caps, _ := mcp.ParseCapabilities(params.Meta.Capabilities); len(f.Tasks) > 0 && !caps.Extension(mcp.ExtensionTasks) {
		return f, era.TasksUndeclared("params.notifications.taskIds")
	}
	slices.Sort(f.URIs)
	slices.Sort(f.Tasks)
	f.URIs, f.Tasks = slices.Compact(f.URIs), slices.Compact(f.Tasks)
	return f, nil
}
