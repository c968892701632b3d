package state

import (
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// With returns the record after a patch, for all media alike; false means that nothing changed. The
// receiver is not changed. The medium raises Serial. ErrLimit means one subscription too many.
func (s *Session) With(p Patch, maxSubscriptions int) (*Session, bool, error) {
	next, changed := *s, false
	if p.Initialized && !next.Initialized {
		next.Initialized, changed = true, true
	}
	if p.LogLevel != nil && *p.LogLevel != next.LogLevel {
		next.LogLevel, changed = *p.LogLevel, true
	}
	if p.Subscribe != "" && !slices.Contains(next.Subscriptions, p.Subscribe) {
		if n := len(next.Subscriptions); n >= maxSubscriptions {
			return nil, false, fmt.Errorf("%d resource subscriptions, unsubscribe one before %.200q: %w",
				n, p.Subscribe, ErrLimit)
		}
		next.Subscriptions, changed = append(slices.Clip(next.Subscriptions), p.Subscribe), true
	}
	if i := slices.Index(next.Subscriptions, p.Unsubscribe); p.Unsubscribe != "" && i >= 0 {
		next.Subscriptions, changed = slices.Delete(slices.Clone(next.Subscriptions), i, i+1), true
	}
	if p.TaskMade != "" && !slices.Contains(next.Tasks, p.TaskMade) {
		kept := next.Tasks[max(0, len(next.Tasks)+1-MaxTasks):]
		next.Tasks, changed = append(slices.Clip(kept), p.TaskMade), true
	}
	if i := slices.Index(next.Tasks, p.TaskOver); p.TaskOver != "" && i >= 0 {
		next.Tasks, changed = slices.Delete(slices.Clone(next.Tasks), i, i+1), true
	}
	if p.Digest != nil && *p.Digest != next.Digest {
		next.Digest, changed = *p.Digest, true
	}
	if p.Attach && (p.Token == "" || p.Token != next.AttachedBy) {
		next.Attachment, next.AttachedBy, changed = next.Attachment+1, p.Token, true
	}
	if who := p.Principal; who != nil && !who.SameRights(&next.Principal) {
		until := next.Principal.Until
		next.Principal, changed = *who, true
		if mcp.Outlasts(until, who.Until) {
			next.Principal.Until = until
		}
	}
	if p.Until != nil && mcp.Outlasts(*p.Until, next.Principal.Until) {
		next.Principal.Until, changed = *p.Until, true
	}
	return &next, changed, nil
}
