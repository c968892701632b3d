package stateful

import (
	"bytes"
	"context"
	"crypto/rand"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// initialize negotiates the revision and creates a session (Lifecycle, "Initialization"). It
// ignores a session id in the message, because the client requests a new session.
func (e *Era) initialize(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
	began := time.Now()
	refuse := func(rules *revision.Rules, err *mcp.Error) {
		o := failure(rules, msg.ID, err)
		_, op := e.observeSince(ctx, in, nil, rules, msg, began)
		op.End(&o.outcome)
		respond(out, o)
	}
	sess, err := newSession(in, msg)
	if err != nil {
		refuse(assumed(in), err)
		return
	}
	if in.Principal.Anonymous() && !e.addresses.begin(in.Address) {
		e.o.Telemetry.Hit(telemetry.BoundAddressSessions)
		e.refuse(ctx, in, out, revision.Negotiate(sess.Version), msg, mcp.Errorf(mcp.KindLimit,
			"your address has begun %d sessions, as many as it may, and regains one every %s: use those it has, or try again later",
			e.addresses.limit, e.addresses.pause()))
		return
	}
	rules := revision.Negotiate(sess.Version)
	sess.Version = rules.Version
	desc := e.dispatch.Describe(ctx, rules, in.Set, in.Principal)
	sess.Digest = desc.Digest()
	sctx, cancel := state.Bounded(ctx)
	defer cancel()
	returns := e.returns.Load()
	if err := e.store.Create(sctx, sess); err != nil {
		me := stateError(err)
		if me.Kind == mcp.KindStateUnavailable {
			e.counters.StateErrors.Add(1)
			e.log.Warn("a session could not be created", "error", err)
		}
		if me.Kind == mcp.KindLimit {
			e.o.Telemetry.Hit(limitOf(err, telemetry.BoundSessions))
		}
		refuse(rules, me)
		return
	}
	e.counters.SessionsCreated.Add(1)
	s := e.put(sess, in.Memory.Holder())
	s.loadEnds(nil, returns)
	rec := s.rec.Load()
	_, op := e.observeSince(ctx, in, rec, rules, msg, began)
	op.End(&telemetry.Outcome{})
	out.Session(sess.ID)
	respond(out, resultOf(msg.ID, initializeResult(rules, desc)))
}

// newSession reads the params of initialize. The version of the returned session is the requested
// one.
func newSession(in *mcp.Incoming, msg jsonrpc.Message) (*state.Session, *mcp.Error) {
	p, err := mcp.ParamsOf(msg)
	if err != nil {
		return nil, mcp.AsError(err)
	}
	version, ok := jsonrpc.Unquote(p.Version)
	if !ok {
		return nil, mcp.Errorf(mcp.KindInvalidParams, "initialize needs protocolVersion, a string: the newest version that the client speaks")
	}
	if len(p.Capabilities) > 0 {
		if _, err := mcp.ParseCapabilities(p.Capabilities); err != nil {
			return nil, mcp.Errorf(mcp.KindInvalidParams, "capabilities of initialize: %w", err)
		}
	}
	if len(p.ClientInfo) > 0 && jsonrpc.TypeOf(p.ClientInfo) != jsonrpc.Object {
		return nil, mcp.Errorf(mcp.KindInvalidParams, "clientInfo of initialize must be an object")
	}
	return &state.Session{
		ID:           rand.Text(),
		Version:      version,
		Set:          in.Set,
		Principal:    in.Principal,
		Address:      in.Address,
		ClientInfo:   bytes.Clone(p.ClientInfo),
		Capabilities: bytes.Clone(p.Capabilities),
		Created:      time.Now(),
	}, nil
}

func initializeResult(rules *revision.Rules, d mcp.Description) []byte {
	b := append(make([]byte, 0, 512), `{"protocolVersion":`...)
	b = jsonrpc.AppendString(b, rules.Version)
	b = append(b, `,"capabilities":`...)
	b = append(b, orObject(d.Capabilities)...)
	b = append(b, `,"serverInfo":`...)
	b = append(b, orObject(d.ServerInfo)...)
	if d.Instructions != "" {
		b = append(b, `,"instructions":`...)
		b = jsonrpc.AppendString(b, d.Instructions)
	}
	return append(b, '}')
}

func orObject(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("{}")
	}
	return raw
}
