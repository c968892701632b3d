package redact_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/tests/helpers/leaks"
)

// all returns rules with every named pattern, an expression and paths.
func all() []redact.Rule {
	return append(named("card", "email", "iban", "keys"), redact.Rule{Name: "acme", Pattern: leaks.Expression, Replace: "0"},
		redact.Rule{Name: "pin", Path: "result.pin"}, redact.Rule{Name: "deep", Path: "arguments.*.secret", Replace: "1"})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"4111 1111 1111 1111 a@b.de", "DE89 3704 0044 0532 0130 00", pem, jwt, `{"pin":[4111111111111111,"\u0041CME-12345678"],"a@b.de":1,"c@d.fr":2}`,
		`{"a":"{\"b\":\"\\u0034111111111111111\"}"}`, `\u0034111\/`, "ACME-12345678ACME-1234", aws + github + openai, "@.@..@a@b.co@"} {
		f.Add(s)
	}
	v := results(f, all()...)
	f.Fuzz(func(t *testing.T, text string) {
		once := v.Text(text)
		if twice := v.Text(once); twice != once {
			t.Errorf("%q\n became %q,\n and then %q", text, once, twice)
		}
		if !json.Valid([]byte(text)) {
			return
		}
		out := v.Result(text)
		if !json.Valid([]byte(out)) {
			t.Errorf("%s\n became %s", text, out)
		}
		if twice := v.Result(out); twice != out {
			t.Errorf("%s\n became %s,\n and then %s", text, out, twice)
		}
	})
}

// TestSecrets masks texts with generated secrets in every form, and searches the results for the
// secrets.
func TestSecrets(t *testing.T) {
	v := results(t, all()...)
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		secret := leaks.Draw(r)
		text := secret.Text
		for _, form := range []string{
			text, "a " + text + " b", "x=" + text + "\n", `"` + text + `"`, "(" + text + ")",
			leaks.Quoted(text), `{"a":[1,` + leaks.Quoted(text) + `]}`, `{` + leaks.Quoted(text) + `:1}`, `{"t":` + leaks.Quoted("id: "+text+", x") + `}`,
			`{"t":` + leaks.Quoted(`{"deep":`+leaks.Escaped(r, text)+`}`) + `}`, `[` + leaks.Escaped(r, text) + `]`, "```json\n{\"a\": " + leaks.Escaped(r, text),
		} {
			out := v.Text(form)
			if secret.IsIn(leaks.Unescaped(out)) || strings.HasPrefix(form, "{") && json.Valid([]byte(form)) && !json.Valid([]byte(out)) {
				t.Fatalf("%q became %q", form, out)
			}
		}
		if secret.IsNumber() {
			if out := v.Result(`{"n":` + text + `}`); secret.IsIn(out) {
				t.Fatalf("a number became %s", out)
			}
		}
	}
}

func BenchmarkMessage(b *testing.B) {
	text := `{"items":[` + strings.Repeat(`{"id":12345,"name":"some text of a usual length","amount":12.5},`, 64) + `{}]}`
	for name, rules := range map[string][]redact.Rule{"card-email": named("card", "email"), "all": all()} {
		v := results(b, rules...)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for range b.N {
				v.Result(text)
			}
		})
	}
}
