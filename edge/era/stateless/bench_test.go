package stateless

import (
	"testing"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// discard is a transport that drops everything.
type discard struct{}

func (discard) Session(string)            {}
func (discard) Respond(mcp.Response)      {}
func (discard) Accept()                   {}
func (discard) Open() (mcp.Stream, error) { panic("a direct call was opened") }

// hotPath returns a function that runs a call with a direct response, including the parsing of the
// body.
func hotPath(t testing.TB) func() {
	d := &fakeDispatch{call: complete}
	e, err := New(d, d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	body, header := callRequest()
	router := &era.Router{Stateless: e}
	ctx, in := t.Context(), &mcp.Incoming{Body: []byte(body), Header: header}
	return func() { router.Post(ctx, in, discard{}) }
}

func BenchmarkCall(b *testing.B) {
	call := hotPath(b)
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
}

// TestCallAllocates bounds the allocations of the era and of parsing on the hot path.
func TestCallAllocates(t *testing.T) {
	if n := testing.AllocsPerRun(1000, hotPath(t)); n > 9 {
		t.Errorf("a call makes %v allocations, want at most 9", n)
	}
}
