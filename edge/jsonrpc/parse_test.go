package jsonrpc

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, in                      string
		kind                          Kind
		id, method, params, res, fail string
	}{
		{name: "request", in: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, kind: Request, id: "1", method: "tools/call", params: `{"name":"x"}`},
		{name: "no params", in: `{"jsonrpc":"2.0","id":"a","method":"ping"}`, kind: Request, id: `"a"`, method: "ping"},
		{name: "spaces everywhere", in: " \r\n\t{ \"jsonrpc\" : \"2.0\" , \"id\" : 7 , \"method\" : \"ping\" , \"params\" : { } } \n", kind: Request, id: "7", method: "ping", params: "{ }"},
		{name: "unknown method", in: `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, kind: Request, id: "1", method: "no/such"},
		{name: "empty method", in: `{"jsonrpc":"2.0","id":1,"method":""}`, kind: Request, id: "1"},
		{name: "escaped member and method", in: `{"jsonrpc":"\u0032.0","id":1,"m\u0065thod":"p\u0069ng"}`, kind: Request, id: "1", method: "ping"},
		{name: "other case is another member", in: `{"jsonrpc":"2.0","id":1,"method":"ping","Method":3,"PARAMS":4}`, kind: Request, id: "1", method: "ping"},
		{name: "unknown members, repeated", in: `{"x":[1,{"id":null}],"x":2,"jsonrpc":"2.0","id":1,"method":"ping"}`, kind: Request, id: "1", method: "ping"},
		{name: "negative id", in: `{"jsonrpc":"2.0","id":-5,"method":"ping"}`, kind: Request, id: "-5", method: "ping"},
		{name: "id beyond 64 bits", in: `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}`, kind: Request, id: "123456789012345678901234567890", method: "ping"},
		{name: "id of a float language", in: `{"jsonrpc":"2.0","id":1.0,"method":"ping"}`, kind: Request, id: "1.0", method: "ping"},
		{name: "empty string id", in: `{"jsonrpc":"2.0","id":"","method":"ping"}`, kind: Request, id: `""`, method: "ping"},
		{name: "escaped id is kept as written", in: `{"jsonrpc":"2.0","id":"\u0061\/","method":"ping"}`, kind: Request, id: `"\u0061\/"`, method: "ping"},
		{name: "longest id", in: `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", MaxIDLen-2) + `","method":"ping"}`, kind: Request, id: `"` + strings.Repeat("x", MaxIDLen-2) + `"`, method: "ping"},
		{name: "notification", in: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, kind: Notification, method: "notifications/initialized"},
		{name: "response", in: `{"jsonrpc":"2.0","id":1,"result":{"a":1.50e+2}}`, kind: Response, id: "1", res: `{"a":1.50e+2}`},
		{name: "null result", in: `{"jsonrpc":"2.0","id":1,"result":null}`, kind: Response, id: "1", res: `null`},
		{name: "params of a response are ignored", in: `{"jsonrpc":"2.0","id":1,"result":{},"params":[]}`, kind: Response, id: "1", res: `{}`},
		{name: "error", in: `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}`, kind: ErrorResponse, id: "1", fail: `{"code":-1,"message":"no"}`},
		{name: "error without id", in: `{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`, kind: ErrorResponse, fail: `{"code":-32700,"message":"no"}`},
		{name: "text beyond ASCII", in: `{"jsonrpc":"2.0","id":"ü","method":"ping","params":{"ключ":"日本語 🎉"}}`, kind: Request, id: `"ü"`, method: "ping", params: `{"ключ":"日本語 🎉"}`},
		{name: "lone surrogate", in: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud800"}}`, kind: Request, id: "1", method: "ping", params: `{"a":"\ud800"}`},
		{name: "null params", in: `{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, kind: Request, id: "1", method: "ping"},
		{name: "null params of a notification", in: `{"jsonrpc":"2.0","method":"notifications/initialized","params": null }`, kind: Notification, method: "notifications/initialized"},
		{name: "null result and error of a request", in: `{"jsonrpc":"2.0","id":1,"method":"ping","result":null,"error":null}`, kind: Request, id: "1", method: "ping"},
		{name: "null error of a response", in: `{"jsonrpc":"2.0","id":1,"method":null,"result":{},"error":null}`, kind: Response, id: "1", res: `{}`},
		{name: "null result of an error", in: `{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-1,"message":"no"}}`, kind: ErrorResponse, id: "1", fail: `{"code":-1,"message":"no"}`},
		{name: "null id of an error", in: `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}`, kind: ErrorResponse, fail: `{"code":-1,"message":"no"}`},
		{name: "deepest", in: `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + nested(MaxDepth-1) + `}`, kind: Request, id: "1", method: "ping", params: nested(MaxDepth - 1)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := Parse([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if m.Kind != tc.kind || m.ID.Raw() != tc.id || m.Method != tc.method ||
				string(m.Params) != tc.params || string(m.Result) != tc.res || string(m.Error) != tc.fail {
				t.Errorf("got %v id=%s method=%q params=%s result=%s error=%s", m.Kind, m.ID.Raw(), m.Method, m.Params, m.Result, m.Error)
			}
			if (m.Params == nil) != (tc.params == "") {
				t.Errorf("params are nil: %t", m.Params == nil)
			}
		})
	}
}

