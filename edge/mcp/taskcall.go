package mcp

import "encoding/json"

// TaskCall is the tool call behind a task, for the decision on a request about the task.
type TaskCall struct {
	// ID is the id of the task.
	ID string
	// Tool is the called tool, by the name that clients see, and Backend the backend that served
	// it. Empty means unknown.
	Tool, Backend string
	// Arguments reads the stored arguments; nil means none. It is called at most once, and only if
	// the decision depends on them.
	Arguments func() (json.RawMessage, error)
	// Ask is called before an RPC to the policy server, unless its answer is cached. An error
	// replaces the decision. nil permits every RPC.
	Ask func() error
	// Creator means that the request is one that the creator of the task may always make. It is
	// recorded, but not decided.
	Creator bool
	// Unrecorded means that the decision is part of another request, such as a list. It is neither
	// counted nor recorded.
	Unrecorded bool
	// RulesOnly means that only rules and scopes decide, without the policy server.
	RulesOnly bool
}
