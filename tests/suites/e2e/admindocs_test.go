package e2e

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/services/demo"
)

// TestAdminPage runs the page's examples, in their order, against an edge before the bundled services:
// each answers 200 with at least what the page shows.
func TestAdminPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/admin.md")
	if err != nil {
		t.Fatal(err)
	}
	d, err := demo.Start(t.Context(), demo.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Stop)
	var backends []config.Backend
	for _, b := range d.Targets() {
		backends = append(backends, config.Backend{Name: b.Name, Target: b.Addr})
	}
	e := startEdge(t, backends)
	o := newOperator(t, e)
	session := newSession(t, e.URL, vNov).id
	names := strings.NewReplacer("SESSION", session)
	examples := strings.Split(string(page), "```sh\n")[1:]
	if len(examples) < 12 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, x := range examples {
		command, rest, _ := strings.Cut(x, "```")
		_, rest, ok := strings.Cut(rest, "```json\n")
		answer, _, _ := strings.Cut(rest, "```")
		if !ok {
			t.Fatalf("nothing shows what is answered to\n%s", command)
		}
		method, path, body, headers := curl(t, names.Replace(command))
		got := o.do(method, path, body, headers...)
		if got.status != http.StatusOK {
			t.Fatalf("status %d: %s\nto %s", got.status, got.text, command)
		}
		var want any
		if err := json.Unmarshal([]byte(names.Replace(answer)), &want); err != nil {
			t.Fatalf("%v in\n%s", err, answer)
		}
		if err := subset("answer", want, got.body); err != nil {
			t.Errorf("%v: %s\nto %s", err, got.text, command)
		}
		if state, ok := got.at("inputRequired", "state").(string); ok {
			names = strings.NewReplacer("SESSION", session, "STATE", state)
		}
	}
	e.AwaitEnd(t)
}

// curl reads a command line as far as the page needs it: words, quotes, continued lines, and the options
// -s, -X, -H and -d.
func curl(t *testing.T, line string) (method, path, body string, headers []string) {
	t.Helper()
	words := shellWords(strings.ReplaceAll(line, "\\\n", " "))
	if len(words) == 0 || words[0] != "curl" {
		t.Fatalf("%q is no curl", line)
	}
	method = http.MethodGet
	headers = []string{"Content-Type", ""}
	explicit := ""
	for i := 1; i < len(words); i++ {
		switch w := words[i]; w {
		case "-s":
		case "-X", "-H", "-d":
			i++
			if i == len(words) {
				t.Fatalf("%s without a value in %q", w, line)
			}
			switch w {
			case "-X":
				explicit = words[i]
			case "-H":
				name, value, _ := strings.Cut(words[i], ": ")
				headers = append(headers, name, value)
			case "-d":
				method, body = http.MethodPost, words[i]
			}
		default:
			var ok bool
			if path, ok = strings.CutPrefix(w, "http://127.0.0.1:9090"); !ok {
				t.Fatalf("%q is no option this test knows and no address", w)
			}
		}
	}
	if explicit != "" {
		method = explicit
	}
	return method, path, body, headers
}

// shellWords splits at spaces that are in no single quotes.
func shellWords(line string) (words []string) {
	quoted := strings.Split(strings.TrimSpace(line), "'")
	for i, part := range quoted {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}
