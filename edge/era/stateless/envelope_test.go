package stateless

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

func complete(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
	return mcp.Reply{Result: []byte(`{"content":[],"resultType":"complete"}`)}, nil
}

// Each row breaks one part of a well-formed request. The order of the checks decides which of two
// errors is returned.
func TestEnvelope(t *testing.T) {
	e := newEra(t, &fakeDispatch{call: complete}, Options{})
	const named = `"name":"echo","arguments":{}`
	for name, c := range map[string]struct {
		method, params string
		spoil          func(body *string, h http.Header)
		kind           mcp.Kind
		code           string
	}{
		"well formed":               {"tools/list", "", nil, mcp.KindNone, ""},
		"well formed call":          {"tools/call", named, func(_ *string, h http.Header) { h.Set("Mcp-Name", "echo") }, mcp.KindNone, ""},
		"name in base64":            {"tools/call", `"name":"ä"`, func(_ *string, h http.Header) { h.Set("Mcp-Name", "=?base64?w6Q=?=") }, mcp.KindNone, ""},
		"name with spaces around":   {"tools/call", named, func(_ *string, h http.Header) { h.Set("Mcp-Name", "  echo\t") }, mcp.KindNone, ""},
		"name in broken base64":     {"tools/call", `"name":"ä"`, func(_ *string, h http.Header) { h.Set("Mcp-Name", "=?base64?w6Q?=") }, mcp.KindHeaderMismatch, "-32020"},
		"name with half a sentinel": {"tools/call", `"name":"=?base64?x"`, func(_ *string, h http.Header) { h.Set("Mcp-Name", "=?base64?x") }, mcp.KindNone, ""},
		"name missing":              {"tools/call", named, nil, mcp.KindHeaderMismatch, "-32020"},
		"name sent twice":           {"tools/call", named, func(_ *string, h http.Header) { h["Mcp-Name"] = []string{"echo", "echo"} }, mcp.KindHeaderMismatch, "-32020"},
		"name differs":              {"tools/call", named, func(_ *string, h http.Header) { h.Set("Mcp-Name", "Echo") }, mcp.KindHeaderMismatch, "-32020"},
		"uri differs":               {"resources/read", `"uri":"a:b"`, func(_ *string, h http.Header) { h.Set("Mcp-Name", "a:c") }, mcp.KindHeaderMismatch, "-32020"},
		"no name in the body":       {"tools/call", "", nil, mcp.KindInvalidParams, "-32602"},
		"version header missing":    {"tools/list", "", func(_ *string, h http.Header) { h.Del("Mcp-Protocol-Version") }, mcp.KindHeaderMismatch, "-32020"},
		"version header differs":    {"tools/list", "", func(_ *string, h http.Header) { h.Set("Mcp-Protocol-Version", "2025-11-25") }, mcp.KindHeaderMismatch, "-32020"},
		"unknown version in header only": {"tools/list", "", func(_ *string, h http.Header) {
			h.Set("Mcp-Protocol-Version", "2099-01-01")
		}, mcp.KindHeaderMismatch, "-32020"},
		"unknown version": {"tools/list", "", func(b *string, h http.Header) {
			h.Set("Mcp-Protocol-Version", "2099-01-01")
			*b = strings.Replace(*b, "2026-07-28", "2099-01-01", 1)
		}, mcp.KindUnsupportedVersion, "-32022"},
		"no meta": {"tools/list", "", func(b *string, _ http.Header) {
			*b = strings.Replace(*b, meta, `"x":1`, 1)
		}, mcp.KindInvalidParams, "-32602"},
		"no params": {"tools/list", "", func(b *string, _ http.Header) {
			*b = `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
		}, mcp.KindInvalidParams, "-32602"},
		"no capabilities": {"tools/list", "", func(b *string, _ http.Header) {
			*b = strings.Replace(*b, "clientCapabilities", "other", 1)
		}, mcp.KindInvalidParams, "-32602"},
		"capabilities no object": {"tools/list", "", func(b *string, _ http.Header) {
			*b = strings.Replace(*b, `Capabilities":{}`, `Capabilities":[]`, 1)
		}, mcp.KindInvalidParams, "-32602"},
		"long version": {"tools/list", "", func(b *string, _ http.Header) {
			*b = strings.Replace(*b, "2026-07-28", strings.Repeat("2", mcp.MaxName+1), 1)
		}, mcp.KindInvalidParams, "-32602"},
		"large client info": {"tools/list", "", func(b *string, _ http.Header) {
			*b = strings.Replace(*b, `Capabilities":{}`, `Capabilities":{"x":"`+strings.Repeat("x", mcp.MaxClientInfo)+`"}`, 1)
		}, mcp.KindInvalidParams, "-32602"},
		"long name": {"tools/call", `"name":"` + strings.Repeat("n", mcp.MaxName+1) + `"`, nil, mcp.KindInvalidParams, "-32602"},
		"long uri":  {"resources/read", `"uri":"a:` + strings.Repeat("n", mcp.MaxURI) + `"`, nil, mcp.KindInvalidParams, "-32602"},
		"bad log level": {"tools/list", "", func(b *string, _ http.Header) {
			*b = strings.Replace(*b, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"loud",`, 1)
		}, mcp.KindInvalidParams, "-32602"},
		"name header in UTF-8": {"tools/call", `"name":"café"`, func(_ *string, h http.Header) { h.Set("Mcp-Name", "café") }, mcp.KindHeaderMismatch, "-32020"},
		"method header sent twice": {"tools/list", "", func(_ *string, h http.Header) {
			h["Mcp-Method"] = []string{"tools/list", "tools/call"}
		}, mcp.KindHeaderMismatch, "-32020"},
		"version header sent twice": {"tools/list", "", func(_ *string, h http.Header) {
			h["Mcp-Protocol-Version"] = []string{"2026-07-28", "2025-03-26"}
		}, mcp.KindHeaderMismatch, "-32020"},
		"method header missing":   {"tools/list", "", func(_ *string, h http.Header) { h.Del("Mcp-Method") }, mcp.KindHeaderMismatch, "-32020"},
		"method header's case":    {"tools/list", "", func(_ *string, h http.Header) { h.Set("Mcp-Method", "Tools/List") }, mcp.KindHeaderMismatch, "-32020"},
		"unknown method":          {"unknown/method", "", nil, mcp.KindMethodNotFound, "-32601"},
		"method of another era":   {"initialize", "", nil, mcp.KindMethodNotFound, "-32601"},
		"unknown before the name": {"tasks/result", `"taskId":"x"`, nil, mcp.KindMethodNotFound, "-32601"},
		"a response": {"tools/list", "", func(b *string, _ http.Header) {
			*b = `{"jsonrpc":"2.0","id":1,"result":{}}`
		}, mcp.KindInvalidRequest, "-32600"},
		"a batch": {"tools/list", "", func(b *string, _ http.Header) { *b = "[" + *b + "]" }, mcp.KindInvalidRequest, "-32600"},
		"no JSON": {"tools/list", "", func(b *string, _ http.Header) { *b = "{" }, mcp.KindParse, "-32700"},
	} {
		t.Run(name, func(t *testing.T) {
			b, h := request(c.method, c.params)
			if c.spoil != nil {
				c.spoil(&b, h)
			}
			r := post(t, e, b, h, mcp.Principal{})
			text := body(t, r)
			if r.response.Kind != c.kind || !r.response.Modern {
				t.Fatalf("kind %d, modern %v, want %d; %s", r.response.Kind, r.response.Modern, c.kind, text)
			}
			if c.code != "" {
				contains(t, text, `"error":{"code":`+c.code+`,`)
			}
			if name == "a response" { // Its id is that of a request of the edge.
				contains(t, text, `{"jsonrpc":"2.0","error":`)
			}
			if c.kind == mcp.KindMethodNotFound {
				contains(t, text, `"id":7`)
			}
		})
	}
}

