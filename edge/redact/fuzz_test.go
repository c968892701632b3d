package redact_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/redact"
)

// all are rules with every named pattern, an expression and paths.
func all() []redact.Rule {
	return append(named("card", "email", "iban", "keys"), redact.Rule{Name: "acme", Pattern: `ACME-[0-9]{8}`, Replace: "0"},
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

// TestSecrets searches for generated secrets in what is left of texts that have them in every form.
func TestSecrets(t *testing.T) {
	v := results(t, all()...)
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		secret := redact.Secret(r)
		for _, form := range []string{
			secret, "a " + secret + " b", "x=" + secret + "\n", `"` + secret + `"`, "(" + secret + ")",
			quoted(secret), `{"a":[1,` + quoted(secret) + `]}`, `{` + quoted(secret) + `:1}`, `{"t":` + quoted("id: "+secret+", x") + `}`,
			`{"t":` + quoted(`{"deep":`+escaped(r, secret)+`}`) + `}`, `[` + escaped(r, secret) + `]`, "```json\n{\"a\": " + escaped(r, secret),
		} {
			out := v.Text(form)
			if strings.Contains(unescaped(out), secret) || strings.HasPrefix(form, "{") && !json.Valid([]byte(out)) && json.Valid([]byte(form)) {
				t.Fatalf("%q became %q", form, out)
			}
		}
		if isNumber(secret) {
			if out := v.Result(`{"n":` + secret + `}`); strings.Contains(out, secret) {
				t.Fatalf("a number became %s", out)
			}
		}
	}
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" && s != "" }

func quoted(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

// escaped returns a text as JSON, with escapes for some of its characters.
func escaped(r *rand.Rand, s string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case r.IntN(4) == 0 || c < ' ' || c == '"' || c == '\\':
			b.WriteString(`\u00` + string(hex[c>>4]) + string(hex[c&15]))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// unescaped decodes the escapes of a text, also those in strings in strings.
func unescaped(s string) string {
	for range 4 {
		s = strings.ReplaceAll(s, `\\`, `\`)
		for i := strings.Index(s, `\u00`); i >= 0 && i+6 <= len(s); i = strings.Index(s, `\u00`) {
			var c string
			if json.Unmarshal([]byte(`"`+s[i:i+6]+`"`), &c) != nil {
				break
			}
			s = s[:i] + c + s[i+6:]
		}
	}
	return s
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
