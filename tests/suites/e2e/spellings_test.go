package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
)

// TestSpellings: in whatever way of protobuf's JSON mapping a client writes the arguments of a reflected tool, the policy, the
// schema and the service see the same.
func TestSpellings(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s := reflecttest.Serve(t, reflecttest.Kinds(), reflecttest.Answer, reflecttest.Options{})
	e := startEdge(t, []config.Backend{{Name: "kinds", Target: s.Addr, Kind: config.KindReflect}}, func(c *config.Config) {
		c.Policy = &config.Policy{Default: "allow", Rules: []config.PolicyRule{
			{Name: "small", When: `has(arguments.int32Field) && arguments.int32Field > 4`, Then: "deny"},
			{Name: "wide", When: `has(arguments.int64Field) && arguments.int64Field == 7`, Then: "deny"},
			{Name: "named", When: `has(arguments.stringField)`, Then: "deny"},
			{Name: "red", When: `has(arguments.enumField) && arguments.enumField == "COLOR_RED"`, Then: "deny"},
			{Name: "leaf", When: `has(arguments.messageField) && has(arguments.messageField.name)`, Then: "deny"},
		}}
	})
	awaitLearned(t, e)
	const denied, taken, refused = "denied", "taken", "refused"
	for _, c := range []struct {
		arguments, want string
		// seen are members of what the service has got, which it gives back.
		seen map[string]any
	}{
		{`{}`, taken, map[string]any{"int32Field": 0.0, "stringField": ""}},
		{`{"int32Field":null,"stringField":null,"enumField":null,"messageField":null}`, taken, map[string]any{"int32Field": 0.0, "stringField": ""}},
		{`{"int32Field":5}`, denied, nil},
		{`{"int32Field":5.0}`, denied, nil},
		{`{"int32_field":5}`, denied, nil},
		{`{"int32Field":"5"}`, denied, nil},
		{`{"int32Field":4.0}`, taken, map[string]any{"int32Field": 4.0}},
		{`{"int32_field":4}`, taken, map[string]any{"int32Field": 4.0}},
		{`{"int32Field":3.5}`, refused, nil},
		{`{"int64Field":7}`, denied, nil},
		{`{"int64Field":"7"}`, denied, nil},
		{`{"int64_field":"8"}`, taken, map[string]any{"int64Field": "8"}},
		{`{"string_field":""}`, denied, nil},
		{`{"enumField":1}`, denied, nil},
		{`{"enum_field":5}`, taken, map[string]any{"enumField": "COLOR_BLUE"}},
		{`{"message_field":{"name":null}}`, taken, nil},
		{`{"message_field":{"name":"x"}}`, denied, nil},
		{`{"chosenText":null,"chosen_number":"1"}`, taken, map[string]any{"chosenNumber": "1"}},
		{`{"int32Field":1,"int32_field":5}`, refused, nil},
		{`{"calledOtherwise":"x","renamed":"y"}`, refused, nil},
	} {
		for era, call := range map[string]func(tool, args string) *reply{
			"modern": func(tool, args string) *reply { return newStateless(t, e.URL).call(tool, args) },
			"legacy": newSession(t, e.URL, vNov).call,
		} {
			r := call("kind_echo", c.arguments)
			var m struct {
				Result *struct {
					IsError           bool
					StructuredContent map[string]any
				}
				Error *struct {
					Code    int
					Message string
				}
			}
			if err := json.Unmarshal(r.body, &m); err != nil {
				t.Fatalf("%s: %s: %s", era, c.arguments, r.body)
			}
			got := taken
			switch {
			case r.status == http.StatusForbidden || m.Error != nil && m.Error.Code == -31403:
				got = denied
			case m.Error != nil || m.Result == nil || m.Result.IsError:
				got = refused
			}
			if got != c.want {
				t.Errorf("%s: %s was %s, want %s: %s", era, c.arguments, got, c.want, r.body)
				continue
			}
			for name, want := range c.seen {
				if m.Result.StructuredContent[name] != want {
					t.Errorf("%s: %s: the service saw %s as %v, want %v", era, c.arguments, name, m.Result.StructuredContent[name], want)
				}
			}
			if got == refused && strings.Contains(string(r.body), "internal") {
				t.Errorf("%s: %s: %s", era, c.arguments, r.body)
			}
		}
	}
}
