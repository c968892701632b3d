package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/app"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// transcript notes exchanges for people to read: `>` is what the client sends, `<` what comes back,
// `#` what happens besides. Bodies are indented; what is random has names. The nil transcript notes
// nothing.
type transcript struct {
	text strings.Builder
}

// shownHeaders are the headers that matter to the protocol.
var shownHeaders = []string{
	"Accept", "Content-Type", "Last-Event-Id", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Param-Region",
}

// note adds a remark.
func (r *transcript) note(text string) {
	if r != nil {
		fmt.Fprintf(&r.text, "# %s\n\n", text)
	}
}

func (r *transcript) request(req *http.Request, body string) {
	if r == nil {
		return
	}
	r.lines(">", req.Method+" "+req.URL.Path)
	r.headers(">", req.Header)
	r.body(">", []byte(body))
	r.text.WriteString("\n")
}

func (r *transcript) response(reply *reply) {
	if r == nil {
		return
	}
	r.lines("<", fmt.Sprintf("%d %s", reply.status, http.StatusText(reply.status)))
	h := reply.header.Clone()
	h.Del("Accept")
	r.headers("<", h)
	r.body("<", reply.body)
	r.text.WriteString("\n")
}

func (r *transcript) event(ev event, ok bool) {
	if r == nil {
		return
	}
	if !ok {
		r.lines("<", "(the stream ends)")
		r.text.WriteString("\n")
		return
	}
	if ev.ID != "" {
		r.lines("<", "id: "+ev.ID)
	}
	if ev.Retry != "" {
		r.lines("<", "retry: "+ev.Retry)
	}
	if ev.HasData {
		r.lines("<", strings.TrimSpace("data: "+string(indented([]byte(ev.Data)))))
	}
	r.text.WriteString("\n")
}

func (r *transcript) headers(mark string, h http.Header) {
	for _, name := range shownHeaders {
		for _, v := range h[http.CanonicalHeaderKey(name)] {
			r.lines(mark, name+": "+v)
		}
	}
}

func (r *transcript) body(mark string, body []byte) {
	if len(body) > 0 {
		r.lines(mark, "")
		r.lines(mark, string(indented(body)))
	}
}

func (r *transcript) lines(mark, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		r.text.WriteString(strings.TrimRight(mark+" "+line, " ") + "\n")
	}
}

func indented(body []byte) []byte {
	var out bytes.Buffer
	if json.Indent(&out, body, "", "  ") != nil {
		return body
	}
	return out.Bytes()
}

// secrets finds what is random, with the name it gets.
var secrets = []struct {
	name  string
	found *regexp.Regexp
}{
	{"session", regexp.MustCompile(`(?:Mcp-Session-Id: |sessionId=)([A-Z2-7]{26})`)},
	{"task", regexp.MustCompile(`"taskId": "([^"]+)"`)},
	{"time", regexp.MustCompile(`"(?:createdAt|lastUpdatedAt)": "([^"]+)"`)},
	{"stream", regexp.MustCompile(`id: ([A-Z2-7]{16})\.`)},
	{"epoch", regexp.MustCompile(`id: <stream-\d+>\.([0-9a-z]{7,11})\.`)}, // but for the first, 1
	{"request", regexp.MustCompile(`"id": (\d+),\n< +"method"`)},
	{"elicitation", regexp.MustCompile(`"elicitationId": "([A-Z2-7]{26}-[0-9a-f]{32})"`)},
	{"state", regexp.MustCompile(`"requestState": "([^"]+)"`)},
}

// String is the transcript with the random parts named in the order of their appearance.
func (r *transcript) String() string {
	text := r.text.String()
	for _, s := range secrets {
		var seen []string
		for _, m := range s.found.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(seen, m[1]) {
				seen = append(seen, m[1])
			}
		}
		for i, value := range seen {
			text = strings.ReplaceAll(text, value, fmt.Sprintf("<%s-%d>", s.name, i+1))
		}
	}
	text = strings.ReplaceAll(text, `"version": "`+app.Version()+`"`, `"version": "<version>"`)
	return strings.TrimRight(text, "\n") + "\n"
}

// compare holds the transcript against the file of an era and behaviour.
func (r *transcript) compare(t *testing.T, era, behaviour string) {
	t.Helper()
	file := filepath.Join("testdata", "transcripts", era, behaviour+".txt")
	got := r.String()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run with -update to write it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs from what happens now (-want +got); run with -update if that is right:\n%s", file, diff)
	}
}
