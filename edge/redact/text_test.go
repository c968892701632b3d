package redact_test

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/redact"
)

// compiled returns the Masker of rules.
func compiled(t testing.TB, rules ...redact.Rule) *redact.Masker {
	t.Helper()
	m, err := redact.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// results returns the View of rules for Results.
func results(t testing.TB, rules ...redact.Rule) *redact.View {
	t.Helper()
	return compiled(t, rules...).View(redact.Results, redact.About{})
}

// named returns a rule for each named pattern. The rule has the name of its pattern.
func named(patterns ...string) (out []redact.Rule) {
	for _, p := range patterns {
		out = append(out, redact.Rule{Name: p, Pattern: p, Replace: "<" + p + ">"})
	}
	return out
}

// The keys are concatenated so that scanners for secrets do not report this file.
var (
	aws       = "AKIA" + strings.Repeat("Q", 15) + "7"
	github    = "ghp_" + strings.Repeat("a1", 18)
	gitlab    = "glpat-" + strings.Repeat("x7", 10)
	slack     = "xoxb-" + strings.Repeat("12", 6) + "-abc"
	google    = "AIza" + strings.Repeat("Sy_-7", 7)
	stripe    = "sk_live_" + strings.Repeat("9k", 10)
	openai    = "sk-proj-" + strings.Repeat("T3Bl", 9)
	anthropic = "sk-ant-api03-" + strings.Repeat("Zz9", 8)
	jwt       = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0abc" + ".c2lnbmF0dXJl"
	pem       = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE " + "KEY-----"
)

func TestText(t *testing.T) {
	v := results(t, named("card", "email", "iban", "aws-key", "github-token", "gitlab-token", "slack-token", "google-key", "stripe-key",
		"anthropic-key", "openai-key", "private-key", "jwt", "bearer")...)
	for text, want := range map[string]string{
		"4111111111111111":                                      "<card>",
		"pay 4111 1111 1111 1111, please":                       "pay <card>, please",
		"4111-1111-1111-1111.":                                  "<card>.",
		"4111\u00a01111\u00a01111\u00a01111":                    "<card>",
		"378282246310005 or 3782 822463 10005":                  "<card> or <card>",
		"4111 1111 1111 1111 12/27":                             "<card> 12/27",
		"ref 42 4111 1111 1111 1111 7":                          "ref 42 <card> 7",
		"5555555555554444,4012888888881881":                     "<card>,<card>",
		"4111111111111112":                                      "4111111111111112", // invalid check digit
		"1764446400000":                                         "1764446400000",    // a time in milliseconds
		"0.4242424242424242":                                    "0.4242424242424242",
		"a4111111111111111":                                     "a4111111111111111", // part of a word
		"41111111111111111111111":                               "41111111111111111111111",
		"card_4111111111111111":                                 "card_<card>",
		"mail bob.o'hara+x@mail.example.co.uk now":              "mail <email> now",
		"<a@b.de>, (c@d.fr).":                                   "<<email>>, (<email>).",
		"müller@exämple.de":                                     "<email>",
		"a@xn--exmple-cua.xn--p1ai":                             "<email>",
		"git+ssh@host, pkg@1.2.3, @scope/x, a@b":                "git+ssh@host, pkg@1.2.3, @scope/x, a@b",
		"to DE89 3704 0044 0532 0130 00 now":                    "to <iban> now",
		"GB29NWBK60161331926819/x":                              "<iban>/x",
		"fr1420041010050500013M02606":                           "<iban>",
		"DE89370400440532013001":                                "DE89370400440532013001", // invalid check digits
		"key=" + aws + ";":                                      "key=<aws-key>;",
		aws + "A":                                               aws + "A",
		github + " " + gitlab + ".":                             "<github-token> <gitlab-token>.",
		"'" + slack + "' " + google:                             "'<slack-token>' <google-key>",
		stripe + "\n" + openai + "\n" + anthropic:               "<stripe-key>\n<openai-key>\n<anthropic-key>",
		"a task-with-a-very-long-name-that-has-no-digits-in-it": "a task-with-a-very-long-name-that-has-no-digits-in-it",
		"t=" + jwt + "&x":                                       "t=<jwt>&x",
		"a\n" + pem + "\nb":                                     "a\n<private-key>\nb",
		"-----BEGIN PRIVATE KEY-----\nMIIEow":                   "<private-key>",
		"-----BEGIN CERTIFICATE-----\nMIIEow":                   "-----BEGIN CERTIFICATE-----\nMIIEow",
		"Authorization: Bearer abcdef0123456789abcd":            "Authorization: Bearer <bearer>",
		"the bearer authenticationofeverything":                 "the bearer authenticationofeverything",
		`cut {"a":"4111\u0031\u003111111\u00311111`:             `cut {"a":"<card>`,
		`log {"url":"hooks.slack.com\/services\/` + "T00000000" + `\/B00000000\/abc"}`: `log {"url":"<slack-token>"}`,
	} {
		if got := v.Text(text); got != want {
			t.Errorf("%q\n became %q,\n want   %q", text, got, want)
		}
		if once := v.Text(text); v.Text(once) != once {
			t.Errorf("%q is masked again: %q", once, v.Text(once))
		}
	}
}

func TestExpression(t *testing.T) {
	v := results(t, redact.Rule{Name: "account", Pattern: `ACME-[0-9]{8}`}, redact.Rule{Name: "whole", Pattern: `^secret$`})
	for text, want := range map[string]string{
		"ACME-12345678 and ACME-1":   "[REDACTED:account] and ACME-1",
		"secret":                     "[REDACTED:whole]",
		`{"a":"secret","b":["s"]}`:   `{"a":"[REDACTED:whole]","b":["s"]}`,
		`{"a":"\u0041CME-12345678"}`: `{"a":"[REDACTED:account]"}`,
	} {
		if got := v.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestOverlaps(t *testing.T) {
	v := results(t, redact.Rule{Name: "a", Pattern: `one two`}, redact.Rule{Name: "b", Pattern: `two three`})
	if got := v.Text("zero one two three four"); got != "zero [REDACTED:a] four" {
		t.Errorf("got %q", got)
	}
}

// A replacement can join its neighbours into another secret.
func TestUntilNothingIsFound(t *testing.T) {
	v := results(t, redact.Rule{Name: "x", Pattern: `<[a-z]>`, Replace: "-"}, redact.Rule{Name: "y", Pattern: `a-b\b`, Replace: "*"})
	if got := v.Text("a<q>b"); got != "*" {
		t.Errorf("got %q", got)
	}
	v = results(t, redact.Rule{Name: "x", Pattern: `ab+`, Replace: "b"})
	if got := v.Text(strings.Repeat("a", 100) + "b"); got != "[REDACTED]" {
		t.Errorf("a text in which something is found again and again became %q", got)
	}
}

func TestBeyondTheBounds(t *testing.T) {
	counts := new(redact.Counts)
	m := compiled(t, redact.Rule{Name: "slow", Pattern: `(x{1,8}y){1,10}z`})
	m.CountIn(counts)
	v := m.View(redact.Logs, redact.About{})
	text := strings.Repeat("harmless", 1<<18)
	if got := v.Text(text); got != "[REDACTED]" {
		t.Errorf("a text beyond the bounds became %.40q", got)
	}
	if got := v.JSON(`{"a":"` + text + `"}`); got != `{"redacted":"[REDACTED]"}` {
		t.Errorf("an object beyond the bounds became %.40q", got)
	}
	counts.Exceeded(func(place redact.Place, n int64) {
		if want := map[redact.Place]int64{redact.Logs: 2}[place]; n != want {
			t.Errorf("%d texts of %s exceeded the bounds, want %d", n, place, want)
		}
	})
	v = results(t, redact.Rule{Name: "slow", Pattern: `(x{1,8}y){1,10}z`, Dry: true})
	if v.Text(text) != text {
		t.Error("a rule that replaces nothing replaced a text beyond the bounds")
	}
}

func TestDry(t *testing.T) {
	counts := new(redact.Counts)
	m := compiled(t, redact.Rule{Name: "cards", Pattern: "card", Dry: true}, redact.Rule{Name: "mail", Pattern: "email"})
	m.CountIn(counts)
	v := m.View(redact.Results, redact.About{})
	if got := v.Text("4111111111111111 a@b.de 4111111111111111"); got != "4111111111111111 [REDACTED:mail] 4111111111111111" {
		t.Errorf("got %q", got)
	}
	if got := v.JSON(`{"n":4111111111111111,"a@b.de":1}`); got != `{"n":4111111111111111,"[REDACTED:mail]":1}` {
		t.Errorf("got %s", got)
	}
	found := map[string][2]int64{}
	counts.Each(func(rule string, place redact.Place, replaced, would int64) {
		if place == redact.Results {
			found[rule] = [2]int64{replaced, would}
		} else if replaced+would > 0 {
			t.Errorf("%s counted in %s", rule, place)
		}
	})
	if found["cards"] != [2]int64{0, 3} || found["mail"] != [2]int64{2, 0} {
		t.Errorf("counted %v", found)
	}
}
