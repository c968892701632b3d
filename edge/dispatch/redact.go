package dispatch

import (
	"context"
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/redact"
)

// redaction replaces secrets in the replies to a round's client.
type redaction struct {
	masker *redact.Masker
	// unredacted are the rules in audit mode that found something.
	unredacted []string
}

// startRedaction makes the redaction in force that of the round.
func (r *round) startRedaction() {
	if r.d.opts.Redact == nil {
		return
	}
	if masker := r.d.opts.Redact(); masker != nil {
		r.redaction = &redaction{masker: masker}
	}
}

// maskRefusal returns an error of Resolve without secrets. It replaces texts only, so that the
// error keeps its kind.
func (r *round) maskRefusal(ctx context.Context, err error) error {
	e, ok := err.(*mcp.Error)
	if !ok {
		return err
	}
	r.startRedaction()
	v := r.masks(redact.Results)
	if v == nil {
		return err
	}
	defer r.recordUnredacted(ctx)
	return failure{e}.redact(v).(failure).Error
}

// masks returns the View that replaces secrets of the round in a place. nil replaces nothing. A
// round has one redaction, even if the settings change meanwhile.
func (r *round) masks(place redact.Place) *redact.View {
	if r.redaction == nil {
		return nil
	}
	about := redact.About{Backend: r.target.Backend}
	if r.named.Tool != nil {
		about.Tool = r.named.Tool.Name
	}
	return r.redaction.masker.View(place, about).Noting(r.redaction.wouldRedact)
}

// wouldRedact notes a rule in audit mode that found something.
func (r *redaction) wouldRedact(rule string) {
	if !slices.Contains(r.unredacted, rule) {
		r.unredacted = append(r.unredacted, rule)
	}
}

// recordUnredacted records what rules in audit mode would have replaced.
func (r *round) recordUnredacted(ctx context.Context) {
	if r.redaction == nil {
		return
	}
	for _, rule := range r.redaction.unredacted {
		r.d.opts.Telemetry.RecordTrial(ctx, mcp.Trial{Effect: "redact", By: "redaction", Rule: rule})
	}
}
