package stateful

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// attachment is the session's standalone stream on this replica. It carries state, not history: its
// events have no ids, and a new attachment sends the missed changes. Of several streams of a client
// only the newest is attached, so that each message goes to one; the others are standbys.
type attachment struct {
	number uint64
	cancel context.CancelCauseFunc
	feed   mcp.Feed
	// principal is the caller whose lists the stream reports.
	principal atomic.Pointer[mcp.Principal]
	// updating serializes the changes of the feed.
	updating sync.Mutex
	tasks    taskReports
}

var listsOnly = mcp.Filter{Tools: true, Resources: true, Prompts: true}

// attach makes the exchange the session's standalone stream; the caller then calls serve. The
// newest attachment wins. An error means that nothing was opened. A nil stream and a nil error mean
// that the client has disconnected.
func (e *Era) attach(ctx context.Context, in *mcp.Incoming, s *localSession, out mcp.Outgoing) (*standalone, *mcp.Error) {
	w := &standalone{client: ctx, e: e, s: s, expires: in.Header != nil}
	patch := state.Patch{Attach: true, Token: rand.Text()}
	if in.Principal.Subject != "" {
		patch.Principal = &in.Principal
	}
	if err := w.begin(patch, in.Principal); err != nil {
		return nil, err
	}
	if w.a == nil {
		out.Accept()
		return nil, nil
	}
	var err error
	if w.st, err = out.Open(); err == nil && w.reportMissed() == nil {
		return w, nil
	}
	w.detach()
	return nil, nil
}

// begin attaches the stream, and sets w.a to an attachment, which the caller must detach. Without an
// error, a nil w.a means that the client has disconnected.
func (w *standalone) begin(patch state.Patch, who mcp.Principal) *mcp.Error {
	e, ctx := w.e, w.client
	w.a = nil
	if e.calls.IsDraining() {
		return mcp.ShuttingDown()
	}
	rec, err := e.update(ctx, w.s, patch)
	if err != nil {
		return err
	}
	e.notify(ctx, state.SessionEvent{Kind: state.SessionChanged, Session: w.s.id})
	// Resources are watched once the stream is open: a slow backend must not delay it.
	feed, ferr := e.dispatch.Changes(ctx, rec.Set, who, listsOnly)
	if ferr != nil && ctx.Err() != nil {
		return nil
	}
	if ferr != nil {
		return mcp.AsError(ferr)
	}
	w.a = &attachment{number: rec.Attachment, feed: feed}
	w.a.principal.Store(&who)
	w.ctx, w.a.cancel = context.WithCancelCause(ctx)
	e.counters.Standalone.Add(1)
	if err := e.setAttachment(w.s, w.a); err != nil {
		w.detach()
		w.a = nil
		return err
	}
	return nil
}

// detach detaches the session's standalone stream.
func (w *standalone) detach() {
	w.e.counters.Standalone.Add(-1)
	w.s.mu.Lock()
	if w.s.standalone == w.a {
		w.s.standalone = nil
	}
	w.s.mu.Unlock()
	w.a.cancel(nil)
	w.a.tasks.end()
	w.a.feed.Close()
}

// setAttachment makes a the session's attachment on this replica.
func (e *Era) setAttachment(s *localSession, a *attachment) *mcp.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended != nil:
		return errGone
	case e.closed.Load(), e.calls.IsDraining():
		return errClosed
	case s.standalone != nil && s.standalone.number > a.number, s.rec.Load().Attachment > a.number:
		a.cancel(errSuperseded)
		return nil
	case s.standalone != nil:
		s.standalone.cancel(errSuperseded)
	}
	s.standalone, s.unattached = a, false
	return nil
}

// attached returns the session's attachment on this replica, or nil.
func (s *localSession) attached() *attachment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.standalone
}

// sync updates an attachment's filter to the newest record. It returns false if a backend did not
// answer. If report is true, each newly watched resource is reported as updated.
func (e *Era) sync(ctx context.Context, s *localSession, a *attachment, report bool) bool {
	return e.updateFeed(ctx, a, func(ctx context.Context) error {
		filter := listsOnly
		filter.URIs = s.rec.Load().Subscriptions
		_, err := a.feed.Update(ctx, filter, report)
		return err
	})
}

// updateFeed changes the feed of an attachment. It returns false if a backend did not answer.
func (e *Era) updateFeed(ctx context.Context, a *attachment, change func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	a.updating.Lock()
	defer a.updating.Unlock()
	err := change(ctx)
	if err != nil {
		e.o.Logger.Debug("the subscriptions or rights of a standalone stream could not be updated", "error", err)
	}
	return err == nil
}

