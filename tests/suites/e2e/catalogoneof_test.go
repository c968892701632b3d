package e2e

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
)

// TestPinsBesideOneofs: a tool of a reflected service with a pinned member of a oneof is not served. With another argument pinned, the
// members of the oneof still exclude each other, and no spelling of the pinned one is sent.
func TestPinsBesideOneofs(t *testing.T) {
	t.Parallel() // it waits for most of its time
	var calls atomic.Int64
	s := reflecttest.Serve(t, reflecttest.Kinds(), func(ctx context.Context, method protoreflect.MethodDescriptor, in *dynamicpb.Message, send func(*dynamicpb.Message) error) error {
		calls.Add(1)
		return reflecttest.Answer(ctx, method, in, send)
	}, reflecttest.Options{})
	pins := map[string]config.CatalogArgument{"stringField": {Value: "acme"}}
	e := startEdge(t, []config.Backend{{Name: "kinds", Target: s.Addr, Kind: config.KindReflect}}, func(c *config.Config) {
		c.Catalog = &config.Catalog{Tools: []config.CatalogTool{
			{Backend: "kinds", Tool: "kind_echo", Arguments: pins},
			{Backend: "kinds", Tool: "wipe", Arguments: map[string]config.CatalogArgument{"days": {Value: "7"}}},
		}}
	})
	awaitLearned(t, e)
	for era, a := range map[string]asker{"modern": newStateless(t, e.URL), "legacy": newSession(t, e.URL, vNov)} {
		if got := string(a.ask("tools/call", toolParams("wipe", `{"id":"x"}`, "")).body); !strings.Contains(got, "unknown tool") {
			t.Errorf("%s: a tool with a pinned member of a oneof: %s", era, got)
		}
		before := calls.Load()
		for _, arguments := range []string{
			`{"chosenText":"a","chosenNumber":"1"}`, `{"chosen_text":"a","chosenLeaf":{}}`, `{"chosenText":"a","chosen_number":"1","chosenLeaf":{"name":"x"}}`,
			`{"chosenText":"a","stringField":"other"}`, `{"chosenText":"a","string_field":"other"}`, `{"chosenText":"a","stringField":null}`,
		} {
			r := a.ask("tools/call", toolParams("kind_echo", arguments, ""))
			if m := r.final(); m.Error == nil && m.result(t)["isError"] != true || strings.Contains(string(r.body), "acme") {
				t.Errorf("%s: %s: %s", era, arguments, r.body)
			}
		}
		if after := calls.Load(); after != before {
			t.Errorf("%s: the service got %d calls", era, after-before)
		}
		for _, member := range []string{`"chosenText":"a"`, `"chosenNumber":"1"`} {
			sent := a.ask("tools/call", toolParams("kind_echo", `{`+member+`}`, "")).want(http.StatusOK).result()
			if name := strings.Split(member, `"`)[1]; dig(sent, "structuredContent", "stringField") != "acme" || dig(sent, "structuredContent", name) == nil {
				t.Errorf("%s: %s: the service got %v", era, member, sent)
			}
		}
	}
}
