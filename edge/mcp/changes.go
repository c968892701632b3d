package mcp

import (
	"context"
	"time"
)

// Filter is the set of changes that a subscriber wants.
type Filter struct {
	Tools, Resources, Prompts bool
	// URIs are the resources whose updates are wanted; each at most once.
	URIs []string
	// Tasks are the ids of tasks whose states are wanted; each at most once.
	Tasks []string
	// TasksPlain reports tasks as in the revisions with sessions, by TaskStatus and TaskProgress,
	// and does not report a task that has not changed since it was made.
	TasksPlain bool
}

// ChangeKind is the kind of a change.
type ChangeKind uint8

// The kinds of changes.
const (
	ToolsChanged ChangeKind = iota + 1
	ResourcesChanged
	PromptsChanged
	ResourceUpdated
	TaskChanged
	// TaskStatus and TaskProgress: see Filter.TasksPlain.
	TaskStatus
	TaskProgress
)

// Notification returns the method that notifies a client of the change.
func (k ChangeKind) Notification() Method {
	switch k {
	case ToolsChanged:
		return NotifyToolsChanged
	case ResourcesChanged:
		return NotifyResourcesChanged
	case PromptsChanged:
		return NotifyPromptsChanged
	case TaskChanged:
		return NotifyTask
	case TaskStatus:
		return NotifyTaskStatus
	case TaskProgress:
		return NotifyProgress
	default:
		return NotifyResourceUpdated
	}
}

// Change is one change.
type Change struct {
	Kind ChangeKind
	// URI is the changed resource, in ResourceUpdated.
	URI string
	// Task is the current state of the task in TaskChanged and TaskStatus, and its progress in
	// TaskProgress: the members of the notification's params, without braces. Empty means nothing
	// to report.
	Task string
	// Over, in TaskStatus, is true if the task has ended or expired.
	Over bool
}

// Feed delivers changes to one subscriber. Changes are state, not history: equal changes that wait
// for Next are merged, so a feed holds at most one of each kind and URI. Only one goroutine at a
// time may call Next; the other methods may be called concurrently with it.
type Feed interface {
	// Honoured returns the part of the filter that is in force: the kinds that backends can report,
	// and the URIs that were not refused.
	Honoured() Filter
	// Next waits for changes and returns all that are pending, or none after idle, which must be
	// positive. It fails when ctx ends or the feed closes.
	Next(ctx context.Context, idle time.Duration) ([]Change, error)
	// Update replaces the filter; what stays in it is not interrupted. With notify, URIs that begin
	// to be watched count as changed, because the subscriber relied on them before. It returns
	// Honoured.
	Update(ctx context.Context, f Filter, notify bool) (Filter, error)
	// SetPrincipal replaces the rights of the feed's caller, whose subject and issuer stay the
	// same. List kinds that differ by the new rights count as changed, and resources are watched as
	// the new rights allow. It may ask backends; if ctx ends before they answer, it fails, and all
	// kinds count as changed.
	SetPrincipal(ctx context.Context, p Principal) error
	// Close ends the feed and its watches. Next then returns an error.
	Close()
}

// Digest identifies the content of the lists that a principal sees: equal content has equal digests
// on all replicas.
type Digest struct {
	Tools, Resources, Prompts uint64
}
