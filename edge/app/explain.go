package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// Question is the input of ExplainPolicy.
type Question struct {
	// Claims are those of the caller's token, an unverified JSON object. {}, or nothing without an
	// APIKey, is an anonymous caller.
	Claims json.RawMessage
	// APIKey is the name of the caller's key in the file auth.api-keys, instead of claims. Empty
	// means none.
	APIKey string
	// Tool, Prompt and Resource are the only tool, prompt, and URI or template to explain. At most
	// one is set; none explains everything that is listed. A tool or prompt may have the name that
	// rules know, or the one that clients see.
	Tool, Prompt, Resource string
	// Set is the name of the caller's set. Empty means the endpoint that the setting root serves.
	Set string
	// Arguments are those of the tool or prompt, a JSON object. Empty means unknown.
	Arguments json.RawMessage
	// others describes the other entries that have the name APIKey. Empty means none.
	others string
}

// ExplainPolicy writes to out, as one line each, the policy's decisions for a caller on the objects
// that the backends list now.
func ExplainPolicy(ctx context.Context, cfg config.Config, q Question, out io.Writer) error {
	if len(q.Arguments) > 0 {
		values, err := policy.DecodeObject(q.Arguments)
		if err != nil || values == nil {
			return fmt.Errorf("policy: --arguments %.200q: it is not a JSON object of arguments: %w", q.Arguments, cmp.Or(err, errors.New("it is null")))
		}
	}
	p, err := cfg.CompilePolicy()
	if err != nil {
		return err
	}
	if p == nil {
		if p, err = policy.Compile(policy.Settings{}); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(out, "note    the settings have no policy: everything is allowed that the catalog shows")
	}
	who, err := q.caller(&cfg)
	if err != nil {
		return err
	}
	set, err := q.set(&cfg, p, &who)
	if err != nil {
		return err
	}
	pool, missing, err := askBackends(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	if !set.off && q.reportRefusals(&cfg, &who, out) {
		set.refusal = "" // The edge looks at the set after the credentials.
	}
	reportExcluded(&cfg, missing, out)
	ReportExternal(cfg, out)
	ReportHooks(cfg, out)
	if set.refusal != "" {
		_, _ = fmt.Fprintln(out, "note    "+set.refusal)
	}
	targets := q.targets(pool, cfg.Overlay(), set.set, &who)
	if len(targets) == 0 && !q.everything() {
		if set.set != nil && len(q.targets(pool, cfg.Overlay(), nil, &who)) > 0 {
			return fmt.Errorf("policy: %q is not in the set %q: it is unknown to every caller there, and no rule decides on it", q.Tool+q.Prompt+q.Resource, set.set.Name)
		}
		if why := q.hidden(pool, cfg.Overlay(), &who); why != "" {
			return errors.New("policy: " + why + ": it is unknown to every caller, and no rule decides on it")
		}
		return q.notFound(missing)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	runs, approvable, confirmable := false, false, false
	for i := range targets {
		t := &targets[i].Target
		args, pinned := targets[i].sent(&who, q.Arguments)
		d, err := p.Explain(&who, t, args)
		if err != nil {
			return err
		}
		approves, confirms, err := obliged(p, &who, t, args, &d)
		if err != nil {
			return err
		}
		if d.Effect == policy.Allow || d.Open {
			confirms += confirmedByService(pool, t)
			runs, approvable, confirmable = true, approvable || approves != "", confirmable || confirms != ""
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", kindNames[t.Kind], targets[i].name(),
			q.effectOf(t, &d)+spelled(&d)+asked(&cfg, &d)+approves+confirms+tried(p, &who, t, args, &d)+targets[i].triedPins(&who, q.Arguments, &d)+pinned,
			targets[i].listing(p.Listed(&who, t)))
	}
	if err := table.Flush(); err != nil || q.Tool == "" || !runs {
		return err
	}
	reportOrder(&cfg, approvable, confirmable, out)
	return nil
}

// name returns the name that rules know, and the one that clients see if it is another one.
func (e *explained) name() string {
	if e.shown == e.Name {
		return e.Name
	}
	return e.Name + ", shown as " + e.shown
}

var kindNames = map[policy.Kind]string{policy.Tool: "tool", policy.Prompt: "prompt", policy.Resource: "resource", policy.Template: "template"}

// argumentsOf returns no arguments for a target without any, and the given JSON object for a tool or
// prompt; nil means unknown.
func argumentsOf(t *policy.Target, given json.RawMessage) policy.Arguments {
	switch {
	case t.Kind == policy.Resource:
		return func() (map[string]any, error) { return nil, nil }
	case t.Kind == policy.Template, len(given) == 0:
		return nil
	}
	return func() (map[string]any, error) { return policy.DecodeObject(given) }
}

// effectOf describes a decision and the rule that made it.
func (q *Question) effectOf(t *policy.Target, d *policy.Decision) string {
	switch {
	case d.Err != nil:
		return fmt.Sprintf("deny, by the rule %q, which could not be evaluated: %v", d.Rule, d.Err)
	case d.Open:
		return fmt.Sprintf("depends on the arguments: %s, by the rule %q, if it holds", d.Effect, d.Rule) + lacking(d) + q.decides(t)
	case d.Effect == policy.StepUp:
		return "step-up to the scopes " + strings.Join(d.Need, " ")
	case d.Rule == policy.RuleDefault:
		return string(d.Effect) + ", by default"
	}
	return fmt.Sprintf("%s, by the rule %q", d.Effect, d.Rule)
}

// lacking names the scopes without which an open decision allows nothing.
func lacking(d *policy.Decision) string {
	if len(d.Lacks) == 0 {
		return ""
	}
	return "; what is allowed also needs the scopes " + strings.Join(d.Lacks, " ") + ", which the caller lacks"
}

// decides describes the arguments on which an open decision depends.
func (q *Question) decides(t *policy.Target) string {
	switch {
	case t.Kind != policy.Tool && t.Kind != policy.Prompt:
		return ""
	case !q.everything():
		return "; --arguments decides it"
	}
	return fmt.Sprintf("; --%s and --arguments decide it", kindNames[t.Kind])
}

// spelled returns a clause with the form of the URI on which the policy decided. It is empty if that is the form in the list.
func spelled(d *policy.Decision) string {
	if d.Form == "" {
		return ""
	}
	return fmt.Sprintf(", as it may be spelled %q", d.Form)
}

// asked says that the policy server also decides.
func asked(cfg *config.Config, d *policy.Decision) string {
	if d.Effect != policy.Allow || externalOf(cfg) == nil {
		return ""
	}
	return ", if the policy server allows it"
}

// obliged names the approvals and confirmations of a call that the decision d allows or may allow.
// It names a condition that cannot be evaluated among the confirmations.
func obliged(p *policy.Policy, who *mcp.Principal, t *policy.Target, args policy.Arguments, d *policy.Decision) (approves, confirms string, _ error) {
	if d.Effect != policy.Allow && !d.Open {
		return "", "", nil
	}
	list, failed, err := p.Obligations(who, t, args)
	if failed != nil {
		return "", fmt.Sprintf("; denied by the %s %q, whose condition could not be evaluated: %v", p.KindOf(failed.Rule), failed.Rule, failed.Err), nil
	}
	for _, o := range list {
		open := ""
		if o.Open {
			open = "depending on the arguments, "
		}
		if o.Approval() {
			approves += fmt.Sprintf("; %sanother person must approve it: %q", open, o.Name)
		} else {
			confirms += fmt.Sprintf("; %sthe user must confirm it: %q", open, o.Name)
		}
	}
	return approves, confirms, err
}

// tried names the effects of rules and confirmations in audit mode. It omits those that depend on
// unknown arguments.
func tried(p *policy.Policy, who *mcp.Principal, t *policy.Target, args policy.Arguments, d *policy.Decision) (out string) {
	for _, trial := range p.Trials(who, t, args, d) {
		kind := "rule"
		if trial.By == policy.KindConfirmation || trial.By == policy.KindApproval {
			kind = trial.By
		}
		out += fmt.Sprintf("; would %s by the %s %q, which is in audit mode", trial.Effect, kind, trial.Rule)
	}
	return out
}

// listing describes how clients find the target. shown reports whether the policy lists it for the
// caller.
func (e *explained) listing(shown bool) string {
	switch {
	case !e.listed, !shown:
		return "not listed"
	case e.searched:
		return "not listed: " + mcp.ToolFind + " finds it, " + mcp.ToolCall + " calls it"
	}
	return "listed"
}
