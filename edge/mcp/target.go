package mcp

// Target is what the request of one round names, as the catalog has it for the caller: it was looked up once, and whoever needs to know of
// it reads it here. It is good for one round; a later one is resolved anew, since rights and lists may have changed. The zero value names
// nothing.
type Target struct {
	// Backend is the configured name of whom it belongs to; empty: nobody is known.
	Backend string
	// Known: it is a tool or a prompt that Backend has, so that its name may stand where names are bounded.
	Known bool
	// Tasks says whether the call may become a task.
	Tasks TaskSupport
	// Repeatable: the call may be run again when its outcome was lost.
	Repeatable bool
	// Handle is what the stage that resolved it keeps of it; nobody else looks at it. nil: Call resolves the request itself.
	Handle any
}
