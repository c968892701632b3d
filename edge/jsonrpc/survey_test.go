package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestSurvey(t *testing.T) {
	many := func(n int, last string) string {
		var b strings.Builder
		b.WriteByte('{')
		for i := range n {
			fmt.Fprintf(&b, `"k%d":{"k0":1},`, i)
		}
		return b.String() + `"` + last + `":1}`
	}
	for text, want := range map[string]Survey{
		`1`:                             {Values: 1},
		` {"a":[1,{"b":null}],"b":2}`:   {Values: 6},
		`[]`:                            {Values: 1},
		`{"a":1,"a":1}`:                 {Values: 2, Duplicate: "a", Repeated: true},
		`{"a":1,"\u0061":1}`:            {Values: 2, Duplicate: "a", Repeated: true},
		`{"":1,"":1}`:                   {Values: 2, Repeated: true},
		`[{"a":{"a":{"a":1}}},{"a":1}]`: {Values: 7},
		`{"a":{"b":1},"b":[{"c":1,"d":1,"c":1}]}`: {Values: 7, Duplicate: "c", Repeated: true},
		many(100, "k100"):                         {Values: 202},
		many(100, "k57"):                          {Values: 201, Duplicate: "k57", Repeated: true},
		many(16, "k3"):                            {Values: 33, Duplicate: "k3", Repeated: true},
		many(15, "k14"):                           {Values: 31, Duplicate: "k14", Repeated: true},
		`[` + strings.Repeat("0,", 999) + `0]`:    {Values: 1000, TooMany: true},
		`[` + strings.Repeat("0,", 998) + `0]`:    {Values: 1000},
	} {
		most := 999
		if !want.TooMany {
			most = 1000
		}
		got, ok := SurveyOf([]byte(text), most)
		if !ok || got != want {
			t.Errorf("%.60s: %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{``, `{`, `{"a"}`, `[1 2]`, `1 2`, `{"a":1}}`, strings.Repeat("[", MaxDepth+1)} {
		if got, ok := SurveyOf([]byte(text), 1000); ok {
			t.Errorf("%q: %+v for invalid JSON", text, got)
		}
	}
}

// FuzzSurvey compares the survey with Valid and encoding/json's tokens.
func FuzzSurvey(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":2,"b":3}]}`, `[[],{},"x"]`, `{"\u0061":1,"a":2}`, `{"a":`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := SurveyOf(raw, 1<<20)
		if got.Repeated {
			return
		}
		if ok != Valid(raw) {
			t.Fatalf("%q: %v, want %v", raw, ok, Valid(raw))
		}
		if !ok {
			return
		}
		values, repeated := reference(raw)
		if got.Values != values || repeated {
			t.Fatalf("%q: %+v, want %d values, repeated %v", raw, got, values, repeated)
		}
	})
}

// reference counts values by encoding/json.
func reference(raw []byte) (values int, repeated bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var walk func()
	walk = func() {
		values++
		token, err := dec.Token()
		if err != nil {
			return
		}
		names := map[string]bool{}
		for token == json.Delim('{') && dec.More() {
			name, _ := dec.Token()
			text, _ := name.(string)
			repeated = repeated || names[text]
			names[text] = true
			walk()
		}
		for token == json.Delim('[') && dec.More() {
			walk()
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			_, _ = dec.Token()
		}
	}
	walk()
	return values, repeated
}

func BenchmarkSurvey(b *testing.B) {
	for name, text := range map[string]string{
		"small":  `{"a":1,"b":2}`,
		"text":   `{"a":"` + strings.Repeat("x", 64<<10) + `"}`,
		"50,000": `[` + strings.Repeat("0,", 49_998) + `0]`,
	} {
		b.Run(name, func(b *testing.B) {
			raw := []byte(text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := SurveyOf(raw, 50_000); !ok {
					b.Fatal("invalid")
				}
			}
		})
	}
}
