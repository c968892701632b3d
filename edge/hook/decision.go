package hook

import (
	"strings"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Outcome is the result of consulting a hook.
type Outcome byte

// The outcomes.
const (
	// Passed means that the hook accepted the message unchanged.
	Passed Outcome = iota
	// Replaced means that the hook returned a replacement.
	Replaced
	// Denied means that the hook denied the message.
	Denied
	// Failed means that the hook did not respond in time, or that its response cannot be used.
	Failed
	// Busy means that no RPC was made, because Options.Concurrency others had no response yet.
	Busy
	// BreakerOpen means that no RPC was made, because the breaker is open.
	BreakerOpen
)

// String returns the name of the outcome in metrics and the audit.
func (o Outcome) String() string {
	return [...]string{"pass", "replace", "deny", "failed", "busy", "open"}[o]
}

// Failure reports whether the hook gave no usable verdict.
func (o Outcome) Failure() bool { return o >= Failed }

// Decision is the decision of one hook at one point.
type Decision struct {
	// Name is the name of the hook, On the point.
	Name string
	On   Point
	// Outcome is the hook's outcome, whether it has an effect or not.
	Outcome Outcome
	// Reason is the hook's reason for a denial, at most MaxReason characters without control
	// characters; it may be empty. If Outcome.Failure is true, it is the error, which is for
	// operators because it may name the server.
	Reason string
	// Would means that the outcome has no effect, because of Options.Audit.
	Would bool
	// Open means that a failure has no effect, because of Options.Open.
	Open bool
}

// Refuses reports whether the decision refuses the request or its result.
func (d *Decision) Refuses() bool {
	return !d.Would && (d.Outcome == Denied || d.Outcome.Failure() && !d.Open)
}

// Trial returns the effect that a decision with Would would have had: deny, replace, or empty for
// none.
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

// clip returns the first MaxReason characters of a server's text, without control characters.
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
