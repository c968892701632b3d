package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
)

var varsAttacks = []attack{
	{name: "vars-spelled", what: "documents of another tenant, which a rule tells by the variables of a template: listed, completed, watched and read by every spelling", run: varsSpelled},
	{name: "complete-denied", what: "completions of what is hidden by name, by argument or by variable, held against those of what does not exist", run: completeDenied},
}

// varsRules are policies that keep the caller to its own tenant, each in another way, by the tenants that it denies.
var varsRules = map[string]string{
	"own are allowed": `policy: {default: hide, rules: [
  {name: own, when: 'has(resource.vars.tenant) && resource.vars.tenant == principal.claims.tenant', then: allow},
  {name: skills, when: 'resource.uri.startsWith("skill://")', then: allow}]}`,
	"others' are hidden": `policy: {default: allow, rules: [
  {name: hidden, when: 'resource.uri.startsWith("hidden://") || has(resource.vars.tenant) && resource.vars.tenant == "nobody"', then: hide},
  {name: others, when: 'has(resource.vars.tenant) && resource.vars.tenant != principal.claims.tenant', then: hide}]}`,
	"one is hidden": `policy: {default: allow, rules: [
  {name: hidden, when: 'has(resource.vars.tenant) && resource.vars.tenant == "nobody" || resource.uri.startsWith("hidden://")', then: hide},
  {name: globex, when: 'has(resource.vars.tenant) && resource.vars.tenant == "globex"', then: hide}]}`,
}

// foreignURIs are spellings of documents of globex, and URIs that a backend may take for one.
var foreignURIs = []string{
	"tenant://globex/merger", "tenant://gl%6fbex/merger", "tenant://gl%6Fbex/merger", "tenant://%67%6c%6f%62%65%78/merger", "TENANT://globex/merger",
	"tenant://globex/%6derger", "tenant://gl%6fbex/another", "tenant://globex/another", "TENANT://globe%78/anothe%72",
	"tenant://globex/unlisted", "tenant://glob%65x/caf%C3%A9", "tenant://globex/a%2Fb", "tenant://acme/../globex/merger",
	"tenant://acme/..%2Fglobex%2Fmerger/", "tenant://globex/merger/", "tenant://globex//merger", `tenant:\\globex\merger`,
}

// nearlyForeign are URIs of other tenants, which a backend that decodes twice, ignores case or resolves dots takes for globex.
var nearlyForeign = []string{
	"tenant://gl%256fbex/merger", "TENANT://%2567lobex/merger", "tenant://%25%36%37lobex/merger", "Tenant://%47lobex/merger", "tenant://acme%2F..%2Fglobex/merger",
}

func varsSpelled(ctx context.Context, s *site) (err error) {
	for name, policy := range varsRules {
		b := &tenants{}
		e := withServer("tenants", policy, b.register, func(ctx context.Context, s *site, r *ruled) error {
			c := r.as(s, map[string]any{"tenant": "acme"})
			defer c.close()
			session, err := c.hello(ctx, `{"name":"reader","version":"1"}`)
			if err != nil {
				return err
			}
			return errors.Join(c.listsOwn(ctx, session, name), c.readsOwn(ctx, session, b, name), c.completesOwn(ctx, session, b, name), c.watchesOwn(ctx, b))
		})(ctx, s)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, e))
		}
	}
	return err
}

// listsOwn checks that no list and no directory shows anything of another tenant.
func (r *rogue) listsOwn(ctx context.Context, session, rules string) (err error) {
	check := func(what string, a *answer, e error, own ...string) {
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", what, e))
			return
		}
		if bytes.Contains(a.body, []byte("bex/")) || rules != "own are allowed" && bytes.Contains(a.body, []byte("hidden://")) {
			err = errors.Join(err, fmt.Errorf("%s shows what is denied: %.600s", what, a.body))
		}
		for _, text := range own {
			if !bytes.Contains(a.body, []byte(text)) {
				err = errors.Join(err, fmt.Errorf("%s does not show %s: %.600s", what, text, a.body))
			}
		}
	}
	a, e := r.modern(ctx, "resources/list", "", "")
	check("resources/list", a, e, `"tenant://acme/plan"`)
	a, e = r.legacy(ctx, session, "resources/list", "{}")
	check("resources/list of a session", a, e, `"tenant://acme/plan"`)
	a, e = r.modern(ctx, "resources/templates/list", "", "")
	check("resources/templates/list", a, e, tenantTemplate)
	a, e = r.legacy(ctx, session, "resources/templates/list", "{}")
	check("resources/templates/list of a session", a, e, tenantTemplate)
	for _, uri := range []string{"skill://shelf", "SKILL://shel%66"} {
		a, e = r.modern(ctx, "resources/directory/read", "", `,"uri":"`+uri+`"`)
		check("resources/directory/read of "+uri, a, e, "tenant://acme/plan-1", "tenant://acme/plan-2")
	}
	return err
}

