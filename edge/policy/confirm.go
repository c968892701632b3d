package policy

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"cel.dev/cel-go/cel"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Confirm is a confirmation that the user must give before a call of a tool runs that Rules allow.
type Confirm struct {
	// Name identifies the confirmation in metrics, errors and explanations. It is not empty, and
	// unique among rules, confirmations and approvals.
	Name string
	// When is a CEL expression of type bool. It has the variables of rules, except for those of
	// resources and prompts.
	When string
	// Message is part of the question. {arguments.NAME} is replaced by an argument,
	// {arguments.NAME.MEMBER} by a member of one.
	Message string
	// Remember is the time for which a confirmation also applies to the caller's later calls of the
	// same tool. 0 asks for each call.
	Remember time.Duration
	// Mode is Enforce or Audit. Empty means Enforce.
	Mode Mode `json:",omitempty"`
}

const (
	maxConfirms       = 32
	maxConfirmMessage = 1000
	maxRemember       = 24 * time.Hour
)

// Obligation is a confirmation or an approval that a call requires.
type Obligation struct {
	*confirm
	// Open reports that the condition depends on unknown arguments.
	Open bool
}

// confirm is a compiled Confirm. If approval is set, it is a compiled Approve, whose common fields
// are in Confirm.
type confirm struct {
	Confirm
	approval *approval
	// Digest identifies the settings, so that other ones are not confirmed by an earlier answer.
	Digest  [8]byte
	when    condition
	message []piece
	at      int // the index in the counts
}

// piece is a text of a message, followed by the value of an argument if path is not nil.
type piece struct {
	text string
	path []string
}

// confirms are the compiled confirmations and approvals of a policy. The zero value has none.
type confirms struct {
	all  []confirm
	uses uses
}

// confirmEnv returns the CEL environment of confirmations and approvals, which are of tools.
func confirmEnv() (*cel.Env, error) {
	names := maps.Clone(variables)
	maps.DeleteFunc(names, func(name string, _ *cel.Type) bool {
		return strings.HasPrefix(name, "resource.") || strings.HasPrefix(name, "prompt.")
	})
	return newEnv(maps.Keys(names))
}

// compileConfirms compiles the confirmations and approvals of settings. first is the index of the
// first one in the counts.
func compileConfirms(s *Settings, first int, x *trials) (out confirms, _ error) {
	out.uses.variables = map[string]bool{}
	approvals := s.allApproves()
	if len(s.Confirm) == 0 && !slices.ContainsFunc(approvals, func(a approves) bool { return len(a.list) > 0 }) {
		return out, nil
	}
	env, err := confirmEnv()
	if err != nil {
		return out, err
	}
	errs := []error{s.invalidConfirms()}
	add := func(c confirm, place string, err error) {
		for _, err := range unjoin(err) {
			errs = append(errs, fmt.Errorf("%s: %w", place, err))
		}
		if c.Mode == Audit {
			x.confirms = append(x.confirms, c)
			return
		}
		c.at = first + len(out.all)
		out.all = append(out.all, c)
	}
	used := func(m Mode) *uses {
		if m == Audit {
			return &x.uses
		}
		return &out.uses
	}
	for i := range s.Confirm {
		one := &s.Confirm[i]
		c, err := one.compile(env, used(one.Mode))
		add(c, fmt.Sprintf("confirm[%d] %s", i, one.Name), err)
	}
	for _, a := range approvals {
		for i := range a.list {
			c, err := a.compile(env, i, used(a.list[i].Mode))
			add(c, a.place(i)+" "+a.list[i].Name, err)
		}
	}
	return out, errors.Join(errs...)
}

// unjoin returns the errors that errors.Join has joined, or the only one.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// compile compiles a confirmation. used records the variables that it inspects. The error names the
// invalid key.
func (c *Confirm) compile(env *cel.Env, used *uses) (out confirm, _ error) {
	var errs []error
	wrong := func(key string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
	}
	var err error
	out.Confirm = *c
	out.when, err = compile(env, c.When, used, check)
	wrong("when", err)
	out.message, err = parseMessage(c.Message)
	wrong("message", err)
	out.Digest, err = digestOf(KindConfirmation, c)
	wrong("name", err)
	return out, errors.Join(errs...)
}

// digestOf returns the digest of the settings of a kind of obligation.
func digestOf(kind string, settings any) (out [8]byte, _ error) {
	raw, err := json.Marshal(settings)
	if err != nil {
		return out, err
	}
	sum := sha256.Sum256(append([]byte(kind+"\x00"), raw...))
	copy(out[:], sum[:])
	return out, nil
}

// notName returns why a name cannot be that of an obligation of a kind; empty if it can.
func notName(kind, name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Sprintf("%q: give the %s a name, of characters that can be printed", name, kind)
	}
	return ""
}

