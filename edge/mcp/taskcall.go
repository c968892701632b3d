package mcp

import "encoding/json"

// TaskCall is the call of a tool that a task is, for the decision on a request about the task.
type TaskCall struct {
	// ID is the task's.
	ID string
	// Tool that was called, by the name that clients see, and Backend that served it then; empty: not known.
	Tool, Backend string
	// Arguments reads those that were kept; nil: there were none. It is called once at most, and only if the decision depends on them.
	Arguments func() (json.RawMessage, error)
	// Ask is called before the policy server is asked, where its answer is not remembered. Its error is that of the decision. nil allows
	// every question.
	Ask func() error
	// Creator: the request is one that the creator of the task may always make. It is recorded, and not decided.
	Creator bool
	// Quiet: the decision is part of another request, as a list. It is neither counted nor recorded.
	Quiet bool
	// Local: the rules and scopes alone decide, and the policy server is not asked.
	Local bool
}