// nested returns depth objects within each other.
func nested(depth int) string {
	return strings.Repeat(`{"a":`, depth-1) + `{}` + strings.Repeat(`}`, depth-1)
}

func TestParseRefuses(t *testing.T) {
	const bad, wrong = CodeParseError, CodeInvalidRequest
	for _, tc := range []struct {
		name, in string
		code     int
		id       string
		reply    bool
		offset   int
		says     string
	}{
		{name: "empty", in: ``, code: bad, says: "empty"},
		{name: "space", in: " \n", code: bad, offset: 2, says: "empty"},
		{name: "cut short", in: `{"jsonrpc":"2.0","id":1,`, code: bad, offset: 24, says: "too early"},
		{name: "cut in a string", in: `{"jsonrpc":"2.`, code: bad, offset: 14, says: "too early"},
		{name: "cut in an escape", in: `{"a":"\u00`, code: bad, offset: 6, says: "escape"},
		{name: "byte order mark", in: "\xef\xbb\xbf{}", code: bad, says: "byte order mark"},
		{name: "trailing garbage", in: `{"jsonrpc":"2.0","id":1,"method":"ping"} x`, code: bad, offset: 41, says: "'x' after the end"},
		{name: "two messages", in: `{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, code: bad, offset: 40, says: "one value only"},
		{name: "trailing comma", in: `{"a":1,}`, code: bad, offset: 7, says: "unexpected '}'"},
		{name: "no comma", in: `{"a":1 "b":2}`, code: bad, offset: 7, says: `unexpected '"'`},
		{name: "no colon", in: `{"a" 1}`, code: bad, offset: 5, says: "unexpected '1'"},
		{name: "bare name", in: `{a:1}`, code: bad, offset: 1, says: "unexpected 'a'"},
		{name: "array comma", in: `{"a":[1,]}`, code: bad, offset: 8, says: "unexpected ']'"},
		{name: "array of two without comma", in: `{"a":[1 2]}`, code: bad, offset: 8, says: "unexpected '2'"},
		{name: "wrong bracket", in: `{"a":[1}`, code: bad, offset: 7, says: "unexpected '}'"},
		{name: "leading zero", in: `{"a":01}`, code: bad, offset: 6, says: "unexpected '1'"},
		{name: "bare minus", in: `{"a":-}`, code: bad, offset: 6, says: "unexpected '}'"},
		{name: "no fraction digits", in: `{"a":1.}`, code: bad, offset: 7, says: "unexpected '}'"},
		{name: "no exponent digits", in: `{"a":1e+}`, code: bad, offset: 8, says: "unexpected '}'"},
		{name: "NaN", in: `{"a":NaN}`, code: bad, offset: 5, says: "unexpected 'N'"},
		{name: "half a literal", in: `{"a":tru}`, code: bad, offset: 8, says: "unexpected '}'"},
		{name: "raw newline in string", in: "{\"a\":\"x\ny\"}", code: bad, offset: 7, says: "control character 0x0a"},
		{name: "bad escape", in: `{"a":"\x"}`, code: bad, offset: 6, says: "escape"},
		{name: "invalid UTF-8", in: "{\"a\":\"\xff\"}", code: bad, offset: 6, says: "0xff is not valid UTF-8"},
		{name: "encoded surrogate", in: "{\"a\":\"\xed\xa0\x80\"}", code: bad, offset: 6, says: "UTF-8"},
		{name: "invalid UTF-8 outside", in: "\xff", code: bad, says: "byte 0xff"},
		{name: "malformed after invalid", in: `{"id":null,"id":2`, code: bad, offset: 17, says: "too early"},

		{name: "scalar", in: `"x"`, code: wrong, says: "a string"},
		{name: "null", in: `null`, code: wrong, says: "null"},
		{name: "batch", in: ` [{}]`, code: wrong, offset: 1, says: "batch"},
		{name: "empty object", in: `{}`, code: wrong, says: `"jsonrpc" is missing`},
		{name: "no version", in: `{"id":1,"method":"ping"}`, code: wrong, id: "1", says: `"jsonrpc" is missing`},
		{name: "version 1", in: `{"jsonrpc":"1.0","id":1,"method":"ping"}`, code: wrong, id: "1", offset: 11, says: `"jsonrpc"`},
		{name: "version number", in: `{"jsonrpc":2.0,"id":1,"method":"ping"}`, code: wrong, id: "1", offset: 11, says: `of type number`},
		{name: "null id", in: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, code: wrong, offset: 22, says: "id is null"},
		{name: "boolean id", in: `{"jsonrpc":"2.0","id":true,"method":"ping"}`, code: wrong, offset: 22, says: "a boolean"},
		{name: "object id", in: `{"jsonrpc":"2.0","id":{},"method":"ping"}`, code: wrong, offset: 22, says: "an object"},
		{name: "fractional id", in: `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, code: wrong, offset: 22, says: "not an integer"},
		{name: "exponent id", in: `{"jsonrpc":"2.0","id":1e3,"method":"ping"}`, code: wrong, offset: 22, says: "not an integer"},
		{name: "long id", in: `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", MaxIDLen-1) + `","method":"ping"}`, code: wrong, offset: 22, says: "1025 bytes"},
		{name: "null id of a result", in: `{"jsonrpc":"2.0","id":null,"result":{}}`, code: wrong, reply: true, offset: 22, says: "id is null"},
		{name: "method number", in: `{"jsonrpc":"2.0","id":1,"method":5}`, code: wrong, id: "1", offset: 33, says: `"method"`},
		{name: "array params", in: `{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`, code: wrong, id: "1", offset: 49, says: "of type array"},
		{name: "null params twice", in: `{"jsonrpc":"2.0","id":1,"method":"ping","params":null,"params":{}}`, code: wrong, id: "1", offset: 63, says: "more than once"},
		{name: "null error alone", in: `{"jsonrpc":"2.0","id":1,"error":null}`, code: wrong, id: "1", says: "neither"},
		{name: "array params of a notification", in: `{"jsonrpc":"2.0","method":"ping","params":[]}`, code: wrong, offset: 42, says: "of type array"},
		{name: "method and result", in: `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, code: wrong, id: "1", offset: 49, says: `both "method" and "result"`},
		{name: "method and error", in: `{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}`, code: wrong, id: "1", offset: 48, says: `both "method" and "error"`},
		{name: "result and error", in: `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, code: wrong, id: "1", reply: true, offset: 44, says: "both"},
		{name: "result without id", in: `{"jsonrpc":"2.0","result":{}}`, code: wrong, reply: true, says: `without "id"`},
		{name: "error string", in: `{"jsonrpc":"2.0","id":1,"error":"x"}`, code: wrong, id: "1", reply: true, offset: 32, says: `"error"`},
		{name: "nothing", in: `{"jsonrpc":"2.0","id":1}`, code: wrong, id: "1", says: "neither"},
		{name: "two ids", in: `{"jsonrpc":"2.0","id":1,"method":"ping","id":1}`, code: wrong, offset: 45, says: `"id" occurs more than once`},
		{name: "two methods", in: `{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"x"}`, code: wrong, id: "1", offset: 54, says: `"method" occurs`},
		{name: "two methods and two ids", in: `{"jsonrpc":"2.0","id":1,"method":"ping","method":"x","id":2}`, code: wrong, offset: 49, says: `"method" occurs`},
		{name: "two versions", in: `{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}`, code: wrong, id: "1", offset: 27, says: `"jsonrpc" occurs`},
		{name: "two params", in: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}`, code: wrong, id: "1", offset: 61, says: `"params" occurs`},
		{name: "too deep", in: `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + nested(MaxDepth) + `}`, code: wrong, id: "1", offset: 49 + 5*(MaxDepth-1), says: "deeper than 128"},
		{name: "far too deep", in: strings.Repeat("[", 1<<20), code: wrong, offset: MaxDepth, says: "deeper than 128"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := Parse([]byte(tc.in))
			var pe *ParseError
			if !errors.As(err, &pe) {
				t.Fatalf("got %+v, error %v; want a ParseError", m, err)
			}
			if pe.Code != tc.code || pe.ID.Raw() != tc.id || pe.Reply != tc.reply || pe.Offset != tc.offset {
				t.Errorf("got code %d, id %q, reply %t, offset %d: %v", pe.Code, pe.ID.Raw(), pe.Reply, pe.Offset, err)
			}
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %q does not say %q", err, tc.says)
			}
			if HasRawNewline([]byte(pe.Message)) {
				t.Errorf("message %q is not one line", pe.Message)
			}
		})
	}
}

