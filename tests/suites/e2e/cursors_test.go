package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// catalog is a backend with many entries in each list, every third of them named secret.
type catalog struct{ *capability.Server }

const entries = 12

// entryName is the name of an entry that is there from the start.
func entryName(i int) string {
	if i%3 == 1 {
		return fmt.Sprintf("secret%02d", i)
	}
	return fmt.Sprintf("plain%02d", i)
}

func newCatalog() catalog {
	c := catalog{capability.New("catalog", "1", capability.WithLogger(slog.New(slog.DiscardHandler)))}
	for i := range entries {
		c.add(entryName(i))
	}
	return c
}

// add puts an entry of the name into each list.
func (c catalog) add(name string) {
	capability.AddTool(c.Server, name, "", func(context.Context, *capability.Call, struct{}) (string, error) { return "", nil })
	capability.AddPrompt(c.Server, &capability.Prompt{Name: name},
		func(context.Context, *capability.Call, map[string]string) (string, error) { return "", nil })
	capability.AddResource(c.Server, &capability.Resource{Uri: "test://" + name, Name: name},
		func(context.Context, *capability.Call, string) (string, error) { return "", nil })
	capability.AddTemplate(c.Server, &capability.ResourceTemplate{UriTemplate: "test://" + name + "/{id}", Name: name},
		func(context.Context, *capability.Call, string, map[string]string) (string, error) { return "", nil })
}

// remove takes it out of each.
func (c catalog) remove(name string) {
	c.RemoveTool(name)
	c.RemovePrompt(name)
	c.RemoveResource("test://" + name)
	c.RemoveTemplate("test://" + name + "/{id}")
}

// listed are the list methods, with the member of the result.
var listed = map[string]string{
	"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
}

// onlyAdmins hides the entries named secret from who is no admin, or, inverted, the others from who is.
func onlyAdmins(inverted bool) string {
	when := func(name string) string {
		return name + `.contains("secret") && !("admin" in principal.roles)`
	}
	if inverted {
		when = func(name string) string { return name + `.contains("plain") && "admin" in principal.roles` }
	}
	text := "policy:\n  default: allow\n  rules:\n"
	for _, name := range []string{"tool.name", "prompt.name", "resource.uri"} {
		text += "    - {name: " + name + ", when: '" + when(name) + "', then: hide}\n"
	}
	return text
}

// reader is a client that reads lists at each of the replicas.
type reader struct {
	t   *testing.T
	at  []asker
	who string
}

// page asks a replica for a page of a list; cursor "": the first.
func (r reader) page(replica int, method, cursor string) *reply {
	r.t.Helper()
	params := "{}"
	if cursor != "" {
		params = fmt.Sprintf(`{"cursor":%q}`, cursor)
	}
	return r.at[replica%len(r.at)].ask(method, params).want(http.StatusOK)
}

// read follows the cursors of a list from one on, each page at another replica, and returns the entries and the cursors.
func (r reader) read(method, from string) (all, cursors []string) {
	r.t.Helper()
	for replica, cursor := 0, from; ; replica++ {
		page := r.page(replica, method, cursor).result()
		all = append(all, names(page[listed[method]], "name")...)
		next, more := page["nextCursor"].(string)
		if !more {
			return all, cursors
		}
		cursors, cursor = append(cursors, next), next
		if len(cursors) > 2*entries {
			r.t.Fatalf("%s: the list has no end: %v", method, all)
		}
	}
}

// refused checks that a cursor leads nowhere at each replica, and that the answer names nothing.
func (r reader) refused(method, cursor string) {
	r.t.Helper()
	for i := range r.at {
		got := r.page(i, method, cursor)
		if m := got.json().wantError(r.t, -32602); strings.Contains(strings.ReplaceAll(string(got.body), cursor, ""), "secret") || m.Result != nil {
			r.t.Errorf("%s at replica %d: %s is answered %s", method, i, r.who, got.body)
		}
	}
}

// visible are the names of entries that a condition holds for.
func visible(of func(name string) bool) (all []string) {
	for i := range entries {
		if name := entryName(i); of(name) {
			all = append(all, name)
		}
	}
	return all
}

func isSecret(name string) bool { return strings.HasPrefix(name, "secret") }

// startCatalog runs three replicas before a catalog, with pages of two entries and the policy of a file.
func startCatalog(t *testing.T, id *issuer.Issuer, set func(*config.Config)) (catalog, []*harness.Edge) {
	t.Helper()
	server, c := redisserver.ForTest(t), newCatalog()
	backends := only(startService(t, c.Server))
	edges := make([]*harness.Edge, 3)
	for i := range edges {
		edges[i] = startEdge(t, backends, withAuth(id), set, func(cfg *config.Config) { cfg.Redis.URL, cfg.Lists.PageSize = server.URL(), 2 })
	}
	return c, edges
}

