package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/policy"
)

// Hook is a server that checks requests before they reach backends, the results of backends, or
// their lists. It implements mcpedge.hook.v1.
type Hook struct {
	// Name identifies it in errors, metrics and the audit; letters, digits, "-" and "_".
	Name string `yaml:"name"`
	// Target is any gRPC target.
	Target string `yaml:"target" also:"url,address,addr,endpoint,host"`
	// On lists the checked messages: request, answer, result or list.
	On Names `yaml:"on" also:"true"`
	// Match is an expression in CEL, with the variables of the policy's rules, that selects the
	// requests. Empty selects all.
	Match string `yaml:"match" also:"when,if,condition"`
	// Timeout of a question, at most 60 s; 0: 2 s.
	Timeout time.Duration `yaml:"timeout"`
	// OnFailure is deny or allow; empty means deny.
	OnFailure string `yaml:"on-failure"`
	// Concurrency bounds the questions that wait for an answer, at most 10,000; 0: 64.
	Concurrency int `yaml:"concurrency"`
	// Mode is enforce or audit, which records the verdicts and ignores them; empty means enforce.
	Mode string `yaml:"mode"`
	// Claims of the access token that are sent to the hook, as for a backend; empty sends none.
	Claims Names `yaml:"claims"`
	// TLS to the hook; nil: plaintext.
	TLS *TLS `yaml:"tls"`
}

// Allows reports whether a message that the hook failed to check passes.
func (h *Hook) Allows() bool { return h.OnFailure == onFailureAllow }

// Audits reports whether the verdicts of the hook are recorded and ignored.
func (h *Hook) Audits() bool { return h.Mode == modeAudit }

// Revision identifies the settings of a hook. Equal settings have equal revisions, however they are
// written. Backend.Revision compares the hooks on lists in the same way.
func (h *Hook) Revision() string { return digest("", *h) }

// OpenHook is a Hook with its compiled condition.
type OpenHook struct {
	Hook
	// When is Match; nil means all.
	When *policy.TargetCondition
}

const (
	modeEnforce      = "enforce"
	modeAudit        = "audit"
	maxHooks         = 16
	maxHookTimeout   = time.Minute
	maxHookQuestions = 10_000
)

// onList has the entries of lists checked, which belong to no caller.
const onList = "list"

// hookPoints are the values of Hook.On.
var hookPoints = []string{"request", "answer", "result", onList}

// OpenHooks compiles the conditions of Hooks.
func (c *Config) OpenHooks() (out []OpenHook, _ error) {
	for i := range c.Hooks {
		h := OpenHook{Hook: c.Hooks[i]}
		if h.Match != "" {
			var err error
			if h.When, err = policy.CompileTargetCondition(h.Match); err != nil {
				return nil, fmt.Errorf("hooks[%d] %s: match: %w", i, h.Name, err)
			}
		}
		out = append(out, h)
	}
	return out, nil
}

// listHooks returns the hooks on lists.
func (c *Config) listHooks() (out []Hook) {
	for i := range c.Hooks {
		if slices.Contains(c.Hooks[i].On, onList) {
			out = append(out, c.Hooks[i])
		}
	}
	return out
}

// validateHooks returns the mistakes in Hooks.
func (c *Config) validateHooks() (errs []error) {
	if len(c.Hooks) > maxHooks {
		errs = append(errs, fmt.Errorf("hooks: there are %d: give at most %d", len(c.Hooks), maxHooks))
	}
	names := map[string]bool{}
	for i := range c.Hooks {
		h := &c.Hooks[i]
		wrong := at("hooks[%d] %s: ", &errs, i, h.Name)
		if !backendName.MatchString(h.Name) {
			wrong("name: %q: use 1 to 64 letters, digits, - and _", h.Name)
		}
		if names[h.Name] {
			wrong("name: %q is used twice: give each hook its own", h.Name)
		}
		names[h.Name] = true
		h.validate(wrong)
	}
	if _, err := c.OpenHooks(); err != nil {
		errs = append(errs, err)
	}
	return errs
}

func (h *Hook) validate(wrong wrongs) {
	if why := notTarget(h.Target, "this hook"); why != "" {
		wrong("%s", why)
	}
	if len(h.On) == 0 {
		wrong("on: it is missing: say what the hook checks, as in on: [request, result]")
	}
	for n, point := range h.On {
		switch {
		case !slices.Contains(hookPoints, point):
			wrong("on: %q: use %s", point, strings.Join(hookPoints, ", "))
		case slices.Contains(h.On[:n], point):
			wrong("on: %q is there twice: give it once", point)
		}
	}
	if h.Match != "" && slices.Contains(h.On, onList) {
		wrong("match: it selects requests, and a list belongs to none: give list a hook of its own, without match")
	}
	if h.Timeout > maxHookTimeout {
		wrong("timeout: %s: give at most %s", h.Timeout, maxHookTimeout)
	}
	if h.Concurrency > maxHookQuestions {
		wrong("concurrency: %d: give at most %d", h.Concurrency, maxHookQuestions)
	}
	if h.OnFailure != "" && h.OnFailure != onFailureDeny && h.OnFailure != onFailureAllow {
		wrong("on-failure: %q: use deny or allow", h.OnFailure)
	}
	if h.Mode != "" && h.Mode != modeEnforce && h.Mode != modeAudit {
		wrong("mode: %q: use enforce or audit", h.Mode)
	}
	for n, name := range h.Claims {
		if name == "" || slices.Contains(h.Claims[:n], name) {
			wrong("claims: %q is empty, or there twice: name each claim once", name)
		}
	}
	if len(h.Claims) > maxClaims {
		wrong("claims: there are %d: name at most %d", len(h.Claims), maxClaims)
	}
	if h.TLS != nil && (h.TLS.Cert == "") != (h.TLS.Key == "") {
		wrong("tls: cert and key belong together: give both, or none")
	}
}
