package mcp

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Sent has the params of a request as the client sent them. They are opened one level deep, once,
// for every method: each member is the raw JSON value, nil if absent or null. All values alias the
// body. Only Parse, Unwrap and Resume modify it.
type Sent struct {
	// raw is the whole object, nulls included; nil when the request had no params.
	raw json.RawMessage
	// Target is the value that Mcp-Name mirrors, the `name` of a tool or prompt or the `uri` of a
	// resource. HasTarget is false if the member is absent or not a string, and for a method without
	// one.
	Target    string
	HasTarget bool

	Arguments json.RawMessage // tools/call, prompts/get
	Meta      Meta
	// more is nil if the request has none of the members of More.
	more *More
}

// More has the members of params that a plain call does not send.
type More struct {
	Cursor         json.RawMessage // lists
	InputResponses json.RawMessage // requests of a later round
	RequestState   json.RawMessage
	Ref            json.RawMessage // completion/complete
	Argument       json.RawMessage
	Context        json.RawMessage
	Level          json.RawMessage // logging/setLevel
	RequestID      json.RawMessage // notifications/cancelled
	Notifications  json.RawMessage // subscriptions/listen
	Task           json.RawMessage // tools/call of 2025-11-25: the client wants a task
	Version        json.RawMessage // initialize: protocolVersion
	Capabilities   json.RawMessage // initialize
	ClientInfo     json.RawMessage // initialize
}

// noMore is that of requests without them.
var noMore More

// More returns the members that a plain call does not have. It never returns nil. The caller must
// not change them.
func (p *Sent) More() *More {
	if p.more == nil {
		return &noMore
	}
	return p.more
}

// member returns a pointer to the member with a name, or nil if there is none.
func (m *More) member(name string) *json.RawMessage {
	switch name {
	case "cursor":
		return &m.Cursor
	case "inputResponses":
		return &m.InputResponses
	case "requestState":
		return &m.RequestState
	case "ref":
		return &m.Ref
	case "argument":
		return &m.Argument
	case "context":
		return &m.Context
	case "level":
		return &m.Level
	case "requestId":
		return &m.RequestID
	case "notifications":
		return &m.Notifications
	case "task":
		return &m.Task
	case "protocolVersion":
		return &m.Version
	case "capabilities":
		return &m.Capabilities
	case "clientInfo":
		return &m.ClientInfo
	}
	return nil
}

// Meta is a request's `_meta`, opened in the same way.
type Meta struct {
	// Raw is the whole object; nil if absent.
	Raw           json.RawMessage
	ProgressToken json.RawMessage
	Version       json.RawMessage // io.modelcontextprotocol/protocolVersion
	ClientInfo    json.RawMessage // io.modelcontextprotocol/clientInfo
	Capabilities  json.RawMessage // io.modelcontextprotocol/clientCapabilities
	// more is nil if the request has none of its members.
	more *MoreMeta
	// IsPassedOn is whether Raw has members that backends get: others than the progress token and those of the specification's name space
	// above.
	IsPassedOn bool
}

// MoreMeta has the members of `_meta` that a plain call does not send.
type MoreMeta struct {
	LogLevel json.RawMessage // io.modelcontextprotocol/logLevel
	// The trace context of the client (W3C Trace Context and Baggage), unverified.
	TraceParent, TraceState, Baggage json.RawMessage
}

// noMoreMeta is that of requests without them.
var noMoreMeta MoreMeta

// More returns the members that a plain call does not send, never nil. The caller does not change them.
func (m *Meta) More() *MoreMeta {
	if m.more == nil {
		return &noMoreMeta
	}
	return m.more
}

// SetMore sets the members that a plain call does not send.
func (m *Meta) SetMore(more MoreMeta) { m.more = &more }

// member returns the place of the member of a name; nil if there is none.
func (m *MoreMeta) member(name string) *json.RawMessage {
	switch name {
	case MetaLogLevel:
		return &m.LogLevel
	case MetaTraceParent:
		return &m.TraceParent
	case MetaTraceState:
		return &m.TraceState
	case MetaBaggage:
		return &m.Baggage
	}
	return nil
}

// checkToken returns an error for an invalid progress token.
func checkToken(token json.RawMessage) error {
	switch t := jsonrpc.TypeOf(token); {
	case token == nil:
		return nil
	case t != jsonrpc.String && t != jsonrpc.Number, len(token) > maxToken:
		return Errorf(KindInvalidParams, "_meta.progressToken must be a string or a number of at most %d bytes: every progress message repeats it", maxToken)
	}
	return nil
}

// maxToken bounds a progress token, like the id of a request.
const maxToken = jsonrpc.MaxIDLen

// Keys of `_meta` in the specification's own name space.
const (
	MetaVersion        = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo     = "io.modelcontextprotocol/clientInfo"
	MetaCapabilities   = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel       = "io.modelcontextprotocol/logLevel"
	MetaServerInfo     = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID = "io.modelcontextprotocol/subscriptionId"
)

// Keys of `_meta` that carry the trace context, the only ones without a prefix.
const (
	MetaTraceParent = "traceparent"
	MetaTraceState  = "tracestate"
	MetaBaggage     = "baggage"
)

