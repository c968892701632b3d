package jsonrpc

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValid(t *testing.T) {
	for in, want := range map[string]bool{
		"": false, " ": false, "null": true, " true ": true, "false": true, "nul": false, "nulll": false,
		"0": true, "-0": true, "-0.5e-10": true, "1E+2": true, "00": false, "+1": false, ".5": false, "1.": false,
		`"a"`: true, `'a'`: false, "\"\x7f\"": true, "\"\t\"": false,
		"[]": true, "[ ]": true, "[1, 2]": true, "[,]": false, "[1,]": false, "]": false,
		"{}": true, `{"a":{}}`: true, `{"a":1,}`: false, `{1:2}`: false, `{"a":}`: false, "{,}": false,
		"{}{}": false, "\xef\xbb\xbf{}": false, "\"\xff\"": false, "\v1": false, "1\x00": false,
		strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth):     true,
		strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1): false,
		nested(MaxDepth): true, nested(MaxDepth + 1): false,
		"[" + strings.Repeat("[],", 1000) + "[]]": true,
	} {
		if got := Valid([]byte(in)); got != want {
			t.Errorf("Valid(%.40q) = %t", in, got)
		}
	}
}

func TestMembers(t *testing.T) {
	const obj = ` { "a" : 1.50 , "\u0062" : { "x" : [ ] } , "a" : "2" } `
	want := []string{"a=1.50", `b={ "x" : [ ] }`, `a="2"`}
	var asString, asBytes []string
	if err := Members([]byte(obj), func(key string, value json.RawMessage) error {
		asString = append(asString, key+"="+string(value))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := Members([]byte(obj), func(key []byte, value json.RawMessage) error {
		asBytes = append(asBytes, string(key)+"="+string(value))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, asString); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, asBytes); d != "" {
		t.Error(d)
	}
}

func TestMembersErrors(t *testing.T) {
	count := 0
	err := Members([]byte(`{"a":1,"b":2}`), func(string, json.RawMessage) error { count++; return io.EOF })
	if err != io.EOF || count != 1 {
		t.Errorf("got %v after %d members, want fn's own error after 1", err, count)
	}
	for in, code := range map[string]int{
		"": CodeParseError, "{": CodeParseError, `{"a":1`: CodeParseError, `{"a":1}x`: CodeParseError, `{"a"}`: CodeParseError, "[1": CodeParseError,
		"[1]": CodeInvalidRequest, "null": CodeInvalidRequest, `"a"`: CodeInvalidRequest, nested(MaxDepth + 1): CodeInvalidRequest,
	} {
		err := Members([]byte(in), func(string, json.RawMessage) error { return nil })
		var pe *ParseError
		if !errors.As(err, &pe) || pe.Code != code {
			t.Errorf("Members(%.40q): %v, want code %d", in, err, code)
		}
	}
}

func TestMember(t *testing.T) {
	for _, tc := range []struct {
		obj, key, want string
		ok             bool
	}{
		{`{"a":1}`, "a", "1", true},
		{` {"a" : { "b" : 1 } } `, "a", `{ "b" : 1 }`, true},
		{`{"a":1,"a":2}`, "a", "2", true},
		{`{"\u0061":null}`, "a", "null", true},
		{`{"a":1}`, "A", "", false},
		{`{"b":{"a":1}}`, "a", "", false},
		{`{"":1}`, "", "1", true},
		{`{}`, "a", "", false},
		{`[1]`, "a", "", false},
		{``, "a", "", false},
		{`{"a":1`, "a", "", false},
		{`{"a":1}}`, "a", "", false},
		{`{"a":1,"b"}`, "a", "", false},
	} {
		got, ok := Member([]byte(tc.obj), tc.key)
		if string(got) != tc.want || ok != tc.ok {
			t.Errorf("Member(%s, %q) = %s, %t", tc.obj, tc.key, got, ok)
		}
	}
}

func TestCompact(t *testing.T) {
	for in, want := range map[string]string{
		"":      "",
		" { } ": "{}",
		"{\r\n\t\"b\" : [ 1.500 , -0E+1 , true ] ,\n \"a\" : \" x \\\" y\\\\\" , \"a\":null }": `{"b":[1.500,-0E+1,true],"a":" x \" y\\","a":null}`,
		`"unfinished \`: `"unfinished \`,
		`"unfinished  `: `"unfinished  `,
	} {
		if got := string(Compact([]byte("."), []byte(in))); got != "."+want {
			t.Errorf("Compact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestHasRawNewline(t *testing.T) {
	for in, want := range map[string]bool{"": false, "{}": false, `{"a":"\n\r"}`: false, "{\n}": true, "{}\r": true, "\n": true} {
		if got := HasRawNewline([]byte(in)); got != want {
			t.Errorf("HasRawNewline(%q) = %t", in, got)
		}
	}
}

func TestElements(t *testing.T) {
	for in, want := range map[string]string{
		`[]`: "", ` [ ] `: "", `[1]`: "1", `[ 1 , "a,]\"[" ]`: `1|"a,]\"["`,
		`[[1,2],{"a":[3,"}"]},null]`: `[1,2]|{"a":[3,"}"]}|null`, `["","x"]`: `""|"x"`,
		`["\\"]`: `"\\"`, `[{"a":"]"},"b"]`: `{"a":"]"}|"b"`,
	} {
		var got []string
		if !Elements([]byte(in), func(v json.RawMessage) bool { got = append(got, string(v)); return true }) {
			t.Errorf("%s: not an array", in)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
	if Elements([]byte(`{"a":1}`), func(json.RawMessage) bool { return true }) {
		t.Error("an object has elements")
	}
	if Elements([]byte(`[1,2]`), func(v json.RawMessage) bool { return string(v) != "1" }) {
		t.Error("a refusal is not reported")
	}
}

func TestReplaceLoneSurrogates(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"\ud800"}`: `{"a":"\ufffd"}`, `["\uDC00x\uD83d\ude00"]`: `["\ufffdx\uD83d\ude00"]`, `"\ud800\ud83d\ude00"`: `"\ufffd\ud83d\ude00"`,
		`"\\ud800"`: `"\\ud800"`, `"\\\ud800\""`: `"\\\ufffd\""`, `"\ud800\n\u0041"`: `"\ufffd\n\u0041"`, `{"\udfff":1}`: `{"\ufffd":1}`,
		`"\ufffd"`: `"\ufffd"`, `1.5`: `1.5`, ``: ``, `"\`: `"\`, `"\u12`: `"\u12`,
	} {
		got := []byte(in)
		if ReplaceLoneSurrogates(got); string(got) != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
