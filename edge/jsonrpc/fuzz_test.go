package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var seeds = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,2.5e-3,"\u00e9\n"]}}}`,
	`{"jsonrpc":"2.0","params": { "_meta":{ "a" :{}, "\u0061":1} , "x":[ ],"_m\u0065ta":{"b":2}},"method":"x"}`,
	`{"jsonrpc":"2.0","method":"x","params":{"_meta":[{"a":1}],"_meta":{"b":{"c":2}}}}`,
	`{"jsonrpc":"2.0","method":"x","params":{` + strings.Repeat(`"k":{},`, 30) + `"_meta":{"a":1}}}`,
	`{"jsonrpc":"2.0","id":"\ud83c\udf89","method":"p\u0069ng"}`,
	"{\"jsonrpc\":\"2.0\",\r\n \"method\":\"notifications/initialized\"}",
	`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"日本語"}]}}`,
	`{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`,
	`{"jsonrpc":"2.0","id":1,"id":2,"method":null,"params":[]}`,
	`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},7]`,
	`[[[[[[[["deep"]]]]]]]]`, `{"a":-0.0E+10,"b":true,"c":false,"d":null}`, "\xef\xbb\xbf{}", "\"\xff\"", `"\x"`, ``, `[]`,
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		m, err := Parse(data)
		checkValid(t, data)
		if err != nil {
			checkError(t, err, data)
			if m.Kind != 0 {
				t.Errorf("an error and a message: %+v", m)
			}
		} else {
			if !Valid(data) {
				t.Error("parsed an invalid text")
			}
			checkMembers(t, data, m)
			checkOutline(t, data, m)
			checkReprint(t, data, m)
		}
		if !bytes.Equal(before, data) {
			t.Error("the input was changed")
		}
	})
}

func FuzzParseBatch(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, max uint8) {
		entries, err := ParseBatch(data, int(max))
		if err != nil {
			checkError(t, err, data)
			return
		}
		if !Valid(data) || !IsBatch(data) || len(entries) == 0 || len(entries) > int(max) {
			t.Fatalf("a batch of %d out of %q", len(entries), data)
		}
		var elements []json.RawMessage
		if err := json.Unmarshal(data, &elements); err != nil || len(elements) != len(entries) {
			t.Fatalf("%d entries; encoding/json has %d, %v", len(entries), len(elements), err)
		}
		for i, e := range entries {
			single, err := Parse(elements[i])
			if (err == nil) != (e.Err == nil) {
				t.Fatalf("entry %d: error %v, alone %v", i, e.Err, err)
			}
			if d := cmp.Diff(single, e.Message, cmp.AllowUnexported(ID{})); d != "" {
				t.Fatalf("entry %d differs from the message alone: %s", i, d)
			}
			if e.Err != nil {
				checkError(t, e.Err, data)
			}
		}
	})
}

// checkValid compares Valid and Compact with encoding/json.
func checkValid(t *testing.T, data []byte) {
	want := json.Valid(data) && utf8.Valid(data) && depthOf(data) <= MaxDepth
	if got := Valid(data); got != want {
		t.Fatalf("Valid = %t, want %t", got, want)
	}
	compact := Compact(nil, data)
	if !want {
		return
	}
	var ref bytes.Buffer
	if err := json.Compact(&ref, data); err != nil || !bytes.Equal(ref.Bytes(), compact) {
		t.Fatalf("Compact = %q, encoding/json has %q, %v", compact, ref.Bytes(), err)
	}
	if HasRawNewline(compact) {
		t.Fatalf("Compact left a newline: %q", compact)
	}
	var str string
	if s, ok := Unquote(data); ok {
		if err := json.Unmarshal(data, &str); err != nil || s != str {
			t.Fatalf("Unquote = %q, encoding/json has %q, %v", s, str, err)
		}
	}
}

// depthOf returns the nesting of a valid JSON text.
func depthOf(data []byte) int {
	most, depth, inString := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			depth++
			most = max(most, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return most
}

func checkError(t *testing.T, err error, data []byte) {
	var pe *ParseError
	if !errors.As(err, &pe) {
		t.Fatalf("error %T is not a ParseError", err)
	}
	if pe.Code != CodeParseError && pe.Code != CodeInvalidRequest || pe.Message == "" || pe.Offset < 0 || pe.Offset > len(data) {
		t.Fatalf("odd error %+v", pe)
	}
	if pe.Code == CodeParseError && (json.Valid(data) && utf8.Valid(data) || !pe.ID.IsZero()) {
		t.Fatalf("%v: %q", pe, data)
	}
	if !pe.ID.IsZero() {
		if _, err := NewID(pe.ID.Raw()); err != nil {
			t.Fatal(err)
		}
	}
	back, err := Parse(AppendError(nil, pe.ID, pe.Code, pe.Message, nil))
	if err != nil || back.Kind != ErrorResponse || back.ID != pe.ID {
		t.Fatalf("the answer to %q is %+v, %v", data, back, err)
	}
}

// checkMembers compares the parsed message with encoding/json.
func checkMembers(t *testing.T, data []byte, m Message) {
	var ref map[string]json.RawMessage
	if err := json.Unmarshal(data, &ref); err != nil {
		t.Fatal(err)
	}
	method, _ := Unquote(ref["method"])
	if m.ID.Raw() != string(ref["id"]) || m.Method != method {
		t.Fatalf("got id %q, method %q; encoding/json has %q, %q", m.ID.Raw(), m.Method, ref["id"], method)
	}
	for key, value := range ref {
		if got, ok := Member(data, key); utf8.ValidString(key) && !bytes.Contains([]byte(key), []byte("\ufffd")) && (!ok || !bytes.Equal(got, value)) {
			t.Fatalf("Member(%q) = %q, encoding/json has %q", key, got, value)
		}
	}
}

// checkOutline reads the members of the params of m, and of `_meta` in them, by an outline, of the text and of a copy.
func checkOutline(t *testing.T, data []byte, m Message) {
	var o Outline
	got, err := ParseOutlined(data, &o)
	if err != nil || !cmp.Equal(got.Params, m.Params) || (got.Outline != nil) != (m.Params != nil) {
		t.Fatalf("with an outline %+v, %v; without %+v", got, err, m)
	}
	type member struct{ key, value string }
	gather := func(members func(fn func(key []byte, value json.RawMessage) error) error) (all []member) {
		if err := members(func(key []byte, value json.RawMessage) error {
			all = append(all, member{string(key), string(value)})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	if m.Params == nil {
		return
	}
	params := bytes.Clone(m.Params)
	by := gather(func(fn func([]byte, json.RawMessage) error) error { return got.Outline.Members(params, fn) })
	scanned := gather(func(fn func([]byte, json.RawMessage) error) error { return Members(m.Params, fn) })
	if !cmp.Equal(by, scanned, cmp.AllowUnexported(member{})) {
		t.Fatalf("the outline has %q, the params %q", by, scanned)
	}
	for _, one := range scanned {
		if one.key != "_meta" || TypeOf([]byte(one.value)) != Object {
			continue
		}
		by := gather(func(fn func([]byte, json.RawMessage) error) error {
			return got.Outline.MetaMembers(params, []byte(one.value), fn)
		})
		if in := gather(func(fn func([]byte, json.RawMessage) error) error { return Members([]byte(one.value), fn) }); !cmp.Equal(by, in, cmp.AllowUnexported(member{})) {
			t.Fatalf("the outline of _meta has %q, it %q", by, in)
		}
		return // the first
	}
}

// checkReprint prints m and parses it again.
func checkReprint(t *testing.T, data []byte, m Message) {
	out := AppendMessage(nil, m)
	if !HasRawNewline(data) && HasRawNewline(out) {
		t.Fatalf("one line became several: %q", out)
	}
	back, err := Parse(out)
	if err != nil {
		t.Fatalf("printed %q: %v", out, err)
	}
	if d := cmp.Diff(m, back, cmp.AllowUnexported(ID{})); d != "" {
		t.Fatalf("printed %q: %s", out, d)
	}
}
