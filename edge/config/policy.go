package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// Policy decides which requests callers may make.
type Policy struct {
	// Default applies if no rule matches: allow, hide or deny. Without rules it may be empty, which
	// means allow.
	Default string `yaml:"default"`
	// Hierarchy maps a scope to the scopes that it includes.
	Hierarchy map[string]Names `yaml:"hierarchy"`
	// Scopes are what operations require; the first entry that matches an operation applies.
	Scopes []PolicyScopes `yaml:"scopes"`
	// Rules decide; the first whose condition is true applies.
	Rules []PolicyRule `yaml:"rules"`
	// Lists is obtainable or allowed; empty means obtainable.
	Lists string `yaml:"lists"`
	// Confirm are the confirmations that the user must give before a call of a tool runs that rules
	// and scopes allow. All that match apply.
	Confirm []PolicyConfirm `yaml:"confirm" also:"confirmations"`
	// Approve are the approvals that another person must give before a call of a tool runs that
	// rules and scopes allow. All that match apply.
	Approve []PolicyApprove `yaml:"approve" also:"approvals"`
	// External authorizes what rules and scopes allow; nil disables it.
	External *External `yaml:"external"`
}

// External is a policy server, which speaks envoy.service.auth.v3.
type External struct {
	// Target is any gRPC target.
	Target string `yaml:"target"`
	// Timeout of a request to the server, at most 10 s; 0: 200 ms.
	Timeout time.Duration `yaml:"timeout"`
	// OnFailure is deny or allow; empty means deny.
	OnFailure string `yaml:"on-failure"`
	// MaxParams bounds the params of a request that are sent to the server, in bytes of JSON
	// without `_meta`, at most 1 MiB; 0: 64 KiB.
	MaxParams Bytes `yaml:"max-params"`
	// OnOmitted applies if the params exceed MaxParams: deny, or ask, which sends the name, the URI
	// and the scalar arguments that fit; empty means deny.
	OnOmitted string `yaml:"on-omitted"`
	// TLS to the server; nil: plaintext.
	TLS *TLS `yaml:"tls"`
}

// AsksOmitted reports whether the server also decides requests of which it receives only a part of
// the params.
func (e *External) AsksOmitted() bool { return e.OnOmitted == onOmittedAsk }

// Allows reports whether a request is allowed if the server fails.
func (e *External) Allows() bool { return e.OnFailure == onFailureAllow }

const (
	onFailureDeny  = "deny"
	onFailureAllow = "allow"
	onOmittedDeny  = "deny"
	onOmittedAsk   = "ask"
	maxExternal    = 10 * time.Second
	maxParams      = 1 << 20
)

func (e *External) validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("policy.external: "+format, args...)) }
	if why := notTarget(e.Target, "it"); why != "" {
		wrong("%s", why)
	}
	if e.Timeout > maxExternal {
		wrong("timeout: %s: give at most %s", e.Timeout, maxExternal)
	}
	if e.OnFailure != "" && e.OnFailure != onFailureDeny && e.OnFailure != onFailureAllow {
		wrong("on-failure: %q: use deny or allow", e.OnFailure)
	}
	if e.MaxParams > maxParams {
		wrong("max-params: %s: give at most 1MiB", e.MaxParams)
	}
	if e.OnOmitted != "" && e.OnOmitted != onOmittedDeny && e.OnOmitted != onOmittedAsk {
		wrong("on-omitted: %q: use deny or ask", e.OnOmitted)
	}
	if e.TLS != nil && (e.TLS.Cert == "") != (e.TLS.Key == "") {
		wrong("tls: cert and key belong together: give both, or none")
	}
	return errors.Join(errs...)
}

// PolicyScopes are the scopes that operations require. Without tools, prompts and resources it
// applies to every operation.
type PolicyScopes struct {
	// Tools, Prompts and Resources are patterns: * is any text without a slash, ** any text.
	Tools     Names `yaml:"tools"`
	Prompts   Names `yaml:"prompts"`
	Resources Names `yaml:"resources"`
	// Need are the required scopes, all of them.
	Need Names `yaml:"need" also:"scopes,scope,required"`
}

// PolicyRule is a condition and its effect.
type PolicyRule struct {
	// Name of the rule in metrics, errors and explanations.
	Name string `yaml:"name"`
	// When is an expression in CEL.
	When string `yaml:"when" also:"if,condition,expression"`
	// Then is allow, hide or deny.
	Then string `yaml:"then" also:"effect,action,decision"`
	// Mode is enforce or audit. In audit mode the rule has no effect, and the effect that it would
	// have had is recorded. Empty means enforce.
	Mode string `yaml:"mode"`
}

// PolicyConfirm is a confirmation that the user must give before a call runs.
type PolicyConfirm struct {
	// Name of the confirmation in metrics, errors and explanations.
	Name string `yaml:"name"`
	// When is an expression in CEL, with the variables of rules but those of resources and prompts.
	When string `yaml:"when" also:"if,condition,expression"`
	// Message is a part of the question; {arguments.NAME} is the value of an argument.
	Message string `yaml:"message" also:"question,text"`
	// Remember is the time for which an answer also applies to the caller's later calls of the same
	// tool, at most 24 h. 0 means that each call is confirmed.
	Remember time.Duration `yaml:"remember" also:"ttl"`
	// Mode is enforce or audit. In audit mode the user is not asked, and it is recorded that the
	// confirmation would have applied. Empty means enforce.
	Mode string `yaml:"mode"`
}

