package policy

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Approve is an approval that another person must give before a call of a tool runs that Rules allow.
type Approve struct {
	// Name identifies the approval in metrics, errors and explanations. It is not empty, and unique
	// among rules, confirmations and approvals.
	Name string
	// When is a CEL expression of type bool, about the call and its requester. It has the variables
	// of a confirmation.
	When string
	// Message is shown to approvers. Its form is that of Confirm.Message.
	Message string
	// Approvers is a CEL expression of type bool with the same variables, except that the principal
	// is the approver. Empty permits every person who may decide on approvals.
	Approvers string
	// Expires is the time for which the call waits. 0 means DefaultExpires.
	Expires time.Duration
	// Mode is Enforce or Audit. Empty means Enforce.
	Mode Mode `json:",omitempty"`
}

const (
	// DefaultExpires is the time for which a call waits for its approval by default.
	DefaultExpires = time.Hour

	maxExpires  = 24 * time.Hour
	maxApproves = 32
)

// The names of kinds of obligations, in errors and explanations.
const (
	KindConfirmation = "confirmation"
	KindApproval     = "approval"
)

// approval has the fields of an obligation that another person must approve.
type approval struct {
	// approvers has no program if every person who may decide on approvals is an approver.
	approvers condition
	expires   time.Duration
	// backends are those to which it applies. nil means all.
	backends []string
	// anybody evaluates the condition for an unknown caller and set, and unknown arguments.
	anybody cel.Program
}

// Approval reports whether another person must approve the call, rather than its user confirm it.
func (c *confirm) Approval() bool { return c.approval != nil }

// Kind is KindConfirmation or KindApproval.
func (c *confirm) Kind() string {
	if c.Approval() {
		return KindApproval
	}
	return KindConfirmation
}

// Expires returns the time for which a call waits for the approval.
func (c *confirm) Expires() time.Duration { return c.approval.expires }

// Approves reports whether a principal is an approver of a call for t with arguments. The
// obligation must be an approval. An error means that this cannot be evaluated, and that the
// principal is not an approver.
func (c *confirm) Approves(who *mcp.Principal, t *Target, args map[string]any) (bool, error) {
	if c.approval.approvers.program == nil {
		return true, nil
	}
	truth, err := c.approval.approvers.holds(&values{who: who, target: t, arguments: args, known: true})
	return truth == isTrue, err
}

// appliesTo reports whether an obligation applies to the tools of a backend.
func (c *confirm) appliesTo(backend string) bool {
	return !c.Approval() || c.approval.backends == nil || slices.Contains(c.approval.backends, backend)
}

// Approves reports whether calls may require an approval.
func (p *Policy) Approves() bool {
	return slices.ContainsFunc(p.confirms.all, func(c confirm) bool { return c.Approval() })
}

// Approval returns the approval with a digest; false if the policy has none.
func (p *Policy) Approval(digest []byte) (Obligation, bool) {
	for i := range p.confirms.all {
		if c := &p.confirms.all[i]; c.Approval() && bytes.Equal(c.Digest[:], digest) {
			return Obligation{confirm: c}, true
		}
	}
	return Obligation{}, false
}

// KindOf returns the kind of the confirmation or approval of a name.
func (p *Policy) KindOf(name string) string {
	for i := range p.confirms.all {
		if c := &p.confirms.all[i]; c.Name == name {
			return c.Kind()
		}
	}
	return KindConfirmation
}

// Awaits reports whether calls of a tool may have to wait for an approval, depending on caller, set
// and arguments, and whether all of them do.
func (p *Policy) Awaits(t *Target) (may, always bool) {
	for i := range p.confirms.all {
		c := &p.confirms.all[i]
		if !c.Approval() || !c.appliesTo(t.Backend) {
			continue
		}
		v, err := cel.PartialVars(&values{who: &mcp.Principal{}, target: t}, openVariables...)
		if err != nil {
			may = true
			continue
		}
		switch out, _, err := c.approval.anybody.Eval(v); {
		case err == nil && out == types.False:
		case err == nil && out == types.True:
			return true, true
		default:
			may = true
		}
	}
	return may, false
}

