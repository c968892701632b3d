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

// attachment is the session's standalone stream, while this replica has it. It carries state, not
// history: its events have no ids, and what is missed is made good when it is attached again. Of several streams of a client the
// newest is attached, so that each message goes to one; the others are spare.
type attachment struct {
	number uint64
	cancel context.CancelCauseFunc
	feed   mcp.Feed
	// principal is whose lists the stream tells of.
	principal atomic.Pointer[mcp.Principal]
	// updating orders the changes of the filter.
	updating sync.Mutex
	tasks    tasksTold
}

var listsOnly = mcp.Filter{Tools: true, Resources: true, Prompts: true}

func standaloneFilter(rec *record) mcp.Filter {
	f := listsOnly
	f.URIs = rec.Subscriptions
	return f
}

// attach makes the exchange the session's standalone stream, for the caller to stay with. The newest attachment
// wins. An error means that nothing was opened; neither, that the client is gone.
func (e *Era) attach(ctx context.Context, in *mcp.Incoming, s *localSession, out mcp.Outgoing) (*standalone, *mcp.Error) {
	w := &standalone{client: ctx, e: e, s: s, expires: in.Header != nil}
	patch := state.Patch{Attach: true, Token: rand.Text()}
	if in.Principal.Subject != "" {
		patch.Principal = &in.Principal
	}
	err := w.begin(patch, in.Principal)
	if w.a == nil {
		if err == nil {
			out.Accept()
		}
		return nil, err
	}
	if err == nil {
		var oerr error
		if w.st, oerr = out.Open(); oerr == nil && w.greet(w.ctx) == nil {
			return w, nil
		}
	}
	w.detach()
	return nil, err
}

// begin attaches the stream. The caller detaches it if w.a is set afterwards, also after an error. Without an attachment and without an error
// the client is gone.
func (w *standalone) begin(patch state.Patch, who mcp.Principal) *mcp.Error {
	e, ctx := w.e, w.client
	w.a = nil
	if e.isDraining() {
		return shuttingDown()
	}
	rec, err := e.update(ctx, w.s, patch)
	if err != nil {
		return err
	}
	e.notify(ctx, state.SessionEvent{Kind: state.SessionChanged, Session: w.s.id})
	// Resources are watched once the stream is open: a slow backend must not keep it from the client.
	feed, ferr := e.dispatch.Changes(ctx, who, listsOnly)
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
	return e.occupy(w.s, w.a)
}

// detach gives the session's standalone stream up.
func (w *standalone) detach() {
	w.e.counters.Standalone.Add(-1)
	w.s.vacate(w.a)
	w.a.cancel(nil)
	w.a.tasks.end()
	w.a.feed.Close()
}

// occupy makes a the session's attachment here.
func (e *Era) occupy(s *localSession, a *attachment) *mcp.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended != nil:
		return sessionNotFound()
	case e.closed.Load(), e.isDraining():
		return shuttingDown()
	case s.standalone != nil && s.standalone.number > a.number, s.rec.Load().Attachment > a.number:
		a.cancel(errSuperseded)
		return nil
	case s.standalone != nil:
		s.standalone.cancel(errSuperseded)
	}
	s.standalone, s.unattached = a, false
	return nil
}

func (s *localSession) vacate(a *attachment) {
	s.mu.Lock()
	if s.standalone == a {
		s.standalone = nil
	}
	s.mu.Unlock()
}

// attached is the session's attachment here, or nil.
func (s *localSession) attached() *attachment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.standalone
}

// sync brings an attachment's filter up to the newest record; false when a backend did not answer. With
// tell, what begins to be watched is told as updated.
func (e *Era) sync(ctx context.Context, s *localSession, a *attachment, tell bool) bool {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	a.updating.Lock()
	defer a.updating.Unlock()
	_, err := a.feed.Update(ctx, standaloneFilter(s.rec.Load()), tell)
	if err != nil {
		e.log.Debug("a standalone stream's subscriptions could not be updated", "error", err)
	}
	return err == nil
}

// spawnSync does it in the background, for those who must not wait for a backend. The client was told that
// it has subscribed, on another replica: what changed since then may have been missed.
func (e *Era) spawnSync(s *localSession, a *attachment) {
	e.work.Spawn(func() { e.sync(e.life, s, a, true) })
}

// become has a standalone stream tell of what a caller sees that came by other credentials.
func (e *Era) become(a *attachment, who mcp.Principal) {
	ctx, cancel := context.WithTimeout(e.life, watchTimeout)
	defer cancel()
	a.updating.Lock()
	defer a.updating.Unlock()
	if err := a.feed.Become(ctx, who); err != nil {
		e.log.Debug("a standalone stream could not be told of other rights", "error", err)
	}
}

// standalone writes to an attached stream, in its exchange's goroutine and, of tasks, in theirs.
type standalone struct {
	// client is the exchange's context; ctx ends with it, and when the attachment is superseded.
	client, ctx context.Context

	e  *Era
	s  *localSession
	a  *attachment
	st mcp.Stream
	// writing guards st.
	writing sync.Mutex
	// expires: it ends with its caller's credentials. A transport that is a connection ends that by itself.
	expires bool
	// unwatched: not all subscriptions are in force yet.
	unwatched bool
}

// greet tells what the client may have missed: changed lists by their digest, and every subscription
// once it is watched again.
func (w *standalone) greet(ctx context.Context) error {
	rec := w.s.rec.Load()
	now := w.e.dispatch.Describe(ctx, rec.rules, *w.a.principal.Load()).Digest
	if err := w.send(ctx, listChanges(rec.Digest, now)); err != nil {
		return err
	}
	w.a.tasks.begin(w)
	return w.watch(ctx)
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

// stay sends changes and keeps the stream alive until its exchange ends, and gives it up. It needs no other
// goroutine: the wait for changes ends when the stream is to be kept alive. Its callers, whose frames wait with it
// on every idle stream, are to be small: the stack is given back only while little of it is used.
func (w *standalone) stay() {
	w.e.work.Rest() // a drain closes these streams last
	defer w.e.work.Unrest()
	for w.tell() && w.spare() {
	}
}

// tell sends changes while the stream is attached; true: a newer stream of the client is attached in its place.
func (w *standalone) tell() (superseded bool) {
	ctx := w.ctx
	defer func() {
		w.detach()
		if !superseded && !errors.Is(context.Cause(ctx), errClosed) {
			w.e.leave(w.s)
		}
	}()
	for ctx.Err() == nil {
		pause, good := w.untilExpiry()
		if !good {
			w.e.counters.Expired.Add(1)
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
	w.part(ctx)
	return errors.Is(context.Cause(ctx), errSuperseded)
}

// part hints to a client whose stream the edge closes when to come back, where the revision has that.
func (w *standalone) part(ctx context.Context) {
	if errors.Is(context.Cause(ctx), errClosed) && w.s.rec.Load().rules.Priming {
		_ = w.write(mcp.StreamEvent{Retry: w.e.o.RetryHint})
	}
}

func isList(c mcp.Change) bool { return c.Kind != mcp.ResourceUpdated }

// send writes notifications and, after one of a list, notes what the client has been told of.
func (w *standalone) send(ctx context.Context, changes []mcp.Change) error {
	lists := slices.ContainsFunc(changes, isList)
	rec := w.s.rec.Load()
	var now mcp.Digest
	if lists {
		// Before the client hears of it: what changes in between is told again.
		now = w.e.dispatch.Describe(ctx, rec.rules, *w.a.principal.Load()).Digest
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
