package policy

import (
	"slices"

	"cel.dev/cel-go/cel"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Mode says whether a rule, confirmation or approval is in force.
type Mode string

// Modes.
const (
	// Enforce puts it in force. So does the empty Mode.
	Enforce Mode = "enforce"
	// Audit decides nothing. Its effect would be a trial: see Policy.Trials.
	Audit Mode = "audit"
)

// wrong reports whether a mode is invalid.
func (m Mode) wrong() bool { return m != "" && m != Enforce && m != Audit }

// trial is a compiled rule in audit mode.
type trial struct {
	rule
	// before is the index of the next rule in force, among those of Restrictions if the rule is one
	// of these.
	before int
	// backends are the backends of the Restriction that the rule belongs to; nil means that it belongs to none.
	backends []string
}

// trials has the rules, confirmations and approvals in audit mode. They do not affect decisions,
// lists and entitlements. The zero value has none.
type trials struct {
	rules    []trial
	confirms []confirm
	uses     uses
}

// add compiles a rule.
func (x *trials) add(env *cel.Env, r *Rule, before int) error {
	when, err := compile(env, r.When, &x.uses, check)
	x.rules = append(x.rules, trial{rule: rule{name: r.Name, when: when, then: r.Then}, before: before})
	return err
}

// Tries reports whether Trials may return any.
func (p *Policy) Tries() bool { return len(p.trials.rules)+len(p.trials.confirms) > 0 }

// Trials returns the effects that rules, confirmations and approvals in audit mode would have had
// on an operation, each as if it alone were in force. d is the decision on the operation. Effects
// that equal d are omitted. If args is nil or fails, those that depend on arguments are omitted.
func (p *Policy) Trials(who *mcp.Principal, t *Target, args Arguments, d *Decision) (out []mcp.Trial) {
	v := &values{who: who, target: t}
	if args != nil {
		arguments, err := args()
		v.arguments, v.known = arguments, err == nil
	}
	add := func(by string, r *rule, effect Effect) {
		applies, err := p.applies(v, r)
		if err != nil {
			effect = Deny // as in force
		}
		if effect == Allow {
			effect = p.conclude(v, Decision{Effect: Allow}, nil, false).Effect
		}
		if (applies || err != nil) && effect != d.Effect {
			out = append(out, mcp.Trial{Effect: string(effect), By: by, Rule: r.name})
		}
	}
	for i := range p.trials.rules {
		x := &p.trials.rules[i]
		reached := d.from >= x.before
		if x.backends != nil { // It restricts what rules allow.
			allowed := d.Effect == Allow || d.Effect == StepUp
			reached = slices.Contains(x.backends, t.Backend) && (allowed || d.at >= len(p.rules)+ownNames+x.before)
		}
		if reached {
			add("policy", &x.rule, x.then)
		}
	}
	for i := range p.trials.confirms {
		if c := &p.trials.confirms[i]; t.Kind == Tool && d.Effect == Allow && c.appliesTo(t.Backend) {
			effect := Effect("confirm")
			if c.Approval() {
				effect = "approve"
			}
			add(c.Kind(), &rule{name: c.Name, when: c.when}, effect)
		}
	}
	return out
}

// applies reports whether the condition of a rule in audit mode is true for a target, or for
// another form of its URI.
func (p *Policy) applies(v *values, r *rule) (bool, error) {
	truth, cost, err := r.when.cost(v)
	if err != nil || truth == isTrue || v.target.Kind == Tool || v.target.Kind == Prompt {
		return truth == isTrue, err
	}
	n := 1
	if v.target.Kind == Resource && v.target.Vars != nil && p.trials.uses.variables[varVars] {
		n = min(max(1, len(v.target.Vars())), MaxReadings)
	}
	for other := range v.target.others(n) {
		next := *v
		next.target = other
		truth, more, err := r.when.cost(&next)
		if cost += more; err != nil || truth == isTrue || cost > MaxDecisionCost {
			return truth == isTrue, err
		}
	}
	return false, nil
}
