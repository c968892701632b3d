package call

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A record begins with the state from which its round may run again. The call's first step does not
// repeat that state, unless the backend has replaced it meanwhile.
func TestRecordBeginsWithItsState(t *testing.T) {
	checkpointed := func(state string) Event { return Event{Kind: Checkpointed, State: []byte(state)} }
	for name, c := range map[string]struct {
		before, meanwhile []Event
		round             int
		state             string
		resumable         bool
		// step is the first step, with its state.
		step string
	}{
		"its first round":               {nil, nil, 1, "", false, ""},
		"a checkpoint":                  {[]Event{checkpointed("half")}, nil, 1, "half", true, ""},
		"a first checkpoint":            {nil, []Event{checkpointed("half")}, 1, "", false, `1>0 in round 1 "half" true`},
		"a later checkpoint":            {[]Event{checkpointed("half")}, []Event{checkpointed("more")}, 1, "half", true, `1>0 in round 1 "more" true`},
		"a pause":                       {[]Event{busy}, nil, 2, "s", false, `1>2 in round 2 "s" false`},
		"a later round":                 {[]Event{busy, due(TimerPause)}, nil, 2, "s", false, ""},
		"a round that ended":            {[]Event{checkpointed("half")}, []Event{busy}, 1, "half", true, `1>2 in round 2 "s" false`},
		"a round that began":            {[]Event{busy}, []Event{due(TimerPause)}, 2, "s", false, ""},
		"another one that did":          {nil, []Event{busy, due(TimerPause)}, 1, "", false, `1>1 in round 2 "s" false`},
		"a checkpoint of a later round": {[]Event{busy, due(TimerPause), checkpointed("half")}, nil, 2, "half", true, ""},
	} {
		u := newMachines(1)
		for _, e := range c.before {
			u.Step(0, e, nil)
		}
		u.StepExchange(ExchangeEvent{Kind: OpenDue}, nil)
		for _, e := range c.meanwhile {
			u.Step(0, e, nil)
		}
		if r := u.Records()[0]; r.Round != c.round || string(r.State) != c.state || r.Resumable != c.resumable {
			t.Errorf("%s: it begins in round %d with the state %q, resumable %v", name, r.Round, r.State, r.Resumable)
		}
		step := ""
		for _, f := range u.StepExchange(ExchangeEvent{Kind: HasBegun}, nil) {
			if f.Kind == Commit {
				step = fmt.Sprintf("%d>%d in round %d %q %v", f.Write.N, f.Write.Next, f.Write.Round, f.Write.State, f.Write.Resumable)
			}
		}
		if step != c.step {
			t.Errorf("%s: the step is %s, want %s", name, step, c.step)
		}
	}
}

// A round that is not to run twice waits for the record from which the one before may run again.
func TestRoundsWaitForTheRecordOfOneThatMayRunAgain(t *testing.T) {
	busyAgain := Event{Kind: Returned, Reply: &Reply{Kind: Busy, Pause: time.Second, State: []byte("t"), Resumable: true}}
	for name, c := range map[string]struct {
		then ExchangeEvent
		// want are the effects of the event in which the fate of the record is known.
		want []EffectKind
	}{
		"it has begun":                 {ExchangeEvent{Kind: HasBegun}, []EffectKind{SetTimer, Commit}},
		"it may have begun":            {ExchangeEvent{Kind: BeginFailed, Fault: Unavailable}, []EffectKind{SetTimer}},
		"it was refused":               {ExchangeEvent{Kind: BeginFailed, Fault: NoRoom}, []EffectKind{Run, SetTimer}},
		"another replica has taken it": {ExchangeEvent{Kind: BeginFailed, Fault: IDTaken}, []EffectKind{Decide, SetTimer}},
	} {
		u := newMachines(1)
		for _, e := range []Event{busyAgain, due(TimerPause)} {
			u.Step(0, e, nil)
		}
		u.StepExchange(ExchangeEvent{Kind: OpenDue}, nil)
		u.Step(0, busy, nil)
		if did := u.Step(0, due(TimerPause), nil); len(did) > 0 {
			t.Errorf("%s: before that is known, the pause leads to %+v", name, did)
		}
		var got []EffectKind
		for _, f := range u.StepExchange(c.then, nil) {
			if f.Kind == SetTimer || f.Kind == Commit || f.Kind == Run || f.Kind == Decide {
				got = append(got, f.Kind)
			}
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the effects are %d, want %d", name, got, c.want)
		}
	}
}
