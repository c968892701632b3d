package mcp

import (
	"context"
	"time"
)

// Filter is the set of changes somebody wants to hear of.
type Filter struct {
	Tools, Resources, Prompts bool
	// URIs are the resources whose updates are wanted; each at most once.
	URIs []string
	// Tasks are the ids of tasks whose states are wanted; each at most once.
	Tasks []string
	// TasksPlain: tasks are told as the revisions with sessions have them, by TaskStatus and TaskProgress, and one that still is as when it
	// was made is not told.
	TasksPlain bool
}

// ChangeKind is what changed.
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

// Notification is the method that tells a client of the change.
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
	// URI of ResourceUpdated is the resource that changed.
	URI string
	// Task of TaskChanged and TaskStatus is the task as it is now, and of TaskProgress its progress: the members of the notification's
	// params, without braces. Empty: there is nothing to tell.
	Task string
	// Over, of TaskStatus: the task has ended, or expired.
	Over bool
}

// Feed delivers changes to one subscriber. Changes are state, not history: while nobody calls Next,
// equal ones coalesce, so a feed holds at most one of each kind and URI. Next is called by one
// goroutine at a time; the other methods are safe beside it.
type Feed interface {
	// Honoured is the part of the filter that is in force: kinds the backends can report, URIs that
	// were not refused.
	Honoured() Filter
	// Next waits for changes and returns all that are pending; none once idle, which must be positive, has
	// passed without any. It fails when ctx ends or the feed closes.
	Next(ctx context.Context, idle time.Duration) ([]Change, error)
	// Update replaces the filter; what stays in it is not interrupted. With tell, the URIs that begin to
	// be watched count as changed: somebody relied on them before. It returns Honoured.
	Update(ctx context.Context, f Filter, tell bool) (Filter, error)
	// Become has the feed be of a caller with other rights, of the same subject and issuer: the kinds of lists that it sees
	// other than before count as changed, and resources are watched as it may now. It may ask backends; when ctx
	// ends before they answered it fails, and all kinds count as changed.
	Become(ctx context.Context, p Principal) error
	// Close ends the feed and its watches. Next then returns an error.
	Close()
}

// Digest identifies the content of the lists a principal sees: equal content has equal digests on
// every replica.
type Digest struct {
	Tools, Resources, Prompts uint64
}
