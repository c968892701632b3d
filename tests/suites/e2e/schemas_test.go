package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
)

// TestSchemasSetting: a request message with a oneof gives its tool a root without combinators, or with `schemas:
// full` the schema that holds it, in both eras; two members of the oneof are refused in either form.
func TestSchemasSetting(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s := reflecttest.Serve(t, reflecttest.Kinds(), reflecttest.Answer, reflecttest.Options{})
	for form, full := range map[string]bool{"": false, config.SchemasAuto: false, config.SchemasPortable: false, config.SchemasFull: true} {
		t.Run("schemas="+form, func(t *testing.T) {
			e := startEdge(t, []config.Backend{{Name: "kinds", Target: s.Addr, Kind: config.KindReflect}}, func(c *config.Config) {
				if form != "" {
					c.Lists.Schemas = form
				}
			})
			awaitLearned(t, e)
			modern, legacy := newStateless(t, e.URL), newSession(t, e.URL, vNov)
			for era, list := range map[string]map[string]any{
				"modern": modern.request("tools/list", nil).result(),
				"legacy": legacy.request("tools/list", "").result(),
			} {
				echo := named(t, list["tools"], "kind_echo")
				root := dig(echo, "inputSchema").(map[string]any)
				for _, key := range []string{"oneOf", "$defs", "additionalProperties"} {
					if _, there := root[key]; there != full {
						t.Errorf("%s: the root of the schema has %s: %v, want %v", era, key, there, full)
					}
				}
				about, _ := echo["description"].(string)
				if said := strings.Contains(about, "Give at most one of chosenText, chosenNumber, chosenLeaf."); said == full {
					t.Errorf("%s: the description is %q", era, about)
				}
			}
			both := `{"chosenText":"a","chosenNumber":1}`
			for era, got := range map[string]map[string]any{
				"modern": modern.call("kind_echo", both).want(http.StatusOK).result(),
				"legacy": legacy.call("kind_echo", both).want(http.StatusOK).result(),
			} {
				if got["isError"] != true || !strings.Contains(text(t, got), "chosenNumber") {
					t.Errorf("%s: both members were taken: %v", era, got)
				}
			}
		})
	}
}

// TestSchemasOfASet: a set shows the schemas that the edge makes in its own form, whatever that of the root is.
func TestSchemasOfASet(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s := reflecttest.Serve(t, reflecttest.Kinds(), reflecttest.Answer, reflecttest.Options{})
	for _, root := range []string{config.SchemasFull, config.SchemasPortable} {
		e := startEdge(t, []config.Backend{{Name: "kinds", Target: s.Addr, Kind: config.KindReflect}}, func(c *config.Config) {
			c.Lists.Schemas, c.Sets = root, map[string]config.Set{}
			for _, form := range []string{config.SchemasAuto, config.SchemasPortable, config.SchemasFull} {
				c.Sets[form] = config.Set{Schemas: form, Include: config.SetMembers{Tools: config.Names{"**"}}}
			}
		})
		awaitLearned(t, e)
		for form, full := range map[string]bool{"": root == config.SchemasFull, "/auto": false, "/portable": false, "/full": true} {
			for _, version := range []string{vNov, v2026} {
				list := askerAt(t, e.URL+form, version).ask("tools/list", `{}`).result()
				schema := dig(named(t, list["tools"], "kind_echo"), "inputSchema").(map[string]any)
				if _, there := schema["oneOf"]; there != full {
					t.Errorf("%s at the root: %s%s: the root of the schema has oneOf: %t", root, version, form, there)
				}
			}
		}
	}
}

// named is the entry of a list that has a name.
func named(t *testing.T, list any, name string) map[string]any {
	t.Helper()
	entries, _ := list.([]any)
	for _, x := range entries {
		if entry, ok := x.(map[string]any); ok && entry["name"] == name {
			return entry
		}
	}
	t.Fatalf("%s is not in %v", name, names(list, "name"))
	return nil
}
