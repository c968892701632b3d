package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// completeRules hides a prompt by its name and one by an argument, and the documents of other tenants.
const completeRules = `policy: {default: allow, rules: [
  {name: vault, when: 'prompt.name == "vault"', then: hide},
  {name: regions, when: 'prompt.name == "report" && has(arguments.region) && arguments.region != principal.claims.region', then: hide},
  {name: hidden, when: 'resource.uri.startsWith("hidden://")', then: hide},
  {name: others, when: 'has(resource.vars.tenant) && resource.vars.tenant != principal.claims.tenant', then: hide}]}`

func completeDenied(ctx context.Context, s *site) error {
	b := &tenants{}
	return withServer("tenants", completeRules, b.register, func(ctx context.Context, s *site, r *ruled) error {
		c := r.as(s, map[string]any{"tenant": "acme", "region": "eu"})
		defer c.close()
		session, err := c.hello(ctx, `{"name":"completer","version":"1"}`)
		if err != nil {
			return err
		}
		return errors.Join(c.completesHidden(ctx, session, b), c.completesOnce(ctx, session, b), c.completesMalformed(ctx, session, b))
	})(ctx, s)
}

// completesHidden holds completions of what is hidden against those of what does not exist.
func (r *rogue) completesHidden(ctx context.Context, session string, b *tenants) (err error) {
	const prompt, resource = `{"type":"ref/prompt","name":"`, `{"type":"ref/resource","uri":"`
	for _, c := range []struct{ kind, name, none, rest string }{
		{prompt, "vault", "vaults", `"argument":{"name":"quarter","value":""}`},
		{prompt, "vault", "vaults", `"argument":{"name":"none","value":""},"context":{"arguments":{"region":"eu"}}`},
		{prompt, "v\\u0061ult", "vaults", `"argument":{"name":"quarter","value":""}`},
		{prompt, "report", "reports", `"argument":{"name":"quarter","value":""},"context":{"arguments":{"region":"us"}}`},
		{prompt, "report", "reports", `"argument":{"name":"quarter","value":""},"context":{"arguments":{"r\u0065gion":"\u0075s"}}`},
		{prompt, "report", "reports", `"argument":{"name":"region","value":"us"}`},
		{prompt, "report", "reports", `"argument":{"name":"region","value":"us"},"context":{"arguments":{"region":"eu"}}`},
		{prompt, "report", "reports", `"argument":{"name":"r\u0065gion","value":"us"},"context":{"arguments":{"region":"eu","quarter":"q1"}}`},
		{prompt, "report", "reports", `"argument":{"name":"region","value":""}`},
		{resource, hiddenTemplate, "nidden://{tenant}/{doc}", `"argument":{"name":"doc","value":""}`},
		{resource, "HIDDEN://{tenant}/{doc}", "NIDDEN://{tenant}/{doc}", `"argument":{"name":"doc","value":""},"context":{"arguments":{"tenant":"acme"}}`},
		{resource, tenantTemplate, "nenant://{tenant}/{doc}", `"argument":{"name":"doc","value":""},"context":{"arguments":{"tenant":"globex"}}`},
		{resource, tenantTemplate, "nenant://{tenant}/{doc}", `"argument":{"name":"tenant","value":"globex"},"context":{"arguments":{"tenant":"acme"}}`},
		// A URI in place of a template has no variables to complete; what does not exist is an error.
		{resource, "tenant://globex/merger", "nenant://globex/merger", `"argument":{"name":"doc","value":""}`},
		{resource, "TENANT://gl%6Fbex/merger", "NENANT://gl%6Fbex/merger", `"argument":{"name":"doc","value":""}`},
		{resource, "tenant://gl%6fbex/another", "nenant://gl%6fbex/another", `"argument":{"name":"doc","value":""},"context":{"arguments":{"tenant":"acme"}}`},
	} {
		shown := c.name
		if shown == "v\\u0061ult" {
			shown = "vault"
		}
		err = errors.Join(err, r.completesNothing(ctx, session, c.kind+c.name+`"}`, c.kind+c.none+`"}`, c.rest, shown, c.none))
	}
	if got := b.asked(); len(got) > 0 {
		err = errors.Join(err, fmt.Errorf("the backend was asked for %v", got))
	}
	return err
}