// readsOwn checks that no spelling reads another tenant's document, each of which is answered as what does not exist, and that spellings of the
// caller's own are read.
func (r *rogue) readsOwn(ctx context.Context, session string, b *tenants, rules string) (err error) {
	read := func(uri string) (modern, legacy *answer, err error) {
		quoted, err := json.Marshal(uri)
		if err != nil {
			return nil, nil, err
		}
		if modern, err = r.modern(ctx, "resources/read", uri, `,"uri":`+string(quoted)); err != nil {
			return nil, nil, err
		}
		legacy, err = r.legacy(ctx, session, "resources/read", `{"uri":`+string(quoted)+`}`)
		return modern, legacy, err
	}
	uris := foreignURIs
	if rules != "one is hidden" {
		uris = append(uris, nearlyForeign...)
	}
	b.taken()
	for _, uri := range uris {
		nothing := "n" + uri[1:] // the same URI of a scheme that no backend has
		modern, legacy, e := read(uri)
		modern2, legacy2, e2 := read(nothing)
		if e := errors.Join(e, e2); e != nil {
			return e
		}
		for _, both := range [][2]*answer{{modern, modern2}, {legacy, legacy2}} {
			if e := alike(both[0], both[1], uri[:len("tenant:")], nothing[:len("tenant:")]); e != nil {
				err = errors.Join(err, fmt.Errorf("%s is not answered as what does not exist: %w", uri, e))
			}
		}
		if got := foreign(b.taken()); len(got) > 0 {
			err = errors.Join(err, fmt.Errorf("%s reads a document of %q", uri, got))
		}
	}
	for _, uri := range []string{"tenant://acme/plan", "TENANT://acme/plan", "tenant://%61cme/pl%61n", "tenant://acme/unlisted"} {
		modern, legacy, e := read(uri)
		if e != nil {
			return e
		}
		for _, a := range []*answer{modern, legacy} {
			if !bytes.Contains(a.body, []byte("of acme")) {
				err = errors.Join(err, fmt.Errorf("%s, which is the caller's own, is not read: %.300s", uri, a.body))
			}
		}
	}
	return err
}

// completesOwn checks that no completion for another tenant reaches the backend.
func (r *rogue) completesOwn(ctx context.Context, session string, b *tenants, rules string) (err error) {
	names := []string{"globex"}
	if rules != "one is hidden" {
		names = append(names, "gl%6fbex", "Globex", "acme/../globex", "")
	}
	b.asked()
	for _, name := range names {
		for _, rest := range []string{
			`"argument":{"name":"doc","value":""},"context":{"arguments":{"tenant":"` + name + `"}}`,
			`"argument":{"name":"tenant","value":"` + name + `"}`,
			`"argument":{"name":"tenant","value":"` + name + `"},"context":{"arguments":{"tenant":"acme"}}`,
			`"argument":{"name":"\u0074enant","value":"` + name + `"},"context":{"arguments":{"\u0074enant":"acme","doc":"plan"}}`,
		} {
			for _, spelling := range []string{tenantTemplate, "TENANT://{tenant}/{doc}", "tenan%74://{tenant}/{doc}"} {
				err = errors.Join(err, r.completesNothing(ctx, session, `{"type":"ref/resource","uri":"`+spelling+`"}`,
					`{"type":"ref/resource","uri":"n`+spelling[1:]+`"}`, rest, spelling, "n"+spelling[1:]))
			}
		}
	}
	if got := b.asked(); len(got) > 0 {
		err = errors.Join(err, fmt.Errorf("the backend was asked for %v", got))
	}
	a, e := r.modern(ctx, "completion/complete", "", `,"ref":{"type":"ref/resource","uri":"`+tenantTemplate+`"},"argument":{"name":"doc","value":""},"context":{"arguments":{"tenant":"acme"}}`)
	if e != nil {
		return e
	}
	if !bytes.Contains(a.body, []byte(suggestion+"acme")) {
		err = errors.Join(err, fmt.Errorf("the caller's own is not completed: %.300s", a.body))
	}
	return err
}

