package app

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// sent returns the arguments that the backend receives, on which rules decide, and a text about
// those that the catalog pins for a caller. given are the caller's; nil means unknown, and is kept.
func (e *explained) sent(who *mcp.Principal, given json.RawMessage) (args policy.Arguments, text string) {
	var pins []string
	for i := range e.arguments {
		a := &e.arguments[i]
		if a.Pin == nil {
			continue
		}
		value, err := a.Value(who)
		if err != nil {
			return argumentsOf(&e.Target, given), fmt.Sprintf("; every call is refused, because the catalog pins the argument %s: %v", a.Name, err)
		}
		pins = append(pins, a.Name+"="+string(value))
	}
	if len(pins) > 0 {
		text = "; always sent with " + strings.Join(pins, ", ")
	}
	if len(given) == 0 {
		return argumentsOf(&e.Target, nil), text
	}
	out, err := overlay.Sent(e.arguments, who, given)
	if err != nil {
		return argumentsOf(&e.Target, given), "; this call is refused: " + err.Error()
	}
	return argumentsOf(&e.Target, out), text
}

// triedPins describes what pins in audit mode would do to a call, unless the decision d denies it.
// given are the caller's arguments. nil means unknown.
func (e *explained) triedPins(who *mcp.Principal, given json.RawMessage, d *policy.Decision) (text string) {
	if d.Effect != policy.Allow && !d.Open {
		return ""
	}
	for i, trial := range overlay.Try(e.trials, who, given) {
		a := &e.trials[i]
		value, err := a.Value(who)
		switch {
		case a.Impossible() != nil:
			err = a.Impossible()
		case err == nil && trial.Effect == "replace":
			text += fmt.Sprintf("; would always be sent with %s=%s by the pin %q, which is in audit mode", a.Name, value, trial.Rule)
			continue
		case err == nil:
			err = fmt.Errorf("the argument %s is given", a.Name)
		}
		text += fmt.Sprintf("; would %s by the pin %q, which is in audit mode: %v", trial.Effect, trial.Rule, err)
	}
	return text
}