// readers makes a reader of each revision, for each of the callers.
func readers(t *testing.T, id *issuer.Issuer, edges []*harness.Edge, version, who string, roles ...string) reader {
	t.Helper()
	r := reader{t: t, who: who}
	token := id.Token(who, public, map[string]any{"roles": roles})
	var s *session
	if version != v2026 {
		s = sessionAs(t, edges[0], version, token)
	}
	for _, e := range edges {
		if s != nil {
			r.at = append(r.at, s.seenBy(e, token))
			continue
		}
		r.at = append(r.at, statelessAs(t, e, token))
	}
	return r
}

// TestCursorsByRights: the cursor of a caller is good, at each replica and in each revision, for callers with the same rights,
// and gives others nothing; one from before another policy is refused, and whoever begins anew gets each entry once.
func TestCursorsByRights(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	write, set := settingsFile(t)
	write(onlyAdmins(false))
	_, edges := startCatalog(t, id, set)
	every := append(slices.Clone(stateful), v2026)
	type callers struct{ ann, amy, bob reader }
	by, cursors := map[string]callers{}, map[string]map[string][]string{}
	for _, version := range every {
		by[version] = callers{
			ann: readers(t, id, edges, version, "ann", "admin"), amy: readers(t, id, edges, version, "amy", "admin"),
			bob: readers(t, id, edges, version, "bob"),
		}
	}
	anything := visible(func(string) bool { return true })
	plain, secret := visible(func(name string) bool { return !isSecret(name) }), visible(isSecret)
	sees := func(r reader, method string, want []string) (cursors []string) {
		t.Helper()
		got, cursors := r.read(method, "")
		if !slices.Equal(got, want) {
			t.Errorf("%s: %s sees %v, want %v", method, r.who, got, want)
		}
		return cursors
	}
	for _, version := range every {
		c := by[version]
		cursors[version] = map[string][]string{}
		for method := range listed {
			given := sees(c.ann, method, anything)
			cursors[version][method] = append(slices.Clone(given), sees(c.bob, method, plain)...)
			for i, cursor := range given {
				c.bob.refused(method, cursor)
				for _, other := range every { // cursors know no revision
					rest, _ := by[other].amy.read(method, cursor)
					if want := anything[2*(i+1):]; !slices.Equal(rest, want) {
						t.Errorf("%s: behind a cursor of ann's in %s amy sees %v in %s, want %v", method, version, rest, other, want)
					}
				}
			}
			for _, cursor := range cursors[version][method][len(given):] {
				c.ann.refused(method, cursor)
			}
		}
	}

	write(onlyAdmins(true))
	for _, e := range edges {
		awaitMetric(t, e, "mcpedge_policy_exchanges_total", 1)
	}
	for _, version := range every {
		c := by[version]
		for method := range listed {
			for _, cursor := range cursors[version][method] {
				c.ann.refused(method, cursor)
				c.bob.refused(method, cursor)
			}
			sees(c.ann, method, secret)
			sees(c.bob, method, anything)
		}
	}
}

// TestCursorsOfChangedLists: a caller who sees a part of a list reads on, at other replicas, while the list changes: what it may see
// and is there all the time comes once, and what it may not see does not come.
func TestCursorsOfChangedLists(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	write, set := settingsFile(t)
	write(onlyAdmins(false))
	plain := visible(func(name string) bool { return !isSecret(name) })
	for _, version := range []string{vNov, v2026} {
		t.Run(version, func(t *testing.T) {
			c, edges := startCatalog(t, id, set)
			bob, ann := readers(t, id, edges, version, "bob"), readers(t, id, edges, version, "ann", "admin")
			begun := map[string]string{}
			for method := range listed {
				page := bob.page(0, method, "").result()
				if got := names(page[listed[method]], "name"); !slices.Equal(got, plain[:2]) {
					t.Fatalf("%s begins with %v", method, got)
				}
				begun[method] = page["nextCursor"].(string)
			}
			// The entry behind which the cursor is goes, others that bob does not see go and come, and one comes that he does.
			gone, fresh := []string{plain[1], "secret01", "secret04"}, []string{"secret-new", "plain-new"}
			for _, name := range gone {
				c.remove(name)
			}
			for _, name := range fresh {
				c.add(name)
			}
			now := append(visible(func(name string) bool { return !slices.Contains(gone, name) }), fresh...)
			for method := range listed {
				for i := range edges {
					await.Until(t, fmt.Sprintf("replica %d to know of it", i), func() bool {
						all, _ := reader{t: t, at: ann.at[i : i+1], who: "ann"}.read(method, "")
						return slices.Equal(all, now)
					})
				}
				if rest, _ := bob.read(method, begun[method]); !slices.Equal(rest, append(slices.Clone(plain[2:]), "plain-new")) {
					t.Errorf("%s: bob reads on with %v", method, rest)
				}
			}
		})
	}
}