// completesNothing holds the completion of ref against that of none, which does not exist, in both eras. rest are the other members. name is the text
// of ref that an error may quote, and other that of none.
func (r *rogue) completesNothing(ctx context.Context, session, ref, none, rest, name, other string) (err error) {
	for _, era := range []string{"", session} {
		ask := func(ref string) (*answer, error) {
			if era == "" {
				return r.modern(ctx, "completion/complete", "", `,"ref":`+ref+`,`+rest)
			}
			return r.legacy(ctx, era, "completion/complete", `{"ref":`+ref+`,`+rest+`}`)
		}
		got, e := ask(ref)
		unknown, e2 := ask(none)
		if e := errors.Join(e, e2); e != nil {
			return e
		}
		if e := alike(got, unknown, name, other); e != nil {
			err = errors.Join(err, fmt.Errorf("a completion of %s with %s is not answered as that of what does not exist: %w", ref, rest, e))
		}
	}
	return err
}

// requestID is the id of a response.
var requestID = regexp.MustCompile(`"id":\d+`)

// alike checks that two answers are errors and cannot be told apart but by the names that the caller sent: names has pairs, of a text of the first
// and its like of the second.
func alike(a, b *answer, names ...string) error {
	first, second := requestID.ReplaceAllString(string(a.body), ""), requestID.ReplaceAllString(string(b.body), "")
	for i := 0; i+1 < len(names); i += 2 {
		first, second = strings.ReplaceAll(first, names[i], "\x00"), strings.ReplaceAll(second, names[i+1], "\x00")
	}
	switch {
	case !strings.Contains(first, `"error"`):
		return fmt.Errorf("it is no error: %.300s", a.body)
	case a.status != b.status || first != second:
		return fmt.Errorf("%d %.300s, and %d %.300s", a.status, a.body, b.status, b.body)
	case a.header.Get("Content-Type") != b.header.Get("Content-Type") || a.header.Get("Www-Authenticate") != b.header.Get("Www-Authenticate"):
		return fmt.Errorf("the headers are %v, and %v", a.header, b.header)
	}
	return nil
}

// watchesOwn checks that no document of another tenant is watched, by any spelling, and that the caller's own is.
func (r *rogue) watchesOwn(ctx context.Context, b *tenants) error {
	b.taken()
	uris, err := json.Marshal(append(foreignURIs[:len(foreignURIs):len(foreignURIs)], "tenant://acme/plan"))
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	resp, err := r.open(limited, http.MethodPost, r.modernBody("subscriptions/listen", `,"notifications":{"resourceSubscriptions":`+string(uris)+`}`),
		modernHeader("subscriptions/listen", "")...)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := frame.NewReader(resp.Body, 1<<20).Next(); err != nil {
		return fmt.Errorf("subscriptions/listen: %w", err)
	}
	for end := time.Now().Add(slack); ; pause(ctx, 50*time.Millisecond) {
		got := b.taken()
		if other := foreign(append([]string(nil), got...)); len(other) > 0 {
			return fmt.Errorf("documents of %q are watched", other)
		}
		if len(got) > 0 {
			break
		}
		if time.Now().After(end) {
			return errors.New("the caller's own document is not watched")
		}
	}
	pause(ctx, 500*time.Millisecond) // in which others would be watched
	if other := foreign(b.taken()); len(other) > 0 {
		return fmt.Errorf("documents of %q are watched", other)
	}
	return nil
}
