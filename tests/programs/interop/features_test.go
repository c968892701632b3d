package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	clients := []*client{{name: "b", manifest: manifest{Title: "Bee"}}, {name: "a", manifest: manifest{Title: "Ant"}}}
	got := table(clients, []outcome{
		{client: "b", transport: "http", said: said{uses: "bee 1", speaks: []string{"2"}, steps: []string{"legacy tools/call", "a replica drained in a call", "a replica killed in a call", "a call after its replica was killed"}}},
		{client: "b", transport: "sse", said: said{uses: "bee 1", speaks: []string{"1", "2"}, lacks: []string{"roots: it has none"}, steps: []string{"tools/call"}}},
		{client: "a", transport: "stdio", said: said{
			uses: "ant 2", speaks: []string{"2"}, steps: []string{"prompts", "legacy a call after its replica was killed"},
			notes: []string{"kill: it waits", "kill: it waits"},
		}},
	})
	lines := strings.Split(got, "\n")
	if !strings.HasPrefix(lines[2], "| Ant (ant 2) | 2 | stdio | – |") || !strings.HasPrefix(lines[3], "| Bee (bee 1) | 1, 2 | http, sse | yes |") ||
		!strings.HasSuffix(lines[2], "| – | next call | – |") || !strings.HasSuffix(lines[3], "| yes | yes | – |") ||
		!strings.Contains(got, "- Bee: no roots: it has none.\n") || strings.Count(got, "- Ant: kill: it waits.\n") != 1 {
		t.Errorf("%s", got)
	}
}

func TestDocument(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+tableBegin+"old\n"+tableEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := document(page, "new\n", false); err == nil || !strings.Contains(err.Error(), "-docs") {
		t.Errorf("an old table: %v", err)
	}
	if err := document(page, "new\n", true); err != nil {
		t.Fatal(err)
	}
	if err := document(page, "new\n", false); err != nil {
		t.Errorf("after writing: %v", err)
	}
	if got, _ := os.ReadFile(page); string(got) != "before\n"+tableBegin+"new\n"+tableEnd+"after\n" {
		t.Errorf("%s", got)
	}
	if err := os.WriteFile(page, []byte("nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := document(page, "new\n", true); err == nil {
		t.Error("a page without a place for the table")
	}
}

func TestDocumentSome(t *testing.T) {
	bee := &client{name: "b", manifest: manifest{Title: "Bee (the SDK)"}}
	ant := &client{name: "a", manifest: manifest{Title: "ant"}}
	did := func(name, version, lack string) outcome {
		return outcome{client: name, transport: "http", said: said{uses: name + " " + version, lacks: []string{lack}, steps: []string{"prompts"}}}
	}
	page := filepath.Join(t.TempDir(), "page.md")
	old := table([]*client{ant, bee}, []outcome{did("a", "1", "roots: old"), did("b", "1", "roots: kept")})
	if err := os.WriteFile(page, []byte("before\n"+tableBegin+old+tableEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := documentSome(page, table([]*client{ant}, []outcome{did("a", "2", "roots: new")})); err != nil {
		t.Fatal(err)
	}
	if err := document(page, table([]*client{ant, bee}, []outcome{did("a", "2", "roots: new"), did("b", "1", "roots: kept")}), false); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(page, []byte(tableBegin+"| client | other |\n"+tableEnd), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := documentSome(page, old); err == nil || !strings.Contains(err.Error(), "other columns") {
		t.Errorf("a table of other columns: %v", err)
	}
}
