package tasks

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// origin is the request that began a task: what any replica needs, beside its session, to run its first round. The record of its call has
// it in place of params.
type origin struct {
	// Call is the contract's call_id, Params those of the request.
	Call   string          `json:"call"`
	Params json.RawMessage `json:"params"`
	// Asked is how often the client was asked before the call became a task, State the backend's state at that time, and Responses the
	// answers.
	Asked     int        `json:"asked,omitempty"`
	State     []byte     `json:"state,omitempty"`
	Responses []response `json:"responses,omitempty"`
}

type response struct {
	Key    string          `json:"key"`
	Method mcp.Method      `json:"method,omitempty"`
	Result json.RawMessage `json:"result"`
}

// originOf returns the origin of a request.
func originOf(c *mcp.Call) *origin {
	o := &origin{Call: c.ID, Params: c.Params.Raw, Asked: max(c.Round, 1) - 1, State: c.State}
	for _, r := range c.Responses {
		o.Responses = append(o.Responses, response{r.Key, r.Method, r.Result})
	}
	return o
}

func (o *origin) encode() ([]byte, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be kept: %w", err)
	}
	return raw, nil
}

func readOrigin(raw []byte) (*origin, error) {
	o := new(origin)
	if err := json.Unmarshal(raw, o); err != nil {
		return nil, fmt.Errorf("the task's record: %w", err)
	}
	return o, nil
}

// sessionOf returns the session of a task that a request makes.
func sessionOf(id, version string, c *mcp.Call, created time.Time) *state.Session {
	return &state.Session{
		ID: id, Version: version, Principal: c.Principal, Address: c.From, Created: created,
		ClientInfo: bytes.Clone(c.Client.Info), Capabilities: bytes.Clone(c.Client.Capabilities.Raw),
	}
}

// keptState returns the state of a round as the record has it: how often the client was asked, before the backend's own state. openState
// reads it.
func keptState(asked int, own []byte) []byte {
	b := binary.AppendUvarint(make([]byte, 0, len(own)+2), uint64(asked)) // #nosec G115 -- a count is not negative
	return append(b, own...)
}

// openState is the inverse of keptState; ok is false if no round has stored a state yet.
func openState(kept []byte) (asked int, own []byte, ok bool) {
	n, size := binary.Uvarint(kept)
	if size <= 0 {
		return 0, nil, false
	}
	if own = kept[size:]; len(own) == 0 {
		own = nil
	}
	return int(n), own, true // #nosec G115 -- keptState wrote it, from an int
}
