package translate

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

var server = NewServer(&pb.Implementation{Name: "edge", Version: "1"})

// tail is what server adds to every result of the newest revision.
const tail = `,"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"edge","version":"1"}}`

// These are revisions by short names.
var r2503, r2506, r2511, r2607 = revision.All()[1], revision.All()[2], revision.All()[3], revision.All()[4]

// byRevision is the JSON expected under each revision, oldest first. An empty text repeats the
// previous one.
type byRevision [5]string

// each runs fn for every revision with the JSON expected there.
func (want byRevision) each(t *testing.T, fn func(t *testing.T, r *revision.Rules, want string)) {
	t.Helper()
	last := ""
	for i, r := range revision.All() {
		if want[i] != "" {
			last = want[i]
		}
		expected := last
		t.Run(r.Version, func(t *testing.T) { fn(t, r, expected) })
	}
}

// same compares got with the expected JSON, byte for byte, and validates it against the definition
// in the revision's schema.
func same(t *testing.T, r *revision.Rules, definition string, got []byte, want string) {
	t.Helper()
	if string(got) != want {
		t.Errorf("got\n\t%s\nwant\n\t%s", got, want)
	}
	conforms(t, r, definition, got)
}

// conforms checks that text is one line of JSON, and validates it if MCP_SCHEMA_DIR has the schema.
func conforms(t *testing.T, r *revision.Rules, definition string, text []byte) {
	t.Helper()
	if !jsonrpc.Valid(text) || !json.Valid(text) || jsonrpc.HasRawNewline(text) {
		t.Fatalf("not JSON in one line: %s", text)
	}
	schema := schemaOf(t, r, definition)
	if schema == nil {
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s does not fit %s of %s: %v", text, definition, r.Version, err)
	}
}

var compiled sync.Map // "version/definition" → *jsonschema.Schema

func schemaOf(t *testing.T, r *revision.Rules, definition string) *jsonschema.Schema {
	t.Helper()
	dir := os.Getenv("MCP_SCHEMA_DIR")
	if dir == "" {
		t.Log("MCP_SCHEMA_DIR is not set: the check against the specification's JSON schema was skipped")
		return nil
	}
	key := r.Version + "/" + definition
	if s, ok := compiled.Load(key); ok {
		return s.(*jsonschema.Schema)
	}
	path := filepath.Join(dir, r.Version+".json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	definitions := "definitions"
	if strings.Contains(string(data), `"$defs"`) {
		definitions = "$defs"
	}
	s, err := jsonschema.NewCompiler().Compile(path + "#/" + definitions + "/" + definition)
	if err != nil {
		t.Fatal(err)
	}
	compiled.Store(key, s)
	return s
}

// refused checks the kind of an error and a part of its message.
func refused(t *testing.T, err error, kind mcp.Kind, part string) {
	t.Helper()
	var e *mcp.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v of type %T, want an *mcp.Error", err, err)
	}
	if e.Kind != kind || !strings.Contains(e.Message, part) {
		t.Errorf("got kind %d %q, want kind %d with %q", e.Kind, e.Message, kind, part)
	}
}

func ptr[T any](v T) *T { return &v }
