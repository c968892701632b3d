package catalog

import (
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Approver is a Visibility that knows which calls wait for the approval of another person.
type Approver interface {
	// Approves reports whether calls may have to wait.
	Approves() bool
	// Awaits reports whether calls of a tool may have to wait, depending on the caller, the set and the arguments, and whether they always do.
	Awaits(t *policy.Target) (may, always bool)
}

// approves returns the Approver by which calls may have to wait; nil if none do.
func approves(access Visibility) Approver {
	if a, ok := access.(Approver); ok && a.Approves() {
		return a
	}
	return nil
}

// shownAs returns the form in which lists show a tool. Calls that may have to wait for an approval
// can be made as tasks, and must be if all of them wait. It sets t.awaits. The form is created at
// its first use.
func (m *merge) shownAs(t *Tool) func() *pb.Tool {
	a := approves(m.showing.access)
	if a == nil {
		return func() *pb.Tool { return t.Shown }
	}
	switch may, always := a.Awaits(&t.Target); {
	case always || may && t.Tasks.Required:
		t.awaits = pb.TaskMode_TASK_MODE_REQUIRED
	case may:
		t.awaits = pb.TaskMode_TASK_MODE_OPTIONAL
	}
	return sync.OnceValue(func() *pb.Tool { return asTask(t.Shown, t.awaits) })
}

// Support returns how a call of the tool may become a task. If calls may have to wait for an
// approval, any call may become a task.
func (t *Tool) Support() mcp.TaskSupport {
	s := t.Tasks
	s.Optional = s.Optional || t.MayWait() && !s.Required
	return s
}

// MayWait reports whether calls of the tool may have to wait for an approval.
func (t *Tool) MayWait() bool { return t.awaits != pb.TaskMode_TASK_MODE_UNSPECIFIED }

// asTask returns a tool as lists show one whose calls may wait for an approval.
func asTask(t *pb.Tool, awaits pb.TaskMode) *pb.Tool {
	if awaits == pb.TaskMode_TASK_MODE_UNSPECIFIED {
		return t
	}
	out := proto.CloneOf(t)
	if out.TaskSupport == nil {
		out.TaskSupport = new(pb.TaskSupport)
	}
	out.TaskSupport.Mode = awaits
	return out
}
