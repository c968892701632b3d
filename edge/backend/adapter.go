package backend

import (
	"context"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Adapter implements the contract, in this process, for a target that does not. A list or a call
// fails with a status while the target is unavailable, or while its description is still being
// read. All methods are safe for concurrent use.
type Adapter interface {
	pb.BackendServiceClient
	pb.ToolServiceClient
	// Notes returns sentences, for operators, about properties of the target that the contract
	// cannot express.
	Notes() []string
	// Progress describes how much of the target's description was read, such as "learned 31 of 59
	// files". Nothing is served until it is complete. Empty means that it is not being read.
	Progress() string
	// Canonical rewrites the arguments of a tool, by the tool's own name, to the one form that the
	// target receives. They are a valid JSON object; the result may be the same bytes. The error
	// says in one line why the target would not accept them.
	Canonical(tool string, arguments []byte) ([]byte, error)
	// Confirmation returns the message that the user must confirm before each call of a tool, by the
	// tool's own name. confirmed marks the context of a confirmed call; calls without the mark are
	// refused. confirmed is nil if the tool requires no confirmation.
	Confirmation(tool string) (message string, confirmed func(context.Context) context.Context)
	// Close ends all calls, and returns when all goroutines have ended.
	Close()
}

// notes returns the adapter's notes; nil without an adapter.
func (b *Backend) notes() []string {
	if b.adapter == nil {
		return nil
	}
	return b.adapter.Notes()
}

// progress returns the adapter's progress; empty without an adapter.
func (b *Backend) progress() string {
	if b.adapter == nil {
		return ""
	}
	return b.adapter.Progress()
}

// Adapted reports whether the backend's tools are made by the edge, for a target that does not
// speak the contract.
func (b *Backend) Adapted() bool { return b.adapter != nil }

// Canonical calls Adapter.Canonical. Without an adapter it returns the arguments unchanged.
func (b *Backend) Canonical(tool string, arguments []byte) ([]byte, error) {
	if b.adapter == nil {
		return arguments, nil
	}
	return b.adapter.Canonical(tool, arguments)
}

// Confirmation calls Adapter.Confirmation. Without an adapter nothing must be confirmed.
func (b *Backend) Confirmation(tool string) (message string, confirmed func(context.Context) context.Context) {
	if b.adapter == nil {
		return "", nil
	}
	return b.adapter.Confirmation(tool)
}
