package call

import (
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

func TestKeeper(t *testing.T) {
	var k Keeper
	r := record()
	r.Apply(&medium.Write{N: 1, Next: medium.NextWaiting, Asks: []state.Ask{{ID: "1"}, {ID: "2"}}})
	one, two := *r, *r
	one.Answered("1", state.Answer{Token: "1", Result: []byte("{}")})
	two.Answered("2", state.Answer{Token: "2"})
	k.Keep(&one, nil, 0)
	k.Keep(&two, nil, time.Second)
	if known := k.Restore(time.Second); len(known) != 1 || known[0].Record.Missing() != 0 {
		t.Errorf("kept %+v, want one record with both answers", known)
	}
	other := *r
	other.ID = "other"
	// A result may have as many bytes as all calls together.
	k.Keep(&other, []medium.Entry{{Entry: state.Entry{Data: make([]byte, keepBytes)}}}, 2*time.Second)
	if known := k.Restore(2 * time.Second); len(known) != 1 || known[0].Record.ID != "other" {
		t.Errorf("kept %d, want what has come last", len(known))
	}
	if known := k.Restore(2*time.Second + keepFor + 1); len(known) != 0 || k.bytes != 0 {
		t.Errorf("kept %d for too long, %d bytes", len(known), k.bytes)
	}
}

// A replaced entry holds no memory.
func TestKeeperForgetsReplacedEntries(t *testing.T) {
	var k Keeper
	for i := range 10 {
		r := record()
		r.N, r.State = uint64(i), make([]byte, 1<<20)
		k.Keep(r, []medium.Entry{{Entry: state.Entry{Data: make([]byte, 1<<20)}}}, 0)
	}
	held := 0
	for e := k.known.Front(); e != nil; e = e.Next() {
		held += e.Value.(*kept).size()
	}
	if held != k.bytes {
		t.Errorf("%d bytes are held, %d are counted", held, k.bytes)
	}
}

func TestReader(t *testing.T) {
	e := medium.Epoch(0).Next(1)
	later := e.Next(2)
	entry := func(e medium.Epoch, seq uint64) medium.Entry {
		return medium.Entry{Epoch: e, Entry: state.Entry{Seq: seq}}
	}
	r := NewReader(medium.Position{})
	want := func(p medium.Page, f Fault, effects string, pos medium.Position) {
		t.Helper()
		if got := inWords(r.Step(&p, f, nil)); got != effects || r.Position() != pos {
			t.Fatalf("%q at %v, want %q at %v", got, r.Position(), effects, pos)
		}
	}
	want(medium.Page{Entries: []medium.Entry{entry(e, 1)}, More: true}, NoFault, "send, read", medium.Position{Epoch: e, Seq: 1})
	want(medium.Page{}, Unavailable, "", medium.Position{Epoch: e, Seq: 1})
	want(medium.Page{Entries: []medium.Entry{entry(later, 2)}}, NoFault, "send", medium.Position{Epoch: later, Seq: 2})
	// The store has lost that entry and has one question, which may be resent.
	ahead := medium.Page{Ahead: true, Last: medium.Position{Epoch: e, Seq: 1}, Entries: []medium.Entry{entry(e, 1)}}
	out := r.Step(&ahead, NoFault, nil)
	if len(out) != 1 || !out[0].Unnumbered || r.Position() != (medium.Position{Epoch: later, Seq: 2}) {
		t.Fatalf("%s at %v, want entries without ids", inWords(out), r.Position())
	}
	want(ahead, NoFault, "", medium.Position{Epoch: later, Seq: 2})
	want(medium.Page{Entries: []medium.Entry{entry(later, 3)}, Ended: true}, NoFault, "send, end", medium.Position{Epoch: later, Seq: 3})
	want(medium.Page{}, Gone, "end", medium.Position{Epoch: later, Seq: 3})
}
