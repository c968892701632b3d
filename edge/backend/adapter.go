package backend

import (
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Adapter speaks the contract for a target that does not, within this process. A list or a call fails with a status while the target is away, or is
// not learned yet. All methods are safe for concurrent use.
type Adapter interface {
	pb.BackendServiceClient
	pb.ToolServiceClient
	// Notes are sentences, for operators, about what the contract cannot say of the target.
	Notes() []string
	// Progress says how far the target was learned, as long as nothing can be served before it is: "learned 31 of 59 files".
	// Empty: it is not being learned.
	Progress() string
	// Canonical rewrites the arguments of a tool, by the tool's own name, to the one form in which the target is to see them.
	// They are a JSON object that is known to be valid; the result may be the same bytes. An error says in one line why the
	// target would not take them.
	Canonical(tool string, arguments []byte) ([]byte, error)
	// Close ends all calls, and returns when no goroutine is left.
	Close()
}

// notes are the adapter's.
func (b *Backend) notes() []string {
	if b.adapter == nil {
		return nil
	}
	return b.adapter.Notes()
}

// progress is the adapter's.
func (b *Backend) progress() string {
	if b.adapter == nil {
		return ""
	}
	return b.adapter.Progress()
}

// Adapted reports whether the backend's tools are made by the edge, for a target that does not speak the contract.
func (b *Backend) Adapted() bool { return b.adapter != nil }

// Canonical is Adapter.Canonical; a target that speaks the contract gets arguments as they are.
func (b *Backend) Canonical(tool string, arguments []byte) ([]byte, error) {
	if b.adapter == nil {
		return arguments, nil
	}
	return b.adapter.Canonical(tool, arguments)
}
