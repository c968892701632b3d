package config

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/configuration.md")

// table matches a table of the page that is made from the settings, with its name.
var table = regexp.MustCompile(`(?m)^<!-- settings: ([a-z]+) -->\n((?:\|.*\n)*)`)

// The page for operators has a table of each section, with the keys, their defaults and meanings, and a
// table of the flags.
func TestDocumentationIsComplete(t *testing.T) {
	const name = "../../docs/configuration.md"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tables := tables()
	found := map[string]bool{}
	text := table.ReplaceAllStringFunc(string(page), func(all string) string {
		m := table.FindStringSubmatch(all)
		found[m[1]] = true
		if m[2] != tables[m[1]] && !*update {
			t.Errorf("the table %s is not that of the settings: go test ./edge/config -run Documentation -update writes it", m[1])
		}
		return fmt.Sprintf("<!-- settings: %s -->\n%s", m[1], tables[m[1]])
	})
	for section := range tables {
		if !found[section] {
			t.Errorf("docs/configuration.md lacks the table <!-- settings: %s -->", section)
		}
	}
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// tables returns the tables of the page by their names.
func tables() map[string]string {
	out := map[string]string{}
	top := reflect.TypeFor[Config]()
	for _, s := range settings() {
		section, _, _ := strings.Cut(s.key, ".")
		if s.usage == "" || top.Field(s.index[0]).Type.Kind() != reflect.Struct {
			continue
		}
		c := Default()
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		s.register(fs, s.key, &c)
		def := fs.Lookup(s.key).DefValue
		if def == "" {
			def = "–"
		}
		if out[section] == "" {
			out[section] = "| key | default | meaning |\n|---|---|---|\n"
		}
		out[section] += fmt.Sprintf("| `%s` | %s | %s |\n", s.key, def, s.usage)
	}
	out["flags"] = "| flag | key |\n|---|---|\n"
	for _, t := range twins {
		out["flags"] += fmt.Sprintf("| `--%s` | `%s` |\n", t.flag, t.key)
	}
	return out
}

// The page of limits names each constant, and the value that an error about its former key names.
func TestConstantsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	_, constants, _ := strings.Cut(string(page), "<!-- constants -->\n")
	constants, _, _ = strings.Cut(constants, "\n\n")
	for key, value := range map[string]any{
		"limits.batch": Batch, "limits.headers": Headers, "limits.http2-streams": HTTP2Streams, "limits.listen-bytes": ListenBytes,
		"limits.streams-per-session": StreamsPerSession, "limits.log-events": StreamEvents, "limits.attempts": Attempts,
		"limits.session-stale": SessionStale, "limits.task-poll": TaskPoll,
	} {
		if text := fmt.Sprint(value); text != fixedKeys[key] || !strings.Contains(constants, " | "+text+" |") {
			t.Errorf("%s is %s, the error names %s, and docs/limits.md has\n%s", key, text, fixedKeys[key], constants)
		}
	}
	for key, value := range fixedKeys {
		if key != "limits" && !strings.HasPrefix(key, "backends.outlier-detection.") && !strings.Contains(constants, " | "+value) {
			t.Errorf("docs/limits.md does not have %s of %s", value, key)
		}
	}
}