// CompilePolicy compiles Policy with the rules of the owners of Include. It returns nil if there is
// no Policy and no Include may have rules.
func (c *Config) CompilePolicy() (*policy.Policy, error) {
	return c.compile(c.policySettings())
}

// compileOwn is CompilePolicy without the rules of the owners of Include.
func (c *Config) compileOwn() (*policy.Policy, error) {
	return c.compile(c.ownPolicy())
}

func (c *Config) compile(settings policy.Settings) (*policy.Policy, error) {
	s := c.Policy
	if s == nil && !c.grantsPolicy() && !c.ruled {
		return nil, nil
	}
	if s != nil && s.External != nil {
		if err := s.External.validate(); err != nil {
			return nil, err
		}
	}
	if why := c.notApprovable(nil, false); why != "" && s != nil && len(s.Approve) > 0 {
		return nil, fmt.Errorf("policy: approve: %s", why)
	}
	p, err := policy.Compile(settings)
	if err != nil {
		return nil, ofPolicy(err)
	}
	return p, nil
}

// ofPolicy names the section in each of the errors that are joined, so that each can be located.
func ofPolicy(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("policy: %w", err)
	}
	var errs []error
	for _, one := range joined.Unwrap() {
		errs = append(errs, ofPolicy(one))
	}
	return errors.Join(errs...)
}

// policySettings converts Policy, which may be nil, and the rules of the owners of Include.
func (c *Config) policySettings() policy.Settings {
	out := c.ownPolicy()
	out.Restrictions = c.restrictions()
	return out
}

// ownPolicy converts Policy, which may be nil.
func (c *Config) ownPolicy() policy.Settings {
	s := c.Policy
	if s == nil {
		return policy.Settings{}
	}
	rules := partPolicy{Rules: s.Rules, Scopes: s.Scopes, Approve: s.Approve}
	out := rules.settings()
	out.Default, out.Lists = policy.Effect(s.Default), policy.Lists(s.Lists)
	for _, one := range s.Confirm {
		out.Confirm = append(out.Confirm, policy.Confirm{Name: one.Name, When: one.When, Message: one.Message, Remember: one.Remember, Mode: policy.Mode(one.Mode)})
	}
	if len(s.Hierarchy) > 0 {
		out.Hierarchy = map[string][]string{}
		for above, below := range s.Hierarchy {
			out.Hierarchy[above] = below
		}
	}
	return out
}

// settings converts rules, scopes and approvals.
func (s *partPolicy) settings() (out policy.Settings) {
	for _, one := range s.Scopes {
		out.Scopes = append(out.Scopes, policy.Scopes{Tools: one.Tools, Prompts: one.Prompts, Resources: one.Resources, Need: one.Need})
	}
	for _, r := range s.Rules {
		out.Rules = append(out.Rules, policy.Rule{Name: r.Name, When: r.When, Then: policy.Effect(r.Then), Mode: policy.Mode(r.Mode)})
	}
	for _, a := range s.Approve {
		out.Approve = append(out.Approve, policy.Approve{Name: a.Name, When: a.When, Message: a.Message, Approvers: a.Approvers, Expires: a.Expires, Mode: policy.Mode(a.Mode)})
	}
	return out
}

// Idle returns a note for each name in quotas, redact and the policy that matches no existing
// object. The settings must be valid.
func (c *Config) Idle(targets []policy.Target) (notes []string) {
	rules, _ := c.QuotaRules()
	for _, r := range rules {
		for _, one := range r.Tools {
			if !slices.ContainsFunc(targets, func(t policy.Target) bool { return t.Kind == policy.Tool && one.Match(t.Name) }) {
				notes = append(notes, fmt.Sprintf("quotas: %s: tools: no backend lists what %q names", r.Name, one.String()))
			}
		}
	}
	notes = append(notes, c.idleRedactions(targets)...)
	own := c.ownPolicy()
	notes = append(notes, own.Idle(targets)...)
	c.inForce(func(_ *Include, p *part) {
		s := p.settings.Policy.settings()
		for _, note := range s.Idle(targets) {
			notes = append(notes, p.text.locate(note))
		}
	})
	for i, note := range notes {
		notes[i] = note + c.shownNameIn(note)
	}
	return notes
}

// shownNameIn returns an explanation for a note about a name that the catalog gives, since settings
// use canonical names.
func (c *Config) shownNameIn(note string) string {
	o := c.Overlay()
	for _, list := range [][]overlay.Entry{o.Tools().Entries, o.Prompts().Entries} {
		for _, e := range list {
			for _, name := range e.Given() {
				if strings.Contains(note, strconv.Quote(name)) {
					return fmt.Sprintf("; %s gives this name, and rules and quotas use the backend's: %s", e.Place, c.prefixOf(e.Backend)+e.Names.String())
				}
			}
		}
	}
	return ""
}

// prefixOf returns the prefix of a configured backend.
func (c *Config) prefixOf(backend string) string {
	for i := range c.Backends {
		if c.Backends[i].Name == backend {
			return c.Backends[i].Prefix
		}
	}
	return ""
}
