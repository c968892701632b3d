package jsonrpc

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppend(t *testing.T) {
	for _, tc := range []struct {
		name string
		got  []byte
		want string
	}{
		{"result", AppendResult([]byte("x"), IntID(1), []byte(`{"a":1}`)), `x{"jsonrpc":"2.0","id":1,"result":{"a":1}}`},
		{"empty result", AppendResult(nil, StringID("a"), nil), `{"jsonrpc":"2.0","id":"a","result":{}}`},
		{"error", AppendError(nil, IntID(-1), CodeInvalidParams, `no "x"`, nil), `{"jsonrpc":"2.0","id":-1,"error":{"code":-32602,"message":"no \"x\""}}`},
		{"error with data", AppendError(nil, IntID(1), -1, "no", []byte(`{"a":1}`)), `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":{"a":1}}}`},
		{"error without id", AppendError(nil, ID{}, CodeParseError, "no", nil), `{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`},
		{"request", AppendRequest(nil, IntID(1), "roots/list", nil), `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`},
		{"request with params", AppendRequest(nil, IntID(1), `a"b`, []byte(`{}`)), `{"jsonrpc":"2.0","id":1,"method":"a\"b","params":{}}`},
		{"notification", AppendNotification(nil, "notifications/progress", []byte(`{"progress":1}`)), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`},
		{"raw error", AppendMessage(nil, Message{Kind: ErrorResponse, ID: IntID(1), Error: []byte(`{"code":1}`)}), `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`},
		{"no message", AppendMessage(nil, Message{}), ``},
	} {
		if string(tc.got) != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, tc.got, tc.want)
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	dst, id, raw := make([]byte, 0, 1024), IntID(1), []byte(`{"a":"b"}`)
	for name, f := range map[string]func(){
		"result":       func() { AppendResult(dst, id, raw) },
		"error":        func() { AppendError(dst, id, -32602, "wrong\n", raw) },
		"request":      func() { AppendRequest(dst, id, "ping", raw) },
		"notification": func() { AppendNotification(dst, "ping", raw) },
		"compact":      func() { Compact(dst, raw) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestAppendString(t *testing.T) {
	for in, want := range map[string]string{
		"":                         `""`,
		"plain and long enough":    `"plain and long enough"`,
		`"\/`:                      `"\"\\/"`,
		"\n\r\t\b\f\x00\x1f":       `"\n\r\t\u0008\u000c\u0000\u001f"`,
		"<a&b>\x7f":                "\"<a&b>\x7f\"",
		"a\u2028b\u2029c":          `"a\u2028b\u2029c"`,
		"ü日🎉":                      `"ü日🎉"`,
		"a\xffb\xed\xa0\x80c\xe2":  `"a` + "\ufffdb\ufffd\ufffd\ufffdc\ufffd" + `"`,
		"\ufffd":                   "\"\ufffd\"",
		"sixteen bytes..\nand \"x": `"sixteen bytes..\nand \"x"`,
	} {
		got := string(AppendString(nil, in))
		if got != want {
			t.Errorf("AppendString(%q) = %s, want %s", in, got, want)
		}
		back, ok := Unquote([]byte(got))
		if !ok || back != strings.ToValidUTF8(in, "\ufffd") && utf8.ValidString(in) {
			t.Errorf("Unquote(%s) = %q, %t", got, back, ok)
		}
	}
}

// TestPlainAtEveryPosition tries each byte at each position of a word.
func TestPlainAtEveryPosition(t *testing.T) {
	for c := range 256 {
		ordinary := c >= 0x20 && c < 0x80 && c != '"' && c != '\\'
		for at := range 20 {
			for _, filler := range []byte{' ', '!', '#', '[', ']', '~', 0x7f} {
				b := []byte(strings.Repeat(string(filler), 20))
				b[at] = byte(c)
				want := at
				if ordinary {
					want = len(b)
				}
				if got, str := indexSpecial(b, 0), indexSpecial(string(b), 0); got != want || str != want {
					t.Fatalf("byte %#02x at %d among %q: plain = %d and %d, want %d", c, at, filler, got, str, want)
				}
			}
		}
	}
}

func TestUnquote(t *testing.T) {
	for in, want := range map[string]string{
		`""`:                        "",
		` "a" `:                     "a",
		`"\"\\\/\b\f\n\r\t"`:        "\"\\/\b\f\n\r\t",
		`"\u00e9\u65E5"`:            "é日",
		`"\ud83c\udf89"`:            "🎉",
		`"\ud800x"`:                 "\ufffdx",
		`"\ud800\ud83c\udf89"`:      "\ufffd🎉",
		`"\udc00\u0041"`:            "\ufffdA",
		`"\ud83c\n"`:                "\ufffd\n",
		`"\ud83c"`:                  "\ufffd",
		`"before \u0041 and after"`: "before A and after",
	} {
		got, ok := Unquote([]byte(in))
		if !ok || got != want {
			t.Errorf("Unquote(%s) = %q, %t; want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{``, `a`, `"`, `"a`, `1`, `null`, `"a"b`, `"\x"`, "\"\xff\"", `["a"]`} {
		if got, ok := Unquote([]byte(in)); ok {
			t.Errorf("Unquote(%s) = %q, want a refusal", in, got)
		}
	}
}

func TestID(t *testing.T) {
	for _, tc := range []struct{ raw, str string }{
		{"1", "1"}, {"-7", "-7"}, {"1.0", "1.0"}, {`"a"`, "a"}, {`""`, ""}, {`"\u0061\n"`, "a\n"},
	} {
		id, err := NewID(tc.raw)
		if err != nil || id.Raw() != tc.raw || id.String() != tc.str || id.IsZero() {
			t.Errorf("NewID(%s) = %q, %q, %v", tc.raw, id.Raw(), id.String(), err)
		}
	}
	for _, raw := range []string{"", " 1", "1 ", "null", "true", "{}", "[]", "1.5", "1e2", "01", `"a`, "1,2", `"` + strings.Repeat("x", MaxIDLen) + `"`} {
		if id, err := NewID(raw); err == nil || !id.IsZero() {
			t.Errorf("NewID(%s) = %q, %v; want a refusal", raw, id.Raw(), err)
		}
	}
	if (ID{}) != *new(ID) || !(ID{}).IsZero() || (ID{}).String() != "" {
		t.Error("the zero ID is not absent")
	}
	if IntID(1) == StringID("1") {
		t.Error(`1 and "1" are one id`)
	}
	if parsed, _ := NewID(`"a"`); StringID("a") != parsed || map[ID]int{parsed: 1}[StringID("a")] != 1 {
		t.Error("equal ids differ")
	}
}

func TestNames(t *testing.T) {
	for kind, want := range map[Kind]string{0: "no message", Request: "request", Notification: "notification", Response: "response", ErrorResponse: "error response"} {
		if kind.String() != want {
			t.Errorf("Kind %d is %q, want %q", kind, kind, want)
		}
	}
	for in, want := range map[string]string{"": "invalid", "x": "invalid", " null": "null", "false": "boolean", "true": "boolean", "-1": "number", "0": "number", `"`: "string", "\n[": "array", "\t{": "object"} {
		if got := TypeOf(json.RawMessage(in)).String(); got != want {
			t.Errorf("TypeOf(%q) = %s, want %s", in, got, want)
		}
	}
}