// standalone writes to an attached stream, in its exchange's goroutine and in those of its tasks.
type standalone struct {
	// client is the exchange's context. ctx ends with it, or when the attachment is superseded.
	client, ctx context.Context

	e  *Era
	s  *localSession
	a  *attachment
	st mcp.Stream
	// writing guards st.
	writing sync.Mutex
	// expires is true if the stream ends with its caller's credentials. A transport with a
	// connection ends the connection instead.
	expires bool
	// unwatched is true while some subscriptions are not in force.
	unwatched bool
}

// reportMissed reports changes that the client may have missed: changed lists by their digest, and every
// subscription once it is watched again.
func (w *standalone) reportMissed() error {
	if err := w.sendListChanges(); err != nil {
		return err
	}
	w.a.tasks.begin(w)
	return w.watch(w.ctx)
}

// write sends one event.
func (w *standalone) write(ev mcp.StreamEvent) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	return w.st.Send(ev)
}

func (w *standalone) keepAlive() error {
	w.writing.Lock()
	defer w.writing.Unlock()
	return w.st.KeepAlive()
}

func (w *standalone) watch(ctx context.Context) error {
	rec := w.s.rec.Load()
	if len(rec.Subscriptions) == 0 {
		return nil
	}
	w.unwatched = !w.e.sync(ctx, w.s, w.a, false)
	changes := make([]mcp.Change, len(rec.Subscriptions))
	for i, uri := range rec.Subscriptions {
		changes[i] = mcp.Change{Kind: mcp.ResourceUpdated, URI: uri}
	}
	return w.send(ctx, changes)
}

func listChanges(old, now mcp.Digest) []mcp.Change {
	var out []mcp.Change
	if old.Tools != now.Tools {
		out = append(out, mcp.Change{Kind: mcp.ToolsChanged})
	}
	if old.Resources != now.Resources {
		out = append(out, mcp.Change{Kind: mcp.ResourcesChanged})
	}
	if old.Prompts != now.Prompts {
		out = append(out, mcp.Change{Kind: mcp.PromptsChanged})
	}
	return out
}

// serve sends changes and keeps the stream alive until its exchange ends, and then detaches it. It
// needs no other goroutine: its wait for changes ends when a keep-alive is due. Its callers must
// have small frames, which stay on the stack of every idle stream: the runtime shrinks a stack only
// if little of it is used.
func (w *standalone) serve() {
	w.e.work.Idle() // A drain closes these streams last.
	defer w.e.work.Active()
	for w.forward() && w.standBy() {
	}
}

// forward sends changes while the stream is attached. It returns true if a newer stream of the
// client has replaced it.
func (w *standalone) forward() (superseded bool) {
	ctx := w.ctx
	defer func() {
		w.detach()
		if !superseded && !errors.Is(context.Cause(ctx), errClosed) {
			w.e.promoteStandby(w.s)
		}
	}()
	for ctx.Err() == nil {
		pause, good := w.untilExpiry()
		if !good {
			return false
		}
		changes, err := w.a.feed.Next(ctx, pause)
		switch {
		case ctx.Err() != nil:
		case err == nil && len(changes) > 0:
			err = w.send(ctx, changes)
		case err == nil:
			if err = w.keepAlive(); err == nil && w.unwatched {
				err = w.watch(ctx)
			}
		}
		if err != nil && ctx.Err() == nil {
			return false
		}
	}
	w.sendRetryHint(ctx)
	return errors.Is(context.Cause(ctx), errSuperseded)
}

// sendRetryHint sends a retry hint on a stream that the edge closes, if the revision has one.
func (w *standalone) sendRetryHint(ctx context.Context) {
	if errors.Is(context.Cause(ctx), errClosed) && w.s.rec.Load().rules.Priming {
		_ = w.write(mcp.StreamEvent{Retry: retryHint})
	}
}

// send writes notifications. After a list change it records the digest that the client knows.
func (w *standalone) send(ctx context.Context, changes []mcp.Change) error {
	lists := slices.ContainsFunc(changes, func(c mcp.Change) bool { return c.Kind != mcp.ResourceUpdated })
	rec := w.s.rec.Load()
	var now mcp.Digest
	if lists {
		// The digest is taken before the client is notified: a change in between is reported again.
		now = w.e.server.Describe(ctx, rec.rules, rec.Set, *w.a.principal.Load()).Digest()
	}
	for _, c := range changes {
		var params []byte
		if c.Kind == mcp.ResourceUpdated {
			params = uriObject(c.URI)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := w.write(mcp.StreamEvent{Data: notification(c.Kind.Notification(), params)}); err != nil {
			return err
		}
	}
	if lists && now != rec.Digest {
		if _, err := w.e.update(ctx, w.s, state.Patch{Digest: &now}); err != nil && err.Kind == mcp.KindSessionNotFound {
			return errors.New("the session has ended")
		}
	}
	return nil
}
