package mcp

// Target is the resolved target of one round's request. The catalog looks it up once for the
// caller, and later stages use the result. A later round is resolved again, because rights and
// lists may have changed. The zero value means that the request names no target.
type Target struct {
	// Backend is the configured name of the owning backend. Empty means unknown.
	Backend string
	// Known means that it is a tool or a prompt of Backend, so that metrics may use its name.
	Known bool
	// Tasks says whether the call may become a task.
	Tasks TaskSupport
	// Repeatable means that the call may run again after its outcome was lost.
	Repeatable bool
	// Misused is the reason for which the edge answers the call itself with a tool result: the
	// arguments of its own tool are wrong. nil means that they are not. Such a call does not become
	// a task.
	Misused error
	// Handle belongs to the stage that resolved the target; other code must not use it. With nil,
	// Call resolves the request itself.
	Handle any
}