func TestParseAliasesInput(t *testing.T) {
	in := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1}}`)
	m, err := Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	if at := strings.Index(string(in), `{"a"`); &m.Params[0] != &in[at] {
		t.Error("params were copied")
	}
	if _ = append(m.Params, "garbage"...); string(in[len(in)-1:]) != "}" {
		t.Error("appending to params writes into the input")
	}
}

func TestParseBatch(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	got, err := ParseBatch([]byte(` [ `+ping+` , 5,{"jsonrpc":"2.0","id":2},{"jsonrpc":"2.0","method":"x"} ] `), 4)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 {
		t.Fatalf("got %d entries, want 4", len(got))
	}
	if got[0].Err != nil || got[0].Kind != Request || got[0].Method != "ping" {
		t.Errorf("entry 0: %+v", got[0])
	}
	for i, want := range map[int]ParseError{1: {Code: CodeInvalidRequest, Offset: 46}, 2: {Code: CodeInvalidRequest, ID: IntID(2), Offset: 48}} {
		var pe *ParseError
		if !errors.As(got[i].Err, &pe) {
			t.Fatalf("entry %d: error %v", i, got[i].Err)
		}
		if pe.Code != want.Code || pe.ID != want.ID || pe.Offset != want.Offset || got[i].Kind != 0 {
			t.Errorf("entry %d: %+v", i, pe)
		}
	}
	if got[3].Err != nil || got[3].Kind != Notification {
		t.Errorf("entry 3: %+v", got[3])
	}
}

func TestParseBatchRefuses(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, tc := range []struct {
		name, in string
		code     int
		says     string
	}{
		{"empty", ` [ ] `, CodeInvalidRequest, "empty"},
		{"too long", `[` + ping + `,` + ping + `,` + ping + `]`, CodeInvalidRequest, "more than 2"},
		{"one malformed", `[` + ping + `,{"a"}]`, CodeParseError, "unexpected '}'"},
		{"cut short", `[` + ping, CodeParseError, "too early"},
		{"trailing comma", `[` + ping + `,]`, CodeParseError, "unexpected ']'"},
		{"trailing garbage", `[` + ping + `]]`, CodeParseError, "after the end"},
		{"too deep", `[` + nested(MaxDepth) + `]`, CodeInvalidRequest, "deeper"},
		{"not an array", ping, CodeInvalidRequest, "one value where a batch"},
		{"not JSON", `x`, CodeParseError, "unexpected 'x'"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseBatch([]byte(tc.in), 2)
			var pe *ParseError
			if !errors.As(err, &pe) || got != nil {
				t.Fatalf("got %+v, error %v; want a ParseError alone", got, err)
			}
			if pe.Code != tc.code || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want code %d saying %q", err, tc.code, tc.says)
			}
		})
	}
	if _, err := ParseBatch([]byte(`[`+ping+`]`), 0); err == nil {
		t.Error("a maximum of 0 allowed a message")
	}
}

func TestIsBatch(t *testing.T) {
	for in, want := range map[string]bool{"": false, " \t\r\n[": true, "[]": true, "{}": false, " {[": false, "x[": false} {
		if got := IsBatch([]byte(in)); got != want {
			t.Errorf("IsBatch(%q) = %t", in, got)
		}
	}
}

func TestKnownMethodsAreThemselves(t *testing.T) {
	for _, name := range []string{
		"completion/complete", "elicitation/create", "initialize", "logging/setLevel",
		"notifications/cancelled", "notifications/initialized", "notifications/message",
		"notifications/progress", "notifications/roots/list_changed", "ping", "prompts/get",
		"prompts/list", "resources/list", "resources/read", "resources/subscribe",
		"resources/templates/list", "resources/unsubscribe", "roots/list", "sampling/createMessage",
		"server/discover", "subscriptions/listen", "tasks/cancel", "tasks/get", "tasks/list",
		"tasks/result", "tasks/update", "tools/call", "tools/list",
	} {
		b := []byte(name)
		if got := methodName(b); got != name {
			t.Errorf("methodName(%q) = %q", name, got)
		}
		if n := testing.AllocsPerRun(10, func() { methodName(b) }); n != 0 {
			t.Errorf("methodName(%q) allocates", name)
		}
	}
}
