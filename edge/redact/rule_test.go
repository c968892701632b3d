package redact_test

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/redact"
)

func TestCompile(t *testing.T) {
	if m, err := redact.Compile(nil); m != nil || err != nil {
		t.Errorf("no rules are %v, %v", m, err)
	}
	card := redact.Rule{Name: "a", Pattern: "card"}
	for want, rules := range map[string][]redact.Rule{
		`redact[0] : name: ""`:                                   {{Pattern: "card"}},
		`redact[1] a: name: "a" is used twice`:                   {card, card},
		`redact[0] a: pattern: give it either`:                   {{Name: "a"}},
		`redact[0] a: pattern: there is no named`:                {{Name: "a", Pattern: "cards"}},
		`redact[0] a: pattern: it is not a valid RE2 expression`: {{Name: "a", Pattern: "(["}},
		`redact[0] a: pattern: it matches the empty`:             {{Name: "a", Pattern: "x*"}},
		`needs more than 1000 instructions`:                      {{Name: "a", Pattern: "(abc){900}"}},
		`redact[0] a: path: "customer.iban" begins`:              {{Name: "a", Path: "customer.iban"}},
		`redact[0] a: path: "result": write`:                     {{Name: "a", Path: "result"}},
		`redact[0] a: path: "result.a..b": write`:                {{Name: "a", Path: "result.a..b"}},
		`redact[0] a: in: "log" is not a place`:                  {{Name: "a", Pattern: "card", In: []string{"log"}}},
		`replace: the pattern of "a" matches "`:                  {{Name: "a", Pattern: "card", Replace: "4111111111111111"}},
		`replace: it has 300 bytes`:                              {{Name: "a", Pattern: "card", Replace: strings.Repeat("x", 300)}},
		`redact[0] b: replace: the pattern of "a"`:               {{Name: "b", Pattern: "card", Replace: "a@b.de"}, {Name: "a", Pattern: "email"}},
	} {
		if _, err := redact.Compile(rules); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", rules, err, want)
		}
	}
	var many []redact.Rule
	for range redact.MaxRules + 1 {
		many = append(many, card)
	}
	if _, err := redact.Compile(many); err == nil {
		t.Error("more rules than possible compile")
	}
}

func TestView(t *testing.T) {
	m := compiled(t,
		redact.Rule{Name: "everywhere", Pattern: "card"},
		redact.Rule{Name: "logs", Pattern: "email", In: []string{"logs"}},
		redact.Rule{Name: "crm", Pattern: `CRM-\d+`, Backends: []string{"crm*"}},
		redact.Rule{Name: "pay", Pattern: `PAY-\d+`, Tools: []string{"pay"}},
	)
	const text = "4111111111111111 a@b.de CRM-1 PAY-1"
	for _, c := range []struct {
		place redact.Place
		about redact.About
		want  string
	}{
		{redact.Results, redact.About{Backend: "x", Tool: "y"}, "[REDACTED:everywhere] a@b.de CRM-1 PAY-1"},
		{redact.Results, redact.About{Backend: "crm2", Tool: "y"}, "[REDACTED:everywhere] a@b.de [REDACTED:crm] PAY-1"},
		{redact.Results, redact.About{Backend: "x", Tool: "pay"}, "[REDACTED:everywhere] a@b.de CRM-1 [REDACTED:pay]"},
		{redact.Results, redact.About{Backend: "x"}, "[REDACTED:everywhere] a@b.de CRM-1 PAY-1"},
		{redact.Logs, redact.About{}, "[REDACTED:everywhere] [REDACTED:logs] [REDACTED:crm] [REDACTED:pay]"},
	} {
		if got := m.View(c.place, c.about).Text(text); got != c.want {
			t.Errorf("%s of %+v: %q, want %q", c.place, c.about, got, c.want)
		}
	}
	if v := compiled(t, redact.Rule{Name: "a", Pattern: "card", In: []string{"dev"}}).View(redact.Logs, redact.About{}); v != nil || v.Text(text) != text {
		t.Error("a rule applies elsewhere")
	}
}

func TestCurrent(t *testing.T) {
	var c redact.Current
	texts := c.Texts(redact.Dev)
	if texts() != nil || (*redact.Current)(nil).Masker() != nil {
		t.Error("nothing is in force, and something is masked")
	}
	for range 2 { // the counts are kept when the rules are replaced
		c.Set(compiled(t, redact.Rule{Name: "a", Pattern: "card"}))
		if got := texts()("4111111111111111"); got != "[REDACTED:a]" {
			t.Errorf("got %q", got)
		}
	}
	c.Set(nil)
	if texts() != nil {
		t.Error("rules that were removed are in force")
	}
	c.Counts().Each(func(rule string, place redact.Place, replaced, would int64) {
		if want := map[redact.Place]int64{redact.Dev: 2}[place]; replaced != want || would != 0 {
			t.Errorf("%s in %s: %d, %d", rule, place, replaced, would)
		}
	})
}
