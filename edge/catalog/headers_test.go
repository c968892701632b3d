package catalog

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

func TestParamHeaderAnnotations(t *testing.T) {
	property := func(body string) string {
		return `{"type":"object","properties":{"a":{` + body + `}}}`
	}
	for name, tc := range map[string]struct {
		schema string
		valid  []string // header=path
		faults int
	}{
		"none":            {property(`"type":"string"`), nil, 0},
		"string":          {property(`"type":"string","x-mcp-header":"Region"`), []string{"Mcp-Param-Region=a"}, 0},
		"integer":         {property(`"type":"integer","x-mcp-header":"N"`), []string{"Mcp-Param-N=a"}, 0},
		"boolean":         {property(`"type":"boolean","x-mcp-header":"B"`), []string{"Mcp-Param-B=a"}, 0},
		"nested":          {property(`"type":"object","properties":{"b":{"type":"string","x-mcp-header":"B"}}`), []string{"Mcp-Param-B=a.b"}, 0},
		"number":          {property(`"type":"number","x-mcp-header":"N"`), nil, 1},
		"object":          {property(`"type":"object","x-mcp-header":"N"`), nil, 1},
		"several types":   {property(`"type":["string","null"],"x-mcp-header":"N"`), nil, 1},
		"root":            {`{"type":"object","x-mcp-header":"N"}`, nil, 1},
		"empty":           {property(`"type":"string","x-mcp-header":""`), nil, 1},
		"space":           {property(`"type":"string","x-mcp-header":"a b"`), nil, 1},
		"line break":      {property(`"type":"string","x-mcp-header":"a\nb"`), nil, 1},
		"letter":          {property(`"type":"string","x-mcp-header":"é"`), nil, 1},
		"no string":       {property(`"type":"string","x-mcp-header":7`), nil, 1},
		"in items":        {property(`"type":"array","items":{"type":"string","x-mcp-header":"N"}`), nil, 1},
		"in anyOf":        {property(`"anyOf":[{"type":"string","x-mcp-header":"N"}]`), nil, 1},
		"in $defs":        {`{"type":"object","$defs":{"d":{"type":"string","x-mcp-header":"N"}}}`, nil, 1},
		"a property name": {`{"type":"object","properties":{"x-mcp-header":{"type":"string"}}}`, nil, 0},
		"in a default":    {property(`"type":"object","default":{"x-mcp-header":"N"}`), nil, 0},
		"twice": {`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"N"},"b":{"type":"string","x-mcp-header":"n"}}}`,
			[]string{"Mcp-Param-N=a"}, 1},
	} {
		valid, faults := paramHeaders(tc.schema)
		var got []string
		for _, h := range valid {
			got = append(got, h.name+"="+strings.Join(h.path, "."))
		}
		if !slices.Equal(got, tc.valid) || len(faults) != tc.faults {
			t.Errorf("%s: got %q, faults %q", name, got, faults)
		}
	}
}

// A schema may have thousands of annotations, or one below thousands of properties. Few are used,
// in time that is linear in the schema.
func TestParamHeadersAreBounded(t *testing.T) {
	var many strings.Builder
	many.WriteString(`{"type":"object","properties":{`)
	for i := range 5200 {
		if i > 0 {
			many.WriteByte(',')
		}
		fmt.Fprintf(&many, `"p%d":{"type":"string","x-mcp-header":"N%d"}`, i, i)
	}
	many.WriteString(`}}`)
	valid, faults := paramHeaders(many.String())
	if len(valid) != maxParamHeaders || len(faults) != 1 {
		t.Errorf("%d are used, faults %q", len(valid), faults)
	}
	wrong := strings.ReplaceAll(many.String(), `"string"`, `"array"`)
	if valid, faults := paramHeaders(wrong); len(valid) != 0 || len(faults) != maxParamFaults+1 {
		t.Errorf("%d are used, %d faults", len(valid), len(faults))
	}
	const depth = 20
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, depth) + `{"type":"string","x-mcp-header":"N"}` + strings.Repeat(`}}`, depth)
	if valid, faults := paramHeaders(deep); len(valid) != 0 || len(faults) != 1 {
		t.Errorf("%d are used, faults %q", len(valid), faults)
	}
}

