package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/policy"
)

// Policy says what callers may do with what exists.
type Policy struct {
	// Default is what happens where no rule holds: allow, hide or deny; empty: allow, without rules only.
	Default string `yaml:"default"`
	// Hierarchy says which scopes a scope includes.
	Hierarchy map[string]Names `yaml:"hierarchy"`
	// Scopes say what operations need; the first that is about one does.
	Scopes []PolicyScopes `yaml:"scopes"`
	// Rules decide; the first whose condition holds does.
	Rules []PolicyRule `yaml:"rules"`
	// Lists is obtainable or allowed; empty: obtainable.
	Lists string `yaml:"lists"`
	// External is asked about what rules and scopes allow; nil: nobody is.
	External *External `yaml:"external"`
}

// External is a policy server, which speaks envoy.service.auth.v3.
type External struct {
	// Target is any gRPC target.
	Target string `yaml:"target"`
	// Timeout bounds a question; 0: 200 ms, at most 10 s.
	Timeout time.Duration `yaml:"timeout"`
	// OnFailure is deny or allow; empty: deny.
	OnFailure string `yaml:"on-failure"`
	// MaxParams bounds the params of a request that the server is shown, in bytes of JSON; 0: 64 KiB, at most 1 MiB. `_meta` is left
	// out first.
	MaxParams Bytes `yaml:"max-params"`
	// OnOmitted is what follows where the server cannot be shown all of the params: deny, or ask, which asks it with the name, the URI
	// and the arguments that are scalars and fit; empty: deny.
	OnOmitted string `yaml:"on-omitted"`
	// TLS to the server; nil: plaintext.
	TLS *TLS `yaml:"tls"`
}

// AsksOmitted reports whether the server is asked about params of which it is not shown all.
func (e *External) AsksOmitted() bool { return e.OnOmitted == onOmittedAsk }

// Allows says whether what the server cannot be asked about is allowed.
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
	if e.Timeout < 0 || e.Timeout > maxExternal {
		wrong("timeout: %s: use more than 0, and at most %s", e.Timeout, maxExternal)
	}
	if e.OnFailure != "" && e.OnFailure != onFailureDeny && e.OnFailure != onFailureAllow {
		wrong("on-failure: %q: use deny or allow", e.OnFailure)
	}
	if e.MaxParams < 0 || e.MaxParams > maxParams {
		wrong("max-params: %d: use more than 0, and at most 1MiB", e.MaxParams)
	}
	if e.OnOmitted != "" && e.OnOmitted != onOmittedDeny && e.OnOmitted != onOmittedAsk {
		wrong("on-omitted: %q: use deny or ask", e.OnOmitted)
	}
	if e.TLS != nil && (e.TLS.Cert == "") != (e.TLS.Key == "") {
		wrong("tls: cert and key belong together: give both, or none")
	}
	return errors.Join(errs...)
}

// PolicyScopes are the scopes that operations need. Without tools, prompts and resources it is about every operation.
type PolicyScopes struct {
	// Tools, Prompts and Resources are patterns: * is any text without a slash, ** any text.
	Tools     Names `yaml:"tools"`
	Prompts   Names `yaml:"prompts"`
	Resources Names `yaml:"resources"`
	// Need are the scopes, all of them.
	Need Names `yaml:"need" also:"scopes,scope,required"`
}

// PolicyRule is a condition and what follows.
type PolicyRule struct {
	// Name in metrics, errors and explanations.
	Name string `yaml:"name"`
	// When is an expression in CEL.
	When string `yaml:"when" also:"if,condition,expression"`
	// Then is allow, hide or deny.
	Then string `yaml:"then" also:"effect,action,decision"`
}

// CompilePolicy reads Policy; nil: there is none.
func (c *Config) CompilePolicy() (*policy.Policy, error) {
	s := c.Policy
	if s == nil {
		return nil, nil
	}
	if s.External != nil {
		if err := s.External.validate(); err != nil {
			return nil, err
		}
	}
	p, err := policy.Compile(c.policySettings())
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	return p, nil
}

// policySettings are those of Policy, which is there.
func (c *Config) policySettings() policy.Settings {
	s := c.Policy
	out := policy.Settings{Default: policy.Effect(s.Default), Lists: policy.Lists(s.Lists)}
	if len(s.Hierarchy) > 0 {
		out.Hierarchy = map[string][]string{}
		for above, below := range s.Hierarchy {
			out.Hierarchy[above] = below
		}
	}
	for _, one := range s.Scopes {
		out.Scopes = append(out.Scopes, policy.Scopes{Tools: one.Tools, Prompts: one.Prompts, Resources: one.Resources, Need: one.Need})
	}
	for _, r := range s.Rules {
		out.Rules = append(out.Rules, policy.Rule{Name: r.Name, When: r.When, Then: policy.Effect(r.Then)})
	}
	return out
}

// Idle says, a sentence each, which names of quotas and of the policy are those of nothing that exists. The settings are valid.
func (c *Config) Idle(targets []policy.Target) (notes []string) {
	rules, _ := c.QuotaRules()
	for _, r := range rules {
		for _, one := range r.Tools {
			if !slices.ContainsFunc(targets, func(t policy.Target) bool { return t.Kind == policy.Tool && one.Match(t.Name) }) {
				notes = append(notes, fmt.Sprintf("quotas: %s: tools: no backend lists what %q names", r.Name, one.String()))
			}
		}
	}
	if c.Policy != nil {
		s := c.policySettings()
		notes = append(notes, s.Idle(targets)...)
	}
	return notes
}

// ReadPolicy reads the policy of a file of settings again, which has one: a file without is an error, since one that is being
// written, or whose policy was lost, must not allow everything. The policy server is nil if there is none.
func ReadPolicy(file string) (*policy.Policy, *External, error) {
	c := Default()
	text, err := readFile(file, &c)
	if err != nil {
		return nil, nil, err
	}
	if c.Policy == nil {
		return nil, nil, fmt.Errorf("config %s: there is no policy any more: put it back, or start the edge again to have none", file)
	}
	p, err := c.CompilePolicy()
	if err != nil {
		return nil, nil, text.place(err, nil)
	}
	return p, c.Policy.External, nil
}
