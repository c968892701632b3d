package capability

import (
	"encoding"
	"encoding/json"
	"strings"
	"sync"
	"time"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Call is one round of a tool call, a read or a prompt. It holds the request's metadata, and sends
// events to the client while the handler runs. Its methods may be called concurrently. Events sent
// after the handler has returned are dropped.
type Call struct {
	rc   *mcpedgev1.RequestContext
	send emitter // nil for a completion, which has no events

	mu       sync.Mutex // guards everything below, and send
	over     bool       // true after the handler has returned
	progress float64    // the highest value sent
	sent     bool       // true after the first progress event
	deferred bool       // true after Defer was sent
	answers  answers
	state    []byte
	meta     string
	cache    *mcpedgev1.CacheHint
}

// emitter sends events on the stream of a tool call, a read or a prompt.
type emitter interface {
	sendProgress(*mcpedgev1.Progress) error
	sendLog(*mcpedgev1.LogMessage) error
}

// ID returns the id of the call: random, at most 64 characters. All rounds and attempts of a call
// have the same id, so it can be an idempotency key.
func (c *Call) ID() string { return c.rc.GetCallId() }

// Attempt returns 1 for the first execution of a round, and 2 if the round is retried after a
// replica failure.
func (c *Call) Attempt() int { return int(c.rc.GetAttempt()) }

// Round returns the number of the round. The first is 1; each set of answers begins another.
func (c *Call) Round() int { return int(c.rc.GetRound()) }

// Principal returns the caller. It is never nil; an empty subject means anonymous.
func (c *Call) Principal() *Principal {
	if p := c.rc.GetPrincipal(); p != nil {
		return p
	}
	return &Principal{}
}

// Claim returns a claim of the caller's access token as text: a string without quotes, any other
// value as JSON. It returns false if the token has no such claim, or if the edge's setting `claims`
// of this backend does not name it. Principal().GetClaimsJson() returns all claims.
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

// ClientInfo returns the name and version that the client reports, for display only. It is nil if
// the client reports none.
func (c *Call) ClientInfo() *Implementation { return c.rc.GetClientInfo() }

// ClientCapabilities returns the questions that the client supports. It is never nil. A handler
// need not check it before asking: the edge answers for a client that lacks the capability. Check
// it to choose another way.
func (c *Call) ClientCapabilities() *ClientCapabilities {
	if cc := c.rc.GetClientCapabilities(); cc != nil {
		return cc
	}
	return &ClientCapabilities{}
}

// Meta returns `_meta` of the client's request, a JSON object, or nil.
func (c *Call) Meta() json.RawMessage {
	if m := c.rc.GetMetaJson(); m != "" {
		return json.RawMessage(m)
	}
	return nil
}

// SetMeta sets `_meta` of the result, a JSON object. Result.Meta has precedence. SetMeta panics if
// meta is not a JSON object.
func (c *Call) SetMeta(meta json.RawMessage) {
	mustBeObject("_meta", string(meta))
	c.mu.Lock()
	c.meta = string(meta)
	c.mu.Unlock()
}

// SetCache sets how long the client may cache the contents (0 to 30 days), and whether callers may
// share the cache entry. It applies to reads only.
func (c *Call) SetCache(ttl time.Duration, shared bool) {
	c.mu.Lock()
	c.cache = cacheHint(ttl, shared)
	c.mu.Unlock()
}

// State returns the bytes that SetState stored in an earlier round. It is nil in the first round.
func (c *Call) State() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// SetState stores bytes for the next round, if there is one. The edge encrypts them and passes them
// through the client. State and answers together are limited to 64 KiB. The slice is kept, not
// copied.
func (c *Call) SetState(state []byte) {
	c.mu.Lock()
	c.state = state
	c.mu.Unlock()
}

// WantsProgress reports whether the client receives progress. Check it if progress is expensive to
// compute.
func (c *Call) WantsProgress() bool { return c.send != nil && c.rc.GetProgressWanted() }

// WantsLog reports whether the client wants messages of this level.
func (c *Call) WantsLog(level LogLevel) bool {
	wanted := c.rc.GetLogLevel()
	return c.send != nil && wanted != mcpedgev1.LogLevel_LOG_LEVEL_UNSPECIFIED && level >= wanted
}

// LogLevel returns the lowest level that the client wants, or 0 if it wants no messages.
func (c *Call) LogLevel() LogLevel { return c.rc.GetLogLevel() }

// Progress sends the client the progress of the call out of total, with a message for people. A
// total of 0 means unknown; message may be empty. Values that do not increase are dropped, and so
// are all values if the client does not want progress. MCP: notifications/progress.
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
	_ = c.send.sendProgress(p) // a disconnected client cancels ctx
}

// Log sends the client a log message under a logger's name, which may be empty. data is any value
// that encodes as JSON; a json.RawMessage is sent verbatim. An error, also as a value of a
// map[string]any, is its text. It must not contain secrets. Messages
// below the client's level are dropped before encoding. MCP: notifications/message.
func (c *Call) Log(level LogLevel, logger string, data any) {
	if !c.WantsLog(level) {
		return
	}
	text, err := encodeJSON(printable(data))
	if err != nil {
		text, _ = encodeJSON("log data that is not JSON: " + err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		_ = c.send.sendLog(&mcpedgev1.LogMessage{Level: level, Logger: logger, DataJson: text})
	}
}

// printable replaces errors among log data by their texts, as slog does: most have no JSON.
func printable(data any) any {
	members, ok := data.(map[string]any)
	if !ok {
		return textOfError(data)
	}
	texts := make(map[string]any, len(members))
	for name, value := range members {
		texts[name] = textOfError(value)
	}
	return texts
}

// textOfError returns the text of an error without a JSON form of its own, and any other value as it
// is.
func textOfError(v any) any {
	switch v := v.(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return v
	case error:
		return v.Error()
	}
	return v
}

// extras returns the values of SetMeta and SetCache.
func (c *Call) extras() (meta string, cache *mcpedgev1.CacheHint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.meta, c.cache
}

// finish drops all later events, so that none follows the outcome.
func (c *Call) finish() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
}
