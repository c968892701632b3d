package call

import (
	"fmt"
	"strings"
	"testing"
)

// TestExchange checks the effects of each event in common histories of exchanges.
func TestExchange(t *testing.T) {
	type step struct {
		e    ExchangeEvent
		want string
		to   Stage
	}
	wants := ExchangeEvent{Kind: Wanted}
	first, second := ExchangeEvent{Kind: HasDecided}, ExchangeEvent{Kind: HasDecided, Index: 1}
	fails := func(f Fault) ExchangeEvent { return ExchangeEvent{Kind: BeginFailed, Fault: f} }
	is := func(k ExchangeEventKind) ExchangeEvent { return ExchangeEvent{Kind: k} }
	begun, kept, refused := fmt.Sprint("forward ", Begun), fmt.Sprint("forward ", Kept), fmt.Sprint("forward ", Refused)
	for name, life := range map[string][]step{
		"one body":               {{first, "", Unwritten}, {second, kept + ", " + kept + ", respond", Finished}},
		"a stream":               {{wants, "begin", Opening}, {is(HasBegun), begun + ", " + begun + ", open", Finished}},
		"takes long":             {{is(OpenDue), "begin", Opening}, {is(HasBegun), begun + ", " + begun + ", open", Finished}},
		"not begun, then body":   {{wants, "begin", Opening}, {first, "", Opening}, {second, "", Opening}, {fails(NoRoom), kept + ", " + kept + ", respond", Finished}},
		"not known, then body":   {{wants, "begin", Opening}, {first, "", Opening}, {second, "", Opening}, {fails(Unavailable), kept + ", " + kept + ", tidy, respond", Finished}},
		"not begun, tried later": {{wants, "begin", Opening}, {first, "", Opening}, {fails(NoRoom), refused + ", timer", Postponed}, {wants, refused, Postponed}, {is(OpenDue), "begin", Opening}},
		"left":                   {{is(ClientLeft), "accept, " + refused + ", " + refused, Finished}, {wants, refused, Finished}, {first, kept, Finished}, {first, "", Finished}},
		"left by one answered":   {{first, "", Unwritten}, {is(ClientLeft), "accept, " + kept + ", " + refused, Finished}, {second, kept, Finished}},
		"left while beginning":   {{wants, "begin", Opening}, {is(ClientLeft), "accept", Opening}, {is(HasBegun), begun + ", " + begun, Finished}},
		"left, not begun":        {{wants, "begin", Opening}, {is(ClientLeft), "accept", Opening}, {fails(NoRoom), refused + ", " + refused, Finished}, {first, kept, Finished}, {second, kept, Finished}},
		"left, not known": {{wants, "begin", Opening}, {is(ClientLeft), "accept", Opening}, {fails(Unavailable), refused + ", " + refused + ", timer", Postponed},
			{wants, refused, Postponed}, {is(OpenDue), "begin", Opening}, {fails(Unavailable), refused + ", " + refused + ", timer", Postponed},
			{first, "", Postponed}, {second, kept + ", " + kept + ", tidy", Finished}},
		"left, not known, then begun": {{wants, "begin", Opening}, {fails(Unavailable), refused + ", " + refused + ", timer", Postponed}, {is(ClientLeft), "accept", Postponed},
			{is(OpenDue), "begin", Opening}, {first, "", Opening}, {is(HasBegun), begun + ", " + begun, Finished}},
		"left, not known, then bodies": {{wants, "begin", Opening}, {is(ClientLeft), "accept", Opening}, {first, "", Opening}, {second, "", Opening},
			{fails(Unavailable), kept + ", " + kept + ", tidy", Finished}},
		"taken, then bodies":    {{wants, "begin", Opening}, {fails(IDTaken), refused + ", " + refused + ", timer", Postponed}, {first, "", Postponed}, {second, kept + ", " + kept + ", tidy, respond", Finished}},
		"left when tried later": {{wants, "begin", Opening}, {fails(NoRoom), refused + ", " + refused + ", timer", Postponed}, {is(ClientLeft), "accept, " + refused + ", " + refused, Finished}},
		"left a stream":         {{wants, "begin", Opening}, {is(HasBegun), begun + ", " + begun + ", open", Finished}, {is(ClientLeft), "", Finished}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			x := new(Exchange)
			x.init(2)
			for i, s := range life {
				if got := inWords(x.Step(s.e, nil)); got != s.want || x.stage != s.to {
					t.Fatalf("step %d, event %d: %q and stage %d, want %q and %d", i, s.e.Kind, got, x.stage, s.want, s.to)
				}
			}
		})
	}
}