func TestParamHeaderValues(t *testing.T) {
	headers := []paramHeader{{name: "Mcp-Param-V", path: []string{"o", "v"}}}
	for i, tc := range []struct {
		value  string // JSON; empty: absent
		header []string
		ok     bool
	}{
		{`"us-west1"`, []string{"us-west1"}, true},
		{`"us-west1"`, []string{" us-west1\t"}, true},
		{`"us-west1"`, []string{"US-WEST1"}, false},
		{`"us-west1"`, nil, false},
		{`"us-west1"`, []string{"us-west1", "us-west1"}, false},
		{`""`, []string{""}, true},
		{`""`, nil, false},
		{`null`, nil, true},
		{`null`, []string{"x"}, true},
		{``, nil, true},
		{``, []string{"x"}, true},
		{`"Hello, 世界"`, []string{"=?base64?SGVsbG8sIOS4lueVjA==?="}, true},
		{`"Hello, 世界"`, []string{"=?base64?SGVsbG8sIOS4lueVjA?="}, false},
		{`"Hello, 世界"`, []string{"Hello, 世界"}, false},
		{`"=?base64?literal?="`, []string{"=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="}, true},
		{`"=?base64?x"`, []string{"=?base64?x"}, true},
		{`"x?="`, []string{"x?="}, true},
		{`42`, []string{"42"}, true},
		{`42`, []string{"42.0"}, true},
		{`42.0`, []string{"42"}, true},
		{`42`, []string{"4.2e1"}, true},
		{`42`, []string{"43"}, false},
		{`42`, []string{"0x2a"}, false},
		{`42`, []string{"1e999999999"}, false},
		{`-7`, []string{"-7"}, true},
		{`true`, []string{"true"}, true},
		{`true`, []string{"True"}, false},
		{`"a"`, []string{strings.Repeat("a", maxParamHeader+1)}, false},
		{`"a\u0001"`, []string{"a\x01"}, false},
	} {
		args := `{"o":{}}`
		if tc.value != "" {
			args = `{"o":{"v":` + tc.value + `}}`
		}
		err := new(Tool).CheckParamHeaders(headers, http.Header{"Mcp-Param-V": tc.header}, []byte(args))
		if (err == nil) != tc.ok || err != nil && mcp.AsError(err).Kind != mcp.KindHeaderMismatch {
			t.Errorf("%d: %s against %.40q: %v", i, tc.value, tc.header, err)
		}
	}
}

func TestHeaderErrorsSayWhatToDo(t *testing.T) {
	headers := []paramHeader{{name: "Mcp-Param-V", path: []string{"v"}}}
	err := new(Tool).CheckParamHeaders(headers, http.Header{}, []byte(`{"v":1}`))
	if got := fmt.Sprint(err); got != "header Mcp-Param-V is missing: it must mirror the argument v" {
		t.Error(got)
	}
}

// One walk finds the same mirrored arguments as a lookup of each.
func TestMirroredArguments(t *testing.T) {
	args := json.RawMessage(`{"a":{"b":1,"c":{"d":"x"}},"e":null,"f":[1],"g":{"b":{}},"":{"":7}}`)
	var headers []paramHeader
	for _, path := range []string{"a", "a/b", "a/c", "a/c/d", "a/c/d/e", "e", "e/x", "f", "f/0", "g/b", "g/b/c", "h", "h/i", "", "/"} {
		headers = append(headers, paramHeader{name: "Mcp-Param-V", path: strings.Split(path, "/")})
	}
	for i, got := range mirrored(headers, args) {
		want := args
		for _, key := range headers[i].path {
			if want, _ = jsonrpc.Member(want, key); want == nil {
				break
			}
		}
		if string(got) != string(want) {
			t.Errorf("%q mirrors %s, want %s", headers[i].path, got, want)
		}
	}
}

// Many headers cost little more than one: the arguments are not parsed for each.
func BenchmarkMirroredArguments(b *testing.B) {
	args := json.RawMessage(strings.Repeat(`{"p":`, 15) + `{"z":"` + strings.Repeat(`\n`, 100_000) + `"}` + strings.Repeat(`}`, 15))
	var headers []paramHeader
	for i := range 64 {
		headers = append(headers, paramHeader{path: append(slices.Repeat([]string{"p"}, 15), fmt.Sprint("k", i))})
	}
	b.Run("1", func(b *testing.B) {
		for b.Loop() {
			mirrored(headers[:1], args)
		}
	})
	b.Run("64", func(b *testing.B) {
		for b.Loop() {
			mirrored(headers, args)
		}
	})
}
