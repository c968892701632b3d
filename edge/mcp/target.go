package mcp

// Target is what the request of one round names, as the catalog resolved it for the caller: the
// lookup is done once, and later stages read the result here. It is valid for one round; a later
// round is resolved again, because rights and lists may have changed. The zero value names nothing.
type Target struct {
	// Backend is the configured name of the owning backend. Empty means unknown.
	Backend string
	// Known means that it is a tool or a prompt of Backend, so that metrics may use its name.
	Known bool
	// Tasks is whether the call may become a task.
	Tasks TaskSupport
	// Repeatable means that the call may run again after its outcome was lost.
	Repeatable bool
	// Misused is why the edge answers the call itself, with a tool result that says so: the arguments of its own tool are wrong. nil means that
	// they are not. Such a call is not made a task.
	Misused error
	// Handle belongs to the stage that resolved the target; other code must not use it. With nil,
	// Call resolves the request itself.
	Handle any
}