func TestUnsupportedVersionListsServedVersions(t *testing.T) {
	e := newEra(t, &fakeDispatch{call: complete}, Options{})
	b, h := request("server/discover", "")
	h.Set("Mcp-Protocol-Version", "2099-01-01")
	r := post(t, e, strings.Replace(b, "2026-07-28", "2099-01-01", 1), h, mcp.Principal{})
	contains(t, body(t, r), `"data":{"supported":["2026-07-28","2025-11-25"`, `"requested":"2099-01-01"}`)
}

// The error for a request without `_meta` says what to send.
func TestMissingMetaNamesWhatToSend(t *testing.T) {
	e := newEra(t, &fakeDispatch{call: complete}, Options{})
	_, h := request("tools/list", "")
	for _, params := range []string{``, `,"params":{}`, `,"params":{"_meta":{}}`, `,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`} {
		text := body(t, post(t, e, `{"jsonrpc":"2.0","id":1,"method":"tools/list"`+params+`}`, h, mcp.Principal{}))
		contains(t, text, `send \"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}`)
	}
}

// Without headers, as on stdio, only the body is checked.
func TestNoHeadersToCheck(t *testing.T) {
	e := newEra(t, &fakeDispatch{call: complete}, Options{})
	b, _ := request("tools/call", `"name":"echo"`)
	if r := post(t, e, b, nil, mcp.Principal{}); r.response.Kind != mcp.KindNone {
		t.Fatal(body(t, r))
	}
}

func TestNotificationIsAccepted(t *testing.T) {
	e := newEra(t, &fakeDispatch{call: complete}, Options{})
	r := post(t, e, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, http.Header{"Mcp-Protocol-Version": {"2026-07-28"}}, mcp.Principal{})
	if !r.accepted {
		t.Fatal("not accepted")
	}
}

func TestDiscover(t *testing.T) {
	e := newEra(t, &fakeDispatch{}, Options{})
	b, h := request("server/discover", "")
	contains(t, body(t, post(t, e, b, h, mcp.Principal{})),
		`"supportedVersions":["2026-07-28"`, `"capabilities":{"tools":{}}`, `"instructions":"be kind"`,
		`"ttlMs":0`, `"cacheScope":"private"`, `"resultType":"complete"`,
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"t","version":"1"}}`)
}

func TestHeaderValueCoding(t *testing.T) {
	for _, v := range []string{"", "plain", "with space", " outer", "tab\t", "ü", "=?base64?x?=", "=?base64?half", "line\nbreak"} {
		if got, ok := mcp.DecodeHeader(mcp.EncodeHeader(v)); !ok || got != v {
			t.Errorf("%q comes back as %q, %v", v, got, ok)
		}
	}
	for _, raw := range []string{"ü", "a\tb", "\x7f", "=?base64?ü"} {
		if got, ok := mcp.DecodeHeader(raw); ok {
			t.Errorf("%q was taken for %q", raw, got)
		}
	}
	if _, ok := mcp.DecodeHeader("=?base64?" + base64.StdEncoding.EncodeToString([]byte{0xff}) + "?="); ok {
		t.Error("base64 of invalid UTF-8 was accepted")
	}
}
