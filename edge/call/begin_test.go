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

// A round that is not to run twice waits for the record from which the one before may run again, also without a client.
func TestRoundsWaitForTheRecordOfOneThatMayRunAgain(t *testing.T) {
	left, openDue, hasBegun := ExchangeEvent{Kind: ClientLeft}, ExchangeEvent{Kind: OpenDue}, ExchangeEvent{Kind: HasBegun}
	fails := func(f Fault) ExchangeEvent { return ExchangeEvent{Kind: BeginFailed, Fault: f} }
	for name, c := range map[string]struct {
		// before are events in which the fate of the record stays unknown; then is the one in which it is known.
		before []ExchangeEvent
		then   ExchangeEvent
		want   []EffectKind
	}{
		"it has begun":                            {nil, hasBegun, []EffectKind{SetTimer, Commit}},
		"it may have begun":                       {nil, fails(Unavailable), []EffectKind{SetTimer}},
		"it was refused":                          {nil, fails(NoRoom), []EffectKind{Run, SetTimer}},
		"another replica has taken it":            {nil, fails(IDTaken), []EffectKind{Decide, SetTimer}},
		"it has begun, without a client":          {[]ExchangeEvent{left}, hasBegun, []EffectKind{SetTimer, Commit}},
		"it may have begun, without a client":     {[]ExchangeEvent{left}, fails(Unavailable), []EffectKind{SetTimer}},
		"it was refused, without a client":        {[]ExchangeEvent{left}, fails(NoRoom), []EffectKind{Run}},
		"it was taken, without a client":          {[]ExchangeEvent{left}, fails(IDTaken), []EffectKind{Decide, SetTimer}},
		"it may have begun, then the client left": {[]ExchangeEvent{fails(Unavailable)}, left, nil},
		"it has begun later":                      {[]ExchangeEvent{left, fails(Unavailable), openDue}, hasBegun, []EffectKind{SetTimer, Commit}},
		"it was refused later":                    {[]ExchangeEvent{fails(Unavailable), left, openDue}, fails(NoRoom), []EffectKind{Run, SetTimer}},
		"it was taken later":                      {[]ExchangeEvent{fails(Unavailable), left, openDue}, fails(IDTaken), []EffectKind{Decide, SetTimer}},
		"its session has ended":                   {nil, fails(Gone), []EffectKind{Decide, SetTimer}},
		"its session has ended later":             {[]ExchangeEvent{left, fails(Unavailable), openDue}, fails(Gone), []EffectKind{Decide, SetTimer}},
		"it still may have begun":                 {[]ExchangeEvent{left, fails(Unavailable), openDue}, fails(Unavailable), []EffectKind{SetTimer}},
	} {
		u := beginsBehindACheckpoint()
		u.Step(0, busy, nil)
		if did := u.Step(0, due(TimerPause), nil); len(did) > 0 {
			t.Errorf("%s: before that is known, the pause leads to %+v", name, did)
		}
		for _, e := range c.before {
			if got := kindsOf(u.StepExchange(e, nil), Run, Decide, Commit); len(got) > 0 {
				t.Errorf("%s: event %d leads to the effects %d", name, e.Kind, got)
			}
		}
		slices.Sort(c.want)
		if got := kindsOf(u.StepExchange(c.then, nil), SetTimer, Commit, Run, Decide); !slices.Equal(got, c.want) {
			t.Errorf("%s: the effects are %d, want %d", name, got, c.want)
		}
	}
}

// beginsBehindACheckpoint returns the machines of a call whose record is being begun with the state of its second round, from which that
// may run again.
func beginsBehindACheckpoint() *Machines {
	u := newMachines(1)
	u.Step(0, Event{Kind: Returned, Reply: &Reply{Kind: Busy, Pause: time.Second, State: []byte("t"), Resumable: true}}, nil)
	u.Step(0, due(TimerPause), nil)
	u.StepExchange(ExchangeEvent{Kind: OpenDue}, nil)
	return u
}

// kindsOf returns the kinds of effects that are among some, sorted.
func kindsOf(effects []Effect, of ...EffectKind) (kinds []EffectKind) {
	for _, f := range effects {
		if slices.Contains(of, f.Kind) {
			kinds = append(kinds, f.Kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// A round whose record was refused while it ran ends, and the next one does not wait for that record.
func TestRefusedRecordIsNotWaitedFor(t *testing.T) {
	for name, before := range map[string][]ExchangeEvent{
		"with a client":                {{Kind: BeginFailed, Fault: NoRoom}},
		"whose client has left":        {{Kind: ClientLeft}, {Kind: BeginFailed, Fault: NoRoom}},
		"whose client leaves later":    {{Kind: BeginFailed, Fault: NoRoom}, {Kind: ClientLeft}},
		"while its fate was not known": {{Kind: BeginFailed, Fault: Unavailable}, {Kind: ClientLeft}, {Kind: OpenDue}, {Kind: BeginFailed, Fault: NoRoom}},
	} {
		u := beginsBehindACheckpoint()
		for _, e := range before {
			u.StepExchange(e, nil)
		}
		u.Step(0, busy, nil)
		if got := kindsOf(u.Step(0, due(TimerPause), nil), Run); len(got) != 1 {
			t.Errorf("%s: the next round does not run", name)
		}
	}
}

// A record that was refused is begun again. If its round is over by then, it does not permit another run of that round: the next one may
// have run.
func TestRecordBegunLaterOffersNoRoundThatIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		fault            Fault
		meanwhile        []Event
		resumable, waits bool
	}{
		"its round runs":                  {NoRoom, nil, true, true},
		"its round is over":               {NoRoom, []Event{busy}, false, false},
		"the next one runs":               {NoRoom, []Event{busy, due(TimerPause)}, false, false},
		"the next one waits for its fate": {Unavailable, []Event{busy, due(TimerPause)}, true, true},
	} {
		u := beginsBehindACheckpoint()
		u.StepExchange(ExchangeEvent{Kind: BeginFailed, Fault: c.fault}, nil)
		for _, e := range c.meanwhile {
			u.Step(0, e, nil)
		}
		before := u.Records()[0]
		u.StepExchange(ExchangeEvent{Kind: OpenDue}, nil)
		if r := u.Records()[0]; r.Resumable != c.resumable || r.Round != 2 || r.ID != before.ID || string(r.State) != "t" {
			t.Errorf("%s: the record begins with %+v, want resumable %v", name, r, c.resumable)
		}
		if !before.Resumable {
			t.Errorf("%s: the record of the write before has changed", name)
		}
		if len(c.meanwhile) == 0 {
			u.Step(0, busy, nil)
		}
		if waits := len(u.Step(0, due(TimerPause), nil)) == 0; len(c.meanwhile) < 2 && waits != c.waits {
			t.Errorf("%s: the next round waits: %v, want %v", name, waits, c.waits)
		}
	}
}