// openVariables are the variables that depend on the request.
var openVariables = func() (out []*cel.AttributePatternType) {
	for name := range variables {
		if name == varArguments || name == varSet || strings.HasPrefix(name, "principal.") {
			out = append(out, cel.AttributePattern(name))
		}
	}
	return out
}()

// compileOpen compiles a condition that is evaluated with unknown variables.
func compileOpen(env *cel.Env, text string, check checking) (cel.Program, error) {
	checked, options, err := check(env, text)
	if err != nil {
		return nil, err
	}
	return env.Program(checked, append(options, cel.EvalOptions(cel.OptOptimize, cel.OptPartialEval))...)
}

// approves are the approvals of one file: of the settings, or of a Restriction.
type approves struct {
	list []Approve
	// owner qualifies names; nil means the settings.
	owner *Restriction
	check checking
}

// allApproves returns the approvals of settings and of their restrictions.
func (s *Settings) allApproves() []approves {
	out := []approves{{list: s.Approve, check: check}}
	for i := range s.Restrictions {
		out = append(out, s.Restrictions[i].approves())
	}
	return out
}

func (r *Restriction) approves() approves { return approves{r.Approve, r, checkBounded} }

// place returns the path of an approval in errors.
func (a *approves) place(i int) string {
	if a.owner != nil {
		return fmt.Sprintf("restrictions of %s: approve[%d]", a.owner.Owner, i)
	}
	return fmt.Sprintf("approve[%d]", i)
}

// named returns an approval under its name in decisions.
func (a *approves) named(i int) Approve {
	one := a.list[i]
	if a.owner != nil {
		one.Name = a.owner.Qualified(one.Name)
	}
	return one
}

// compile compiles an approval. used records the variables that it inspects; for one in audit mode
// it is that of trials. The error names the invalid key.
func (a *approves) compile(env *cel.Env, i int, used *uses) (c confirm, _ error) {
	one := a.named(i)
	c = confirm{Confirm: Confirm{Name: one.Name, When: one.When, Message: one.Message, Mode: one.Mode}, approval: &approval{expires: one.Expires}}
	if a.owner != nil {
		c.approval.backends = append([]string{}, a.owner.Backends...)
	}
	if one.Expires == 0 {
		c.approval.expires = DefaultExpires
	}
	var errs []error
	wrong := func(key string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
	}
	var err error
	if strings.TrimSpace(one.Approvers) != "" {
		c.approval.approvers, err = compile(env, one.Approvers, used, a.check)
		wrong("approvers", err)
	}
	c.when, err = compile(env, one.When, used, a.check)
	wrong("when", err)
	if err == nil {
		c.approval.anybody, err = compileOpen(env, one.When, a.check)
		wrong("when", err)
	}
	c.message, err = parseMessage(one.Message)
	wrong("message", err)
	c.Digest, err = digestOf(KindApproval, one)
	wrong("name", err)
	return c, errors.Join(errs...)
}

// validate returns the errors of approvals, without those of their expressions and messages.
func (a *approves) validate() error {
	var errs []error
	wrong := func(i int, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s %s: "+format, append([]any{a.place(i), a.list[i].Name}, args...)...))
	}
	if n := len(a.list); n > maxApproves {
		wrong(maxApproves, "%d entries: give at most %d", n, maxApproves)
	}
	names := map[string]bool{}
	for i, one := range a.list {
		if why := notName(KindApproval, one.Name); why != "" {
			wrong(i, "name: %s", why)
		}
		if names[one.Name] {
			wrong(i, "name: %q is used twice: give each approval its own", one.Name)
		}
		names[one.Name] = true
		if one.Mode.wrong() {
			wrong(i, "mode: %q: use enforce or audit", one.Mode)
		}
		if one.Expires < 0 || one.Expires > maxExpires {
			wrong(i, "expires: %s: give at most %s, or leave it out for %s", one.Expires, maxExpires, DefaultExpires)
		}
	}
	return errors.Join(errs...)
}