// invalidConfirms returns the errors of confirmations and approvals, except for those of their
// conditions and messages.
func (s *Settings) invalidConfirms() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(s.Confirm) > maxConfirms {
		wrong("confirm: %d entries: give at most %d", len(s.Confirm), maxConfirms)
	}
	names := map[string]bool{RuleDefault: true, RuleScopes: true}
	for _, r := range s.Rules {
		names[r.Name] = true
	}
	for _, r := range s.Restrictions {
		for _, one := range r.Rules {
			names[r.Qualified(one.Name)] = true
		}
	}
	for i, c := range s.Confirm {
		switch why := notName(KindConfirmation, c.Name); {
		case why != "":
			wrong("confirm[%d]: name: %s", i, why)
		case names[c.Name]:
			wrong("confirm[%d]: name: %q is that of a rule or another confirmation: give each its own", i, c.Name)
		}
		names[c.Name] = true
		if c.Mode.wrong() {
			wrong("confirm[%d] %s: mode: %q: use enforce or audit", i, c.Name, c.Mode)
		}
		if c.Remember < 0 || c.Remember > maxRemember {
			wrong("confirm[%d] %s: remember: %s: give at most %s, or leave it out to ask for each call", i, c.Name, c.Remember, maxRemember)
		}
	}
	for _, a := range s.allApproves() {
		errs = append(errs, a.validate())
		for i := range a.list {
			if name := a.named(i).Name; names[name] {
				wrong("%s: name: %q is that of a rule, a confirmation or another approval: give each its own", a.place(i), name)
			} else {
				names[name] = true
			}
		}
	}
	return errors.Join(errs...)
}

// parseMessage parses the message of a confirmation.
func parseMessage(text string) (out []piece, _ error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, errors.New("it is empty: say what the user is to confirm")
	case len(text) > maxConfirmMessage:
		return nil, fmt.Errorf("it has %d bytes: give at most %d", len(text), maxConfirmMessage)
	case strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }):
		return nil, errors.New("it has a character that cannot be printed: use letters, spaces and new lines")
	}
	for {
		before, rest, ok := strings.Cut(text, "{")
		if strings.Contains(before, "}") {
			return nil, errors.New("it has a } without a {: these enclose an argument, as in {arguments.path}")
		}
		if !ok {
			return append(out, piece{text: before}), nil
		}
		name, after, ok := strings.Cut(rest, "}")
		path := strings.Split(name, ".")
		if !ok || len(path) < 2 || path[0] != varArguments || slices.Contains(path, "") || strings.Contains(name, "{") {
			return nil, fmt.Errorf("%.80q is not an argument: write {arguments.NAME}", "{"+name)
		}
		out, text = append(out, piece{before, path[1:]}), after
	}
}

// Declared returns the confirmation that a service requires of its tool. The name is for errors and
// the audit. The message is shown unchanged.
func Declared(name, message string) Obligation {
	c := &confirm{Confirm: Confirm{Name: name, Message: message}, message: []piece{{text: message}}}
	sum := sha256.Sum256([]byte("declared\x00" + name + "\x00" + message))
	copy(c.Digest[:], sum[:])
	return Obligation{confirm: c}
}

// Text returns the message of a confirmation. value returns the text for the argument at a path.
func (o *Obligation) Text(value func(path []string) string) string {
	var b strings.Builder
	for _, p := range o.message {
		b.WriteString(p.text)
		if p.path != nil {
			b.WriteString(value(p.path))
		}
	}
	return b.String()
}

// Obliges reports whether there are confirmations or approvals.
func (p *Policy) Obliges() bool { return len(p.confirms.all) > 0 }

// Obligations returns the confirmations and approvals that an allowed call of a tool requires. If
// args is nil, the arguments are unknown, and obligations that depend on them are open. If a
// condition cannot be evaluated, failed is the decision that denies the call. The error is the
// error of args.
func (p *Policy) Obligations(who *mcp.Principal, t *Target, args Arguments) (out []Obligation, failed *Decision, _ error) {
	if t.Kind != Tool || len(p.confirms.all) == 0 {
		return nil, nil, nil
	}
	v := &values{who: who, target: t}
	if args != nil && p.confirms.uses.variables[varArguments] {
		known, err := args()
		if err != nil {
			return nil, nil, err
		}
		v.arguments = known
	}
	v.known = args != nil
	for i := range p.confirms.all {
		c := &p.confirms.all[i]
		if !c.appliesTo(t.Backend) {
			continue
		}
		truth, err := c.when.holds(v)
		switch {
		case err != nil:
			return nil, &Decision{Effect: Deny, Rule: c.Name, Err: err, at: c.at}, nil
		case truth != isFalse:
			out = append(out, Obligation{c, truth == isOpen})
		}
	}
	return out, nil, nil
}

// Unconfirmed counts a refused call: it was not confirmed or approved, or, if failed is true, the
// condition of the confirmation or approval could not be evaluated.
func (p *Policy) Unconfirmed(rule string, failed bool) {
	for i := range p.confirms.all {
		if c := &p.confirms.all[i]; c.Name == rule {
			p.denied[c.at].Add(1)
			if failed {
				p.failed[c.at].Add(1)
			}
		}
	}
}
