package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/catalog"
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
	// Tool is the only tool to explain. Empty explains everything.
	Tool string
	// Arguments are those of a call of the tool, a JSON object. Empty means unknown.
	Arguments json.RawMessage
}

// ExplainPolicy writes to out, one line each, what the policy decides for a caller on what the
// backends list now.
func ExplainPolicy(ctx context.Context, cfg config.Config, q Question, out io.Writer) error {
	var given policy.Arguments
	if len(q.Arguments) > 0 {
		values, err := policy.DecodeObject(q.Arguments)
		if err != nil || values == nil {
			return fmt.Errorf("policy: --arguments %.200q: it is no JSON object with the arguments of a call: %w", q.Arguments, cmp.Or(err, errors.New("it is null")))
		}
		given = func() (map[string]any, error) { return values, nil }
	}
	p, err := cfg.CompilePolicy()
	if err != nil {
		return err
	}
	if p == nil {
		return errors.New("policy: the settings have none: everything is allowed")
	}
	who, err := q.caller(&cfg)
	if err != nil {
		return err
	}
	pool, err := newPool(cfg, slog.New(slog.DiscardHandler), nil, new(ends), shownNothing)
	if err != nil {
		return err
	}
	defer pool.Close()
	pool.Start(ctx)
	bounded, cancel := context.WithTimeout(ctx, cfg.Limits.StartWait)
	defer cancel()
	if err := pool.Ready(bounded); err != nil {
		_, _ = fmt.Fprintf(out, "note: not every backend could be asked: %s\n", strings.Join(pool.Untried(), ", "))
	}
	TellExternal(cfg, out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	found := false
	for _, t := range catalog.Targets(pool) {
		if q.Tool != "" && (t.Kind != policy.Tool || t.Name != q.Tool) {
			continue
		}
		found = true
		d, err := p.Explain(&who, &t, argumentsOf(&t, given))
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", kindNames[t.Kind], t.Name, effectOf(&t, &d)+spelled(&d)+asked(&cfg, &d), listing(p, &who, &t))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if !found && q.Tool != "" {
		return fmt.Errorf("policy: no backend has a tool %q now: without --tool everything is explained that there is", q.Tool)
	}
	return nil
}

var kindNames = map[policy.Kind]string{policy.Tool: "tool", policy.Prompt: "prompt", policy.Resource: "resource", policy.Template: "template"}

// argumentsOf returns no arguments for a target without any, and the given ones for a tool; nil
// means unknown.
func argumentsOf(t *policy.Target, given policy.Arguments) policy.Arguments {
	switch t.Kind {
	case policy.Resource:
		return func() (map[string]any, error) { return nil, nil }
	case policy.Tool:
		return given
	}
	return nil
}

func effectOf(t *policy.Target, d *policy.Decision) string {
	switch {
	case d.Err != nil:
		return fmt.Sprintf("deny, by the rule %q, which could not be evaluated: %v", d.Rule, d.Err)
	case d.Open && t.Kind == policy.Tool:
		return fmt.Sprintf("depends on the arguments: %s, by the rule %q, if it holds; --tool and --arguments decide it", d.Effect, d.Rule)
	case d.Open:
		return fmt.Sprintf("depends on the arguments: %s, by the rule %q, if it holds", d.Effect, d.Rule)
	case d.Effect == policy.StepUp:
		return "step-up to the scopes " + strings.Join(d.Need, " ")
	case d.Rule == policy.RuleDefault:
		return string(d.Effect) + ", by default"
	}
	return fmt.Sprintf("%s, by the rule %q", d.Effect, d.Rule)
}

// spelled names the spelling on which it was decided, if it is not the listed one.
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

func listing(p *policy.Policy, who *mcp.Principal, t *policy.Target) string {
	if p.Listed(who, t) {
		return "listed"
	}
	return "not listed"
}

// caller returns the principal of the question.
func (q *Question) caller(cfg *config.Config) (mcp.Principal, error) {
	if q.APIKey == "" {
		return claimant(cfg, q.Claims)
	}
	if cfg.Auth == nil || cfg.Auth.APIKeys == "" {
		return mcp.Principal{}, errors.New("policy: --api-key: the settings have no auth.api-keys")
	}
	keys, err := readAPIKeys(cfg.Auth.APIKeys)
	if err != nil {
		return mcp.Principal{}, fmt.Errorf("policy: auth.api-keys: %w", err)
	}
	names := make([]string, 0, len(keys))
	for i := range keys {
		if keys[i].Name == q.APIKey {
			return keys[i].Principal(), nil
		}
		names = append(names, keys[i].Name)
	}
	if meant := config.Nearest(q.APIKey, names); meant != "" {
		return mcp.Principal{}, fmt.Errorf("policy: --api-key: %s has no key named %q: did you mean %q?", cfg.Auth.APIKeys, q.APIKey, meant)
	}
	return mcp.Principal{}, fmt.Errorf("policy: --api-key: %s has no key named %q", cfg.Auth.APIKeys, q.APIKey)
}

// claimant returns the principal that the claims, a JSON object, stand for by the settings of their
// issuer or, if that is not configured, of the first issuer. Without claims it is anonymous.
func claimant(cfg *config.Config, claims json.RawMessage) (mcp.Principal, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(claims, &members); err != nil || len(members) == 0 {
		return mcp.Principal{}, err
	}
	var name string
	_ = json.Unmarshal(members["iss"], &name) // empty if it names none
	i := auth.Issuer{URL: name}
	if cfg.Auth != nil {
		for n := range cfg.Auth.Issuers {
			if one := &cfg.Auth.Issuers[n]; n == 0 || one.Issuer == name {
				i = issuerOf(one)
			}
		}
	}
	who, err := i.Principal(claims)
	if err != nil {
		return who, fmt.Errorf("policy: --claims: %w", err)
	}
	return who, nil
}
