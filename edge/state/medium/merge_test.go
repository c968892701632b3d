package medium

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpedge/mcpedge/edge/state"
)

// drawRecord draws what a replica may know of one call: few epochs and steps, so that they meet.
func drawRecord(t *rapid.T, name string) Record {
	r := Record{Session: "s", Stream: "st", Phase: state.PhaseDispatched}
	r.ID, r.Round, r.Attempt = "c", 1, 1
	r.Epoch = EpochOf(rapid.Uint64Range(1, 3).Draw(t, name+" counter"), rapid.Uint32Range(1, 2).Draw(t, name+" random"))
	// What a step of an epoch made of the call is one thing in every history.
	r.N = rapid.Uint64Range(0, 2).Draw(t, name+" step")
	r.Last = r.N
	switch r.N {
	case 1:
		r.Phase = state.PhaseDispatched
	case 2:
		r.Phase, r.Asked = state.PhaseWaiting, []Question{{Ask: state.Ask{ID: "1"}}, {Ask: state.Ask{ID: "2"}}}
		for _, id := range []string{"1", "2"} {
			if rapid.Bool().Draw(t, name+" answer "+id) {
				r.Answered(id, state.Answer{Token: id})
			}
		}
	}
	return r
}

// In whatever order and however often what replicas know is merged, the same comes of it.
func TestMergeIsAJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []Record
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, drawRecord(t, name))
		}
		if rapid.Bool().Draw(t, "one has ended") {
			all[2].Apply(&Write{N: all[2].N + 1, Next: NextDone})
		}
		merge := func(order ...int) Record {
			var r Record
			for i, k := range order {
				r.Merge(&all[k], i > 0)
			}
			return r
		}
		want := merge(0, 1, 2)
		for _, order := range [][]int{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {0, 1, 2, 0, 1}, {2, 2, 1, 0, 2}} {
			got := merge(order...)
			// How often answers were counted is no matter, as long as a step is not taken for an earlier one.
			got.N, want.N = 0, 0
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("merged in the order %v: %+v, want %+v", order, got, want)
			}
		}
	})
}

func TestMergeLog(t *testing.T) {
	first, second := Epoch(0).Next(1), Epoch(0).Next(1).Next(2)
	other := Epoch(0).Next(1).Next(3)
	at := func(e Epoch, seqs ...uint64) (out []Entry) {
		for _, s := range seqs {
			out = append(out, Entry{Epoch: e, Entry: state.Entry{Seq: s}})
		}
		return out
	}
	of := func(e Epoch, start uint64) *Record { return &Record{Epoch: e, Start: start} }
	for name, c := range map[string]struct {
		log     []Entry
		from    *Record
		entries []Entry
		now     *Record
		want    []Entry
	}{
		"what was lost is back":               {at(first, 1), of(first, 0), at(first, 1, 2, 3), of(first, 0), at(first, 1, 2, 3)},
		"what is there stays":                 {at(first, 1, 2), of(first, 0), at(first, 2), of(first, 0), at(first, 1, 2)},
		"a window that was outgrown":          {at(first, 1), of(first, 0), at(first, 5, 6), of(first, 0), at(first, 1, 5, 6)},
		"an earlier owner fills the gap":      {slices.Concat(at(first, 1), at(second, 4)), of(first, 0), at(first, 1, 2, 3, 4), of(second, 3), slices.Concat(at(first, 1, 2, 3), at(second, 4))},
		"a stale owner's go":                  {at(first, 1, 2, 3, 4), of(second, 2), at(second, 3), of(second, 2), slices.Concat(at(first, 1, 2), at(second, 3))},
		"another branch goes":                 {slices.Concat(at(first, 1), at(second, 2, 3)), of(other, 2), at(other, 3), of(other, 2), slices.Concat(at(first, 1), at(other, 3))},
		"who is superseded puts nothing":      {slices.Concat(at(first, 1), at(other, 2, 3)), of(second, 1), at(second, 2, 4), of(other, 1), slices.Concat(at(first, 1), at(other, 2, 3))},
		"an empty log, with what went before": {nil, of(second, 2), slices.Concat(at(first, 1, 2), at(second, 3)), of(second, 2), slices.Concat(at(first, 1, 2), at(second, 3))},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(c.log)
			if got := MergeLog(c.log, c.from, c.entries, c.now); !reflect.DeepEqual(got, c.want) {
				t.Errorf("merged: %v, want %v", got, c.want)
			}
			if !reflect.DeepEqual(before, c.log) {
				t.Error("the log that was given has changed")
			}
		})
	}
}
