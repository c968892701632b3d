package stateful

import (
	"bytes"
	"context"
	"crypto/rand"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// initialize negotiates the revision and creates a session (Lifecycle, "Initialization"). It
// ignores a session id in the message, because the client requests a new session.
func (e *Era) initialize(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
	began, rules := time.Now(), era.Assumed(in)
	var rec *record
	var result []byte
	sess, err := sessionOf(in, msg)
	if err == nil {
		rules = revision.Negotiate(sess.Version)
		rec, result, err = e.begin(ctx, in, rules, sess, out)
	}
	o := resultOf(msg.ID, result)
	if err != nil {
		o = era.Failure(rules, msg.ID, err)
	}
	_, op := e.observeSince(ctx, in, rec, rules, msg, began)
	op.End(&o.Outcome)
	respond(out, o)
}

// sealsID reports whether a session that a message begins has no record until its id is used.
func (e *Era) sealsID(in *mcp.Incoming) bool { return in.PerRequest && e.ids != nil }

// begin begins a session, whose id it passes to out. It returns the session's record, which is not
// stored if the id is sealed, and the result of initialize.
func (e *Era) begin(
	ctx context.Context, in *mcp.Incoming, rules *revision.Rules, sess *state.Session, out mcp.Outgoing,
) (*record, []byte, *mcp.Error) {
	seals := e.sealsID(in)
	if !seals { // before any work
		if err := e.chargeAddress(in); err != nil {
			return nil, nil, err
		}
	}
	desc := e.server.Describe(ctx, rules, in.Set, in.Principal)
	sess.Version, sess.Digest = rules.Version, desc.Digest()
	if seals {
		id, err := sealID(e.ids, sess)
		if err == nil && len(id) <= maxSealedID {
			out.Session(id)
			return e.newRecord(sess), initializeResult(rules, desc), nil
		}
		if err != nil {
			e.o.Logger.Warn("a session id could not be sealed", "error", err)
		}
		if err := e.chargeAddress(in); err != nil {
			return nil, nil, err
		}
	}
	s, err := e.newSession(ctx, in, sess)
	if err != nil {
		return nil, nil, e.notCreated(err)
	}
	out.Session(s.id)
	return s.rec.Load(), initializeResult(rules, desc), nil
}

// newSession stores a new session, and returns its copy. The error is the store's.
func (e *Era) newSession(ctx context.Context, in *mcp.Incoming, sess *state.Session) (*localSession, error) {
	sctx, cancel := state.Bounded(ctx)
	defer cancel()
	returns := e.returns.Load()
	if err := e.store.Create(sctx, sess); err != nil {
		return nil, err
	}
	e.counters.SessionsCreated.Add(1)
	s := e.put(sess, in.Memory.Holder())
	s.loadEnds(nil, returns)
	return s, nil
}

// notCreated converts the error of newSession, and counts it.
func (e *Era) notCreated(err error) *mcp.Error {
	me := e.stateError("a session could not be created", err)
	if me.Kind == mcp.KindLimit {
		e.o.Telemetry.Hit(limitOf(err, telemetry.BoundSessions))
	}
	return me
}

// sessionOf reads the params of initialize. The version of the returned session is the requested
// one.
func sessionOf(in *mcp.Incoming, msg jsonrpc.Message) (*state.Session, *mcp.Error) {
	p, err := mcp.ParamsOf(msg)
	if err != nil {
		return nil, mcp.AsError(err)
	}
	version, ok := jsonrpc.Unquote(p.More().Version)
	if !ok {
		return nil, mcp.Errorf(mcp.KindInvalidParams, "initialize needs protocolVersion, a string: the newest version that the client speaks")
	}
	if _, err := mcp.ParseCapabilities(p.More().Capabilities); err != nil {
		return nil, mcp.Errorf(mcp.KindInvalidParams, "capabilities of initialize: %w", err)
	}
	if len(p.More().ClientInfo) > 0 && jsonrpc.TypeOf(p.More().ClientInfo) != jsonrpc.Object {
		return nil, mcp.Errorf(mcp.KindInvalidParams, "clientInfo of initialize must be an object")
	}
	return &state.Session{
		ID:           rand.Text(),
		Version:      version,
		Set:          in.Set,
		Principal:    in.Principal,
		Address:      in.Address,
		ClientInfo:   bytes.Clone(p.More().ClientInfo),
		Capabilities: bytes.Clone(p.More().Capabilities),
		Created:      time.Now(),
	}, nil
}

func initializeResult(rules *revision.Rules, d mcp.Description) []byte {
	b := jsonrpc.AppendString(append(make([]byte, 0, 512), `{"protocolVersion":`...), rules.Version)
	b = jsonrpc.AppendMember(b, "capabilities", d.Capabilities)
	b = jsonrpc.AppendMember(b, "serverInfo", d.ServerInfo)
	if d.Instructions != "" {
		b = jsonrpc.AppendString(append(b, `,"instructions":`...), d.Instructions)
	}
	return append(b, '}')
}
