package state_test

import (
	"math"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/state"
)

func TestPositionRoundTrip(t *testing.T) {
	for id, p := range map[string]state.Position{
		"st.1.0":                          {Stream: "st", Epoch: 1},
		"9.z.35":                          {Stream: "9", Epoch: 35, Seq: 35},
		"A_-~.10.10":                      {Stream: "A_-~", Epoch: 36, Seq: 10},
		"x.18ce53un18g.4503599627370496":  {Stream: "x", Epoch: state.MaxPosition, Seq: state.MaxPosition},
		strings.Repeat("x", 124) + ".1.2": {Stream: strings.Repeat("x", 124), Epoch: 1, Seq: 2},
	} {
		if got := p.String(); got != id {
			t.Errorf("%+v prints %q, want %q", p, got, id)
		}
		if got, err := state.ParsePosition(id); err != nil || got != p {
			t.Errorf("%q reads %+v, %v, want %+v", id, got, err, p)
		}
	}
}

func TestParsePositionRefuses(t *testing.T) {
	for name, id := range map[string]string{
		"empty": "", "no parts": "st", "two parts": "st.1", "four parts": "st.1.2.3", "no stream": ".1.2",
		"no epoch": "st..2", "epoch 0": "st.0.0", "no seq": "st.1.", "sign": "st.+1.2", "negative": "st.1.-2", "leading zero": "st.01.2",
		"leading zero of seq": "st.1.02", "upper case": "st.Z.2", "hex": "st.1.0x2", "underscore": "st.1.1_0",
		"space": "st.1.2 ", "not a number": "st.1.x", "epoch out of range": "st.zzzzzzzzzzzzzzzz.1",
		"epoch too large": "st.18ce53un18h.1", "seq too large": "st.1.4503599627370497",
		"seq out of range": "st.1.99999999999999999999999", "too long": strings.Repeat("x", 125) + ".1.2",
	} {
		t.Run(name, func(t *testing.T) {
			p, err := state.ParsePosition(id)
			if err == nil || p != (state.Position{}) {
				t.Fatalf("%q reads %+v, %v, want an error", id, p, err)
			}
			if len(err.Error()) > 400 {
				t.Errorf("the error repeats %d bytes", len(err.Error()))
			}
		})
	}
}

// Epochs rise, whatever is drawn, never leave what an event id and a double can hold, and those of releases before are
// the earliest.
func TestNextEpoch(t *testing.T) {
	for _, drawn := range []uint32{0, 1, math.MaxUint32} {
		for _, before := range []uint64{state.FirstEpoch, 40, state.NextEpoch(1, math.MaxUint32)} {
			next := state.NextEpoch(before, drawn)
			if next <= before || state.EpochCounter(next) != state.EpochCounter(before)+1 {
				t.Errorf("behind %d comes %d, counter %d", before, next, state.EpochCounter(next))
			}
		}
		for _, before := range []uint64{1<<52 - 1, 1<<52 - 1<<32, 1 << 53} { // the counter is at its end
			last := state.NextEpoch(before, drawn)
			p := state.Position{Stream: "st", Epoch: last, Seq: 1}
			if got, err := state.ParsePosition(p.String()); err != nil || got != p || uint64(float64(last)) != last {
				t.Errorf("%d prints %s, which reads %v, %v", last, p, got, err)
			}
		}
	}
}

func FuzzParsePosition(f *testing.F) {
	for _, id := range []string{"st.1.0", "st.z.35", "a.b.c", "..", "st.01.2", "\xff.1.1", "x.3w5e11264sgsf.18446744073709551615"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		p, err := state.ParsePosition(id)
		if err != nil {
			return
		}
		if p.String() != id {
			t.Errorf("%q reads %+v, which prints %q", id, p, p)
		}
		if p.Stream == "" || strings.Contains(p.Stream, ".") || p.Epoch > state.MaxPosition || p.Seq > state.MaxPosition {
			t.Errorf("%q reads %+v", id, p)
		}
	})
}

func FuzzPositionString(f *testing.F) {
	f.Add("st", uint64(1), uint64(0))
	f.Add("st", uint64(math.MaxUint64), uint64(math.MaxUint64))
	f.Fuzz(func(t *testing.T, stream string, epoch, seq uint64) {
		p := state.Position{Stream: stream, Epoch: epoch, Seq: seq}
		id := p.String()
		fits := stream != "" && !strings.Contains(stream, ".") && len(id) <= 128 &&
			epoch <= state.MaxPosition && seq <= state.MaxPosition
		if got, err := state.ParsePosition(id); fits != (err == nil) || fits && got != p {
			t.Errorf("%+v prints %q, which reads %+v, %v", p, id, got, err)
		}
	})
}

func TestOrDefaults(t *testing.T) {
	if got := (state.Limits{}).OrDefaults(); got != state.DefaultLimits() {
		t.Errorf("no limits are %+v, want the defaults", got)
	}
	l := state.DefaultLimits()
	l.LogEvents, l.Lease = 7, 8
	if got := (state.Limits{LogEvents: 7, Lease: 8}).OrDefaults(); got != l {
		t.Errorf("limits are %+v, want %+v", got, l)
	}
}
