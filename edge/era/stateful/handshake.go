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
	began := time.Now()
	refuse := func(rules *revision.Rules, err *mcp.Error) {
		o := failure(rules, msg.ID, err)
		_, op := e.observeSince(ctx, in, nil, rules, msg, began)
		op.End(&o.outcome)
		respond(out, o)
	}
	sess, err := sessionOf(in, msg)
	if err != nil {
		refuse(era.Assumed(in), err)
		return
	}
	rules := revision.Negotiate(sess.Version)
	sess.Version = rules.Version
	desc := e.server.Describe(ctx, rules, in.Set, in.Principal)
	sess.Digest = desc.Digest()
	id, rec, err := e.begin(ctx, in, sess)
	if err != nil {
		refuse(rules, err)
		return
	}
	_, op := e.observeSince(ctx, in, rec, rules, msg, began)
	op.End(&telemetry.Outcome{})
	out.Session(id)
	respond(out, resultOf(msg.ID, initializeResult(rules, desc)))
}

// sealsID reports whether a session that a message begins has no record until its id is used.
func (e *Era) sealsID(in *mcp.Incoming) bool { return in.PerRequest && e.ids != nil }

// begin begins a session. It returns the session's id, and its record, which is not stored if the id
// is sealed.
func (e *Era) begin(ctx context.Context, in *mcp.Incoming, sess *state.Session) (string, *record, *mcp.Error) {
	if e.sealsID(in) {
		id, err := sealID(e.ids, sess)
		switch {
		case err != nil:
			e.log.Warn("a session id could not be sealed", "error", err)
		case len(id) <= maxSealedID:
			return id, e.newRecord(sess), nil
		}
	}
	if err := e.chargeAddress(in); err != nil {
		return "", nil, err
	}
	s, err := e.newSession(ctx, in, sess)
	if err != nil {
		return "", nil, e.notCreated(err)
	}
	return s.id, s.rec.Load(), nil
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
	if len(p.More().Capabilities) > 0 {
		if _, err := mcp.ParseCapabilities(p.More().Capabilities); err != nil {
			return nil, mcp.Errorf(mcp.KindInvalidParams, "capabilities of initialize: %w", err)
		}
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