// completesOnce checks that the backend gets one value of the argument that is completed, the one that was decided on.
func (r *rogue) completesOnce(ctx context.Context, session string, b *tenants) (err error) {
	for _, params := range []string{
		`"ref":{"type":"ref/prompt","name":"report"},"argument":{"name":"region","value":"eu"},"context":{"arguments":{"region":"us","quarter":"q1"}}`,
		`"ref":{"type":"ref/prompt","name":"report"},"argument":{"name":"region","value":"eu"},"context":{"arguments":{"r\u0065gion":"us"}}`,
		`"ref":{"type":"ref/resource","uri":"` + tenantTemplate + `"},"argument":{"name":"tenant","value":"acme"},"context":{"arguments":{"tenant":"globex","doc":"plan"}}`,
	} {
		for _, era := range []string{"", session} {
			a, e := r.complete(ctx, era, params)
			if e != nil {
				return e
			}
			got := b.asked()
			if len(got) != 1 || got[0].value != "eu" && got[0].value != "acme" {
				err = errors.Join(err, fmt.Errorf("%s: the backend was asked for %v: %.300s", params, got, a.body))
			} else if other, twice := got[0].context[got[0].argument]; twice {
				err = errors.Join(err, fmt.Errorf("%s: the backend gets the value %q beside %q, which was decided on", params, other, got[0].value))
			}
		}
	}
	return err
}

// completesMalformed sends completions that two readers would take for different ones.
func (r *rogue) completesMalformed(ctx context.Context, session string, b *tenants) (err error) {
	const report, quarter = `"ref":{"type":"ref/prompt","name":"report"}`, `"argument":{"name":"quarter","value":""}`
	for _, params := range []string{
		report + `,` + quarter + `,"context":{"arguments":{"region":"eu","region":"us"}}`,
		report + `,` + quarter + `,"context":{"arguments":{"region":"us","region":"eu"}}`,
		report + `,` + quarter + `,"context":{"arguments":{"region":"eu"},"arguments":{"region":"us"}}`,
		report + `,` + quarter + `,"context":{"arguments":{"region":"eu"}},"context":{"arguments":{"region":"us"}}`,
		report + `,` + quarter + `,"context":{"arguments":{"region":"us"}},"context":{"arguments":{"region":"eu"}}`,
		`"ref":{"type":"ref/prompt","name":"report","name":"vault"},` + quarter,
		`"ref":{"type":"ref/prompt","name":"vault","name":"report"},` + quarter,
		report + `,"ref":{"type":"ref/prompt","name":"vault"},` + quarter,
		report + `,"argument":{"name":"region","value":"eu","value":"us"}`,
		report + `,"argument":{"name":"region","value":"us","value":"eu"}`,
		report + `,"argument":{"name":"quarter","name":"region","value":"us"}`,
		report + `,` + quarter + `,"context":{"arguments":{"region":["us"]}}`,
		report + `,` + quarter + `,"context":{"arguments":{"region":null}}`,
		report + `,` + quarter + `,"context":"us"`,
	} {
		for _, era := range []string{"", session} {
			a, e := r.complete(ctx, era, params)
			if e != nil {
				return e
			}
			for _, got := range b.asked() {
				if got.of == "vault" || got.context["region"] == "us" || got.argument == "region" && got.value != "eu" {
					err = errors.Join(err, fmt.Errorf("%s: the backend was asked for %v", params, got))
				}
			}
			if a.status >= 500 || bytes.Contains(a.body, []byte(suggestion+"us")) {
				err = errors.Join(err, fmt.Errorf("%s: %d %.300s", params, a.status, a.body))
			}
		}
	}
	return err
}

// complete sends completion/complete with members of params in a session; empty: without one.
func (r *rogue) complete(ctx context.Context, session, members string) (*answer, error) {
	if session == "" {
		return r.modern(ctx, "completion/complete", "", ","+members)
	}
	return r.legacy(ctx, session, "completion/complete", "{"+members+"}")
}
