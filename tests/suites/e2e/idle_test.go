package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestEntriesThatRestrictNothing: an entry that hides a tool by the name that clients see matches nothing, so that the tool is served. It is
// a problem of the backend and in the log, until it is written with the backend's own name; so is what a set excludes. A pattern is a
// precaution against tools that do not exist yet: it is no problem, and in the log only if it matches the names that clients see.
func TestEntriesThatRestrictNothing(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	crm := adder("add")
	describe(crm, honest)
	l := &locking{service: harness.Serve(t, "crm", crm)}
	l.settings = "backends:\n" + backend("crm", l.service, ", prefix: crm_")
	l.governed = &governed{t: t, file: filepath.Join(t.TempDir(), "edge.yaml"), generation: 1}
	wrong := "catalog: {tools: [{backend: crm, tool: crm_find, hide: true}, {backend: crm, tool: crm_find, title: T}, " +
		"{backend: crm, tool: 'delete_*', hide: true}, {backend: crm, tool: 'crm_fi*', hide: true}]}\n" +
		"sets: {s: {include: {backends: [crm]}, exclude: {tools: [crm_find, 'drop_*', other]}}}\n"
	l.write(l.settings + wrong)
	cfg, err := config.Load("serve", []string{"--config", l.file}, func(string) (string, bool) { return "", false }, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	l.Edge = harness.Start(t, cfg)
	l.await("catalog.tools[0]: tool: the backend crm lists no tool with the name crm_find; write it without the prefix: find",
		`sets.s.exclude.tools: no backend lists the tool "crm_find"; write it without the prefix: find`)
	const message = "an entry that restricts something matches nothing, so that it has no effect"
	await.Until(t, "the log to name the entries", func() bool { return strings.Count(l.Log.String(), message) >= 4 })
	if log := l.Log.String(); strings.Count(log, message) != 4 || !strings.Contains(log, "other") || !strings.Contains(log, "crm_fi*") {
		t.Errorf("the log is\n%s", log)
	}
	l.change(l.settings + strings.ReplaceAll(strings.ReplaceAll(wrong, "crm_fi", "fi"), ", other", ""))
	l.await()
}