// ParamsOf parses the params of a message into new Params, never nil.
func ParamsOf(msg jsonrpc.Message) (*Params, error) {
	p := new(Params)
	return p, p.Parse(Method(msg.Method), msg.Params, msg.Outline)
}

// Parse parses the params of a message that jsonrpc.Parse accepted, or a copy of them. outline is
// the message's outline; without one Parse scans the params again. The decided params become equal
// to the sent ones.
//
// It fails, and leaves p zero, in three cases: a member that is read is duplicated, so that another
// reader may use the other value; `_meta` is not absent, null or an object; something is longer
// than MaxURI, MaxName or MaxClientInfo.
func (p *Params) Parse(method Method, raw json.RawMessage, outline *jsonrpc.Outline) error {
	*p = Params{}
	if err := p.Sent.parse(method, raw, outline); err != nil {
		*p = Params{}
		return Errorf(KindInvalidParams, "params: %v", err)
	}
	p.Target, p.Arguments = p.Sent.Target, p.Sent.Arguments
	return nil
}

func (p *Sent) parse(method Method, raw json.RawMessage, outline *jsonrpc.Outline) error {
	if p.raw = raw; len(raw) == 0 {
		return nil
	}
	target, targeted, hasNull := method.target(), false, false
	err := outline.Members(raw, func(key []byte, value json.RawMessage) error {
		if string(key) == target {
			if targeted {
				return repeated(key)
			}
			targeted = true
			p.Target, p.HasTarget = jsonrpc.Unquote(value)
			return p.checkTarget(target)
		}
		hasNull = hasNull || isNull(value)
		switch string(key) {
		case "arguments":
			return once(&p.Arguments, key, value)
		case "_meta":
			if p.Meta.Raw != nil {
				return repeated(key)
			}
			return p.Meta.parse(value, raw, outline)
		}
		if noMore.member(string(key)) == nil {
			return nil
		}
		if p.more == nil {
			p.more = new(More)
		}
		return once(p.more.member(string(key)), key, value)
	})
	if hasNull {
		p.dropNulls()
	}
	if err == nil {
		err = p.checkNames(method)
	}
	return err
}

// dropNulls makes null members absent.
func (p *Sent) dropNulls() {
	dropNulls(&p.Arguments, &p.Meta.Raw)
	if m := p.more; m != nil {
		dropNulls(&m.Cursor, &m.InputResponses, &m.RequestState, &m.Ref, &m.Argument, &m.Context, &m.Level, &m.RequestID,
			&m.Notifications, &m.Task, &m.Version, &m.Capabilities, &m.ClientInfo)
	}
}

// dropNulls makes null members absent.
func (m *Meta) dropNulls() {
	dropNulls(&m.ProgressToken, &m.Version, &m.ClientInfo, &m.Capabilities)
	if n := m.more; n != nil {
		dropNulls(&n.LogLevel, &n.TraceParent, &n.TraceState, &n.Baggage)
	}
}

// parse parses a `_meta` in params with an outline.
func (m *Meta) parse(raw, params json.RawMessage, outline *jsonrpc.Outline) error {
	if m.Raw = raw; isNull(raw) {
		return nil // the caller drops the message
	}
	if jsonrpc.TypeOf(raw) != jsonrpc.Object {
		return Errorf(KindInvalidParams, "_meta must be an object")
	}
	hasNull := false
	err := outline.MetaMembers(params, raw, func(key []byte, value json.RawMessage) error {
		hasNull = hasNull || isNull(value)
		switch string(key) {
		case "progressToken":
			return once(&m.ProgressToken, key, value)
		case MetaVersion:
			return once(&m.Version, key, value)
		case MetaClientInfo:
			return once(&m.ClientInfo, key, value)
		case MetaCapabilities:
			return once(&m.Capabilities, key, value)
		}
		m.IsPassedOn = m.IsPassedOn || string(key) != MetaLogLevel
		if noMoreMeta.member(string(key)) == nil {
			return nil
		}
		if m.more == nil {
			m.more = new(MoreMeta)
		}
		return once(m.more.member(string(key)), key, value)
	})
	if hasNull {
		m.dropNulls()
	}
	if err == nil {
		err = checkToken(m.ProgressToken)
	}
	if err == nil {
		err = checkString("_meta."+MetaVersion, m.Version, MaxName)
	}
	if err == nil {
		err = checkClient("_meta", m.ClientInfo, m.Capabilities)
	}
	return err
}

// once sets a member, or fails if it is duplicated.
func once(member *json.RawMessage, key []byte, value json.RawMessage) error {
	if *member != nil {
		return repeated(key)
	}
	*member = value
	return nil
}

func isNull(value json.RawMessage) bool { return jsonrpc.TypeOf(value) == jsonrpc.Null }

// dropNulls makes null members absent. Call it after all are read, so that duplicates are found.
func dropNulls(members ...*json.RawMessage) {
	for _, m := range members {
		if isNull(*m) {
			*m = nil
		}
	}
}

func repeated(key []byte) error {
	return Errorf(KindInvalidParams, "the member %q occurs more than once; send it once", key)
}
