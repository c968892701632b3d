package mcp

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

// Each row has one string of the maximum length. With one byte more the message is refused, and the
// error names the member, the size and the bound. An escape counts as the character that it
// encodes.
func TestLengths(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/`
	for _, c := range []struct {
		method Method
		params string
		max    int
		where  string
	}{
		{MethodToolsCall, `{"name":"$"}`, MaxName, "name"},
		{MethodPromptsGet, `{"name":"$"}`, MaxName, "name"},
		{MethodPromptsGet, `{"name":"p","arguments":{"a":"1","$":"2"}}`, MaxName, "arguments"},
		{MethodResourcesRead, `{"uri":"$"}`, MaxURI, "uri"},
		{MethodSubscribe, `{"uri":"$"}`, MaxURI, "uri"},
		{MethodUnsubscribe, `{"uri":"$"}`, MaxURI, "uri"},
		{MethodComplete, `{"ref":{"type":"ref/prompt","name":"$"}}`, MaxName, "ref.name"},
		{MethodComplete, `{"ref":{"type":"ref/resource","uri":"$"}}`, MaxURI, "ref.uri"},
		{MethodComplete, `{"argument":{"name":"$","value":"v"}}`, MaxName, "argument.name"},
		{MethodComplete, `{"context":{"arguments":{"$":"v"}}}`, MaxName, "context.arguments"},
		{MethodInitialize, `{"protocolVersion":"$"}`, MaxName, "protocolVersion"},
		{MethodInitialize, `{"clientInfo":{"name":"$"}}`, MaxClientInfo - len(`{"name":""}`), "initialize"},
		{MethodInitialize, `{"capabilities":{"x":"$"},"clientInfo":{}}`, MaxClientInfo - len(`{"x":""}{}`), "initialize"},
		{MethodToolsList, `{` + meta + `protocolVersion":"$"}}`, MaxName, "protocolVersion"},
		{MethodToolsList, `{` + meta + `clientInfo":{"name":"$"}}}`, MaxClientInfo - len(`{"name":""}`), "_meta"},
		{MethodDiscover, `{` + meta + `clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{"x":"$"}}}`,
			MaxClientInfo - len(`{}{"x":""}`), "_meta"},
	} {
		with := func(text string) error {
			_, err := parse(t, c.method, strings.Replace(c.params, "$", text, 1))
			return err
		}
		if err := with(strings.Repeat("x", c.max)); err != nil {
			t.Errorf("%s with %d bytes in %s: %v", c.method, c.max, c.where, err)
		}
		if c.max == MaxName || c.max == MaxURI {
			if err := with(strings.Repeat(`\u0041`, c.max)); err != nil {
				t.Errorf("%s with %d escapes in %s: %v", c.method, c.max, c.where, err)
			}
		}
		err := with(strings.Repeat("x", c.max+1))
		var e *Error
		if !errors.As(err, &e) || e.Kind != KindInvalidParams {
			t.Errorf("%s with %d bytes in %s: error %v", c.method, c.max+1, c.where, err)
			continue
		}
		for _, want := range []string{c.where, strconv.Itoa(c.max + 1), "at most"} {
			if c.max != MaxName && c.max != MaxURI && want == strconv.Itoa(c.max+1) {
				want = strconv.Itoa(MaxClientInfo + 1)
			}
			if !strings.Contains(e.Message, want) {
				t.Errorf("%q does not say %q", e.Message, want)
			}
		}
	}
}

// A tool's arguments and a completion's value are not names: only the bound of the body applies.
func TestValuesHaveNoLength(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for method, params := range map[Method]string{
		MethodToolsCall:  `{"name":"t","arguments":{"` + long + `":1}}`,
		MethodPromptsGet: `{"name":"p","arguments":{"a":"` + long + `"}}`,
		MethodComplete:   `{"argument":{"name":"a","value":"` + long + `"},"context":{"arguments":{"b":"` + long + `"}}}`,
	} {
		if _, err := parse(t, method, params); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}
