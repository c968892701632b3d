package tasks

import (
	"encoding/json"
	"fmt"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// origin is the request that began a task: the data, beside its session, from which any replica can
// run its first round. The record of its call stores it in place of params.
type origin struct {
	// Call is the contract's call_id. Params are those of the request.
	Call   string          `json:"call"`
	Params json.RawMessage `json:"params"`
	// Asked counts the rounds that asked the client before the call became a task. State is the
	// backend's state at that time, and Responses are the answers.
	Asked     int        `json:"asked,omitempty"`
	State     []byte     `json:"state,omitempty"`
	Responses []response `json:"responses,omitempty"`
}

type response struct {
	Key    string          `json:"key"`
	Method mcp.Method      `json:"method,omitempty"`
	Result json.RawMessage `json:"result"`
}

// originOf returns the origin of a request in its encoding, which shares no memory with the request.
func originOf(c *mcp.Call) (json.RawMessage, error) {
	o := &origin{Call: c.ID, Params: c.Params.Raw(), Asked: max(c.Round, 1) - 1, State: c.State}
	for _, r := range c.Responses {
		o.Responses = append(o.Responses, response{r.Key, r.Method, r.Result})
	}
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
