package medium

import (
	"testing"

	"pgregory.net/rapid"
)

// An event id names its position again; one of a release before is earlier than all of this one.
func TestEventIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Position{
			Epoch: EpochOf(rapid.Uint64Range(1, MaxCounter).Draw(t, "counter"), rapid.Uint32().Draw(t, "random")),
			Seq:   rapid.Uint64Range(0, 1<<52).Draw(t, "seq"),
		}
		if stream, got, err := ParseEventID(p.EventID("st")); err != nil || stream != "st" || got != p {
			t.Fatalf("%q is %s %+v, %v; want %+v", p.EventID("st"), stream, got, err, p)
		}
	})
	if _, got, err := ParseEventID("st.2.7"); err != nil || got != (Position{Epoch: 2, Seq: 7}) || !got.Before(Position{Epoch: EpochOf(1, 0)}) {
		t.Errorf("the id of an earlier release is %+v, %v", got, err)
	}
}

// A reader that has seen an epoch has not seen another of the same counter, nor entries under a
// higher one.
func TestBefore(t *testing.T) {
	e := EpochOf(1, 7)
	at := func(e Epoch, seq uint64) Position { return Position{Epoch: e, Seq: seq} }
	for _, c := range []struct {
		p, q Position
		want bool
	}{
		{Position{}, at(e, 1), true},
		{at(e, 1), at(e, 2), true},
		{at(e, 2), at(e, 2), false},
		{at(e, 5), at(e.Next(3), 3), true},
		{at(e, 5), at(EpochOf(1, 8), 1), true},
		{at(e.Next(3), 1), at(e, 9), false},
	} {
		if got := c.p.Before(c.q); got != c.want {
			t.Errorf("%+v before %+v: %v", c.p, c.q, got)
		}
	}
}
