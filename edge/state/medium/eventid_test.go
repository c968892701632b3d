package medium

import (
	"math"
	"strings"
	"testing"
)

func TestEventIDRoundTrip(t *testing.T) {
	type place struct {
		stream string
		Position
	}
	for id, p := range map[string]place{
		"st.1.0":                          {"st", Position{Epoch: 1}},
		"9.z.35":                          {"9", Position{Epoch: 35, Seq: 35}},
		"A_-~.10.10":                      {"A_-~", Position{Epoch: 36, Seq: 10}},
		"x.18ce53un18g.4503599627370496":  {"x", Position{Epoch: MaxPosition, Seq: MaxPosition}},
		strings.Repeat("x", 124) + ".1.2": {strings.Repeat("x", 124), Position{Epoch: 1, Seq: 2}},
	} {
		if got := p.EventID(p.stream); got != id {
			t.Errorf("%+v prints %q, want %q", p, got, id)
		}
		if stream, got, err := ParseEventID(id); err != nil || (place{stream, got}) != p {
			t.Errorf("%q reads %s, %+v, %v, want %+v", id, stream, got, err, p)
		}
	}
}

func TestParseEventIDRefuses(t *testing.T) {
	for name, id := range map[string]string{
		"empty": "", "no parts": "st", "two parts": "st.1", "four parts": "st.1.2.3", "no stream": ".1.2",
		"no epoch": "st..2", "epoch 0": "st.0.0", "no seq": "st.1.", "sign": "st.+1.2", "negative": "st.1.-2", "leading zero": "st.01.2",
		"leading zero of seq": "st.1.02", "upper case": "st.Z.2", "hex": "st.1.0x2", "underscore": "st.1.1_0",
		"space": "st.1.2 ", "not a number": "st.1.x", "epoch out of range": "st.zzzzzzzzzzzzzzzz.1",
		"epoch too large": "st.18ce53un18h.1", "seq too large": "st.1.4503599627370497",
		"seq out of range": "st.1.99999999999999999999999", "too long": strings.Repeat("x", 125) + ".1.2",
	} {
		t.Run(name, func(t *testing.T) {
			stream, p, err := ParseEventID(id)
			if err == nil || stream != "" || p != (Position{}) {
				t.Fatalf("%q reads %s, %+v, %v, want an error", id, stream, p, err)
			}
			if len(err.Error()) > 400 {
				t.Errorf("the error repeats %d bytes", len(err.Error()))
			}
		})
	}
}

func FuzzParseEventID(f *testing.F) {
	for _, id := range []string{"st.1.0", "st.z.35", "a.b.c", "..", "st.01.2", "\xff.1.1", "x.3w5e11264sgsf.18446744073709551615"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		stream, p, err := ParseEventID(id)
		if err != nil {
			return
		}
		if p.EventID(stream) != id {
			t.Errorf("%q reads %s, %+v, which prints %q", id, stream, p, p.EventID(stream))
		}
		if stream == "" || strings.Contains(stream, ".") || p.Epoch > MaxPosition || p.Seq > MaxPosition {
			t.Errorf("%q reads %s, %+v", id, stream, p)
		}
	})
}

func FuzzEventID(f *testing.F) {
	f.Add("st", uint64(1), uint64(0))
	f.Add("st", uint64(math.MaxUint64), uint64(math.MaxUint64))
	f.Fuzz(func(t *testing.T, stream string, epoch, seq uint64) {
		p := Position{Epoch: Epoch(epoch), Seq: seq}
		id := p.EventID(stream)
		fits := stream != "" && !strings.Contains(stream, ".") && len(id) <= 128 && epoch > 0 && epoch <= MaxPosition && seq <= MaxPosition
		if name, got, err := ParseEventID(id); fits != (err == nil) || fits && (name != stream || got != p) {
			t.Errorf("%+v prints %q, which reads %s, %+v, %v", p, id, name, got, err)
		}
	})
}
