package hook

import (
	"strings"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Outcome is how a question ended.
type Outcome byte

// The outcomes.
const (
	// Passed by the hook.
	Passed Outcome = iota
	// Replaced by the hook.
	Replaced
	// Denied by the hook.
	Denied
	// Failed means that the hook did not answer in time, or with something that cannot be used.
	Failed
	// Busy means that it was not asked, because Options.Concurrency questions were waiting.
	Busy
	// Broken means that it was not asked, because its breaker is open.
	Broken
)

// String returns the outcome as metrics and the audit name it.
func (o Outcome) String() string {
	return [...]string{"pass", "replace", "deny", "failed", "busy", "open"}[o]
}

// Failure reports whether the hook has not decided.
func (o Outcome) Failure() bool { return o >= Failed }

// Decision is what one hook decided at one point.
type Decision struct {
	// Name of the hook, and the point.
	Name string
	On   Point
	// Outcome is as the hook gave it.
	Outcome Outcome
	// Reason of a denial, as the hook gave it: at most MaxReason characters without controls, or empty. With Outcome.Failure, what was
	// wrong, which may name the server: it is for operators.
	Reason string
	// Would means that the outcome had no effect: the hook has Options.Audit.
	Would bool
	// Open means that a failure had no effect: the hook has Options.Open.
	Open bool
}

// Refuses reports whether the request, or its result, ends with the decision.
func (d *Decision) Refuses() bool {
	return !d.Would && (d.Outcome == Denied || d.Outcome.Failure() && !d.Open)
}

// Trial returns what the hook would have done if it were not for Options.Audit: deny, replace, or empty for nothing.
func (d *Decision) Trial() string {
	switch {
	case !d.Would:
	case d.Outcome == Denied, d.Outcome.Failure() && !d.Open:
		return Denied.String()
	case d.Outcome == Replaced:
		return Replaced.String()
	}
	return ""
}

// clip returns a text of a server without controls, of at most MaxReason characters.
func clip(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if mcp.IsControl(r) {
			continue
		}
		if n++; n > MaxReason {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}
