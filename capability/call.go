package capability

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Call is one round of a call of a tool, of a read or of a prompt: what the handler may know of the
// request, and its way to the client while it runs. All methods may be used concurrently and until
// the handler returns; after that events are dropped.
type Call struct {
	rc   *mcpedgev1.RequestContext
	send emitter // nil: a completion, which has no events

	mu       sync.Mutex // guards everything below, and send
	over     bool       // the handler has returned
	progress float64    // the highest sent
	sent     bool       // some progress was sent
	deferred bool       // Defer was sent
	answers  answers
	state    []byte
	meta     string
	cache    *mcpedgev1.CacheHint
}

// emitter writes an event to the stream of one kind of work.
type emitter interface {
	sendProgress(*mcpedgev1.Progress) error
	sendLog(*mcpedgev1.LogMessage) error
}

// ID is random, at most 64 characters, and the same over the rounds and re-runs of one call: a key
// for idempotency.
func (c *Call) ID() string { return c.rc.GetCallId() }

// Attempt is 1 for the first run of a round and 2 when it is run again because a replica was lost.
func (c *Call) Attempt() int { return int(c.rc.GetAttempt()) }

// Round is 1 at first, and one more each time answers came.
func (c *Call) Round() int { return int(c.rc.GetRound()) }

// Principal is who is calling; never nil. An empty subject is anonymous.
func (c *Call) Principal() *Principal {
	if p := c.rc.GetPrincipal(); p != nil {
		return p
	}
	return &Principal{}
}

// Claim is a claim of the caller's access token, as text: a string without its quotes, any other value as JSON. It is false
// where the token has none, or the edge's setting `claims` of this backend does not name it. Principal().GetClaimsJson() has
// all of them.
func (c *Call) Claim(name string) (string, bool) {
	raw, ok := c.rc.GetPrincipal().GetClaimsJson()[name]
	if !ok {
		return "", false
	}
	var text string
	if strings.HasPrefix(raw, `"`) && json.Unmarshal([]byte(raw), &text) == nil {
		return text, true
	}
	return raw, true
}

// ClientInfo is the client's own word of what it is, for display only; nil when it said nothing.
func (c *Call) ClientInfo() *Implementation { return c.rc.GetClientInfo() }

// ClientCapabilities is what the client can be asked; never nil. No check is needed before asking:
// the edge answers for a client that cannot. Check to take another way instead.
func (c *Call) ClientCapabilities() *ClientCapabilities {
	if cc := c.rc.GetClientCapabilities(); cc != nil {
		return cc
	}
	return &ClientCapabilities{}
}

// Meta is `_meta` of the client's request, a JSON object; nil when there is none.
func (c *Call) Meta() json.RawMessage {
	if m := c.rc.GetMetaJson(); m != "" {
		return json.RawMessage(m)
	}
	return nil
}

// SetMeta sets `_meta` of the result, a JSON object; a Result's own Meta wins. It panics when meta
// is not a JSON object.
func (c *Call) SetMeta(meta json.RawMessage) {
	mustBeObject("_meta", string(meta))
	c.mu.Lock()
	c.meta = string(meta)
	c.mu.Unlock()
}

// SetCache says how long the client may keep what was read (0 to 30 days), and whether all callers
// may share it. Only for reads; elsewhere it is ignored.
func (c *Call) SetCache(ttl time.Duration, shared bool) {
	c.mu.Lock()
	c.cache = cacheHint(ttl, shared)
	c.mu.Unlock()
}

// State is what SetState kept in an earlier round; nil in the first.
func (c *Call) State() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// SetState keeps bytes for the next round, if there is one: the edge carries them, sealed, through
// the client. With the answers they are bounded to 64 KiB. The slice is kept, not copied.
func (c *Call) SetState(state []byte) {
	c.mu.Lock()
	c.state = state
	c.mu.Unlock()
}

// WantsProgress reports whether progress goes anywhere; for handlers whose count is dear.
func (c *Call) WantsProgress() bool { return c.send != nil && c.rc.GetProgressWanted() }

// WantsLog reports whether the client wants messages of this level.
func (c *Call) WantsLog(level LogLevel) bool {
	wanted := c.rc.GetLogLevel()
	return c.send != nil && wanted != mcpedgev1.LogLevel_LOG_LEVEL_UNSPECIFIED && level >= wanted
}

// LogLevel is the least level the client wants; 0 when it wants no messages.
func (c *Call) LogLevel() LogLevel { return c.rc.GetLogLevel() }

// Progress tells the client how far the call is: progress out of total (0: unknown), with a message
// for people (may be empty). What does not rise, and what nobody wants, is dropped.
// MCP: notifications/progress.
func (c *Call) Progress(progress, total float64, message string) {
	if !c.WantsProgress() {
		return
	}
	p := &mcpedgev1.Progress{Progress: progress, Message: valid(message)}
	if total != 0 {
		p.Total = &total
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || (c.sent && progress <= c.progress) {
		return
	}
	c.sent, c.progress = true, progress
	_ = c.send.sendProgress(p) // a lost client shows in ctx
}

// Log sends the client a log message: any value that encodes as JSON (a json.RawMessage verbatim),
// under a logger's name (may be empty). Below the client's level it costs nothing. No secrets.
// MCP: notifications/message.
func (c *Call) Log(level LogLevel, logger string, data any) {
	if !c.WantsLog(level) {
		return
	}
	text, err := encodeJSON(data)
	if err != nil {
		text, _ = encodeJSON("log data that is not JSON: " + err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		_ = c.send.sendLog(&mcpedgev1.LogMessage{Level: level, Logger: logger, DataJson: text})
	}
}

// extras are what SetMeta and SetCache left.
func (c *Call) extras() (meta string, cache *mcpedgev1.CacheHint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.meta, c.cache
}

// finish ends events; what is left behind by a handler cannot follow the outcome.
func (c *Call) finish() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
}
