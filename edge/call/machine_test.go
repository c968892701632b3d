package call

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Every event has a transition in some state, and no effect in a state without one.
func TestTransitions(t *testing.T) {
	for e := range eventKinds {
		taken := common[e] != nil
		for s := range states {
			switch c := newCall(); {
			case transitions[s][e] != nil:
				taken = true
			case common[e] == nil || s == Over:
				if c.state = s; len(c.Step(Event{Kind: e}, nil)) > 0 || c.state != s {
					t.Errorf("event %d has an effect in state %d, which has no transition for it", e, s)
				}
			}
		}
		if !taken {
			t.Errorf("no state of a call has a transition for event %d", e)
		}
	}
	for e := range exchangeEventKinds {
		taken := false
		for s := range stages {
			x := Exchange{stage: s}
			if exchangeTransitions[s][e] != nil {
				taken = true
			} else if len(x.Step(ExchangeEvent{Kind: e}, nil)) > 0 || x.stage != s {
				t.Errorf("event %d has an effect in stage %d, which has no transition for it", e, s)
			}
		}
		if !taken {
			t.Errorf("no stage of an exchange has a transition for event %d", e)
		}
	}
}

// A call that is over ignores late events. A cancellation is passed on, once, if the call continues
// on another replica.
func TestOverIsFinal(t *testing.T) {
	for e := range eventKinds {
		for _, how := range []How{HowEnded, HowParked, HowLost, HowGone} {
			c := newCall()
			c.state, c.how = Over, how
			want := ""
			if e == Cancelled && (how == HowParked || how == HowLost) {
				want = "cancel"
			}
			for i, want := range []string{want, ""} {
				if out := inWords(c.Step(Event{Kind: e}, nil)); c.state != Over || out != want {
					t.Errorf("event %d of a call that ended with %d, time %d: state %d and %q, want %q", e, how, i, c.state, out, want)
				}
			}
		}
	}
}

var config = Config{
	MaxAttempts: 5, Render: func(_ *medium.Record, f Failure, _ error) []byte { return fmt.Appendf(nil, "failure %d", f) },
	Completed: func(*medium.Record, []state.Ask) []state.Entry { return []state.Entry{{Kind: state.EntryNotice}} },
}

func record() *medium.Record {
	r := &medium.Record{Session: "s", Stream: "st", Phase: state.PhaseDispatched, Epoch: medium.Epoch(0).Next(7)}
	r.ID, r.Round, r.Attempt = "c", 1, 1
	return r
}

func newCall() *Call { return &Call{o: &config, round: record()} }

var effectNames = map[EffectKind]string{
	Run: "run", Stop: "stop", Want: "want", Decide: "decide", Commit: "commit", Restore: "restore", Draw: "draw",
	SetTimer: "timer", Free: "free", Keep: "keep", CancelByRecord: "cancel", Dropped: "dropped", EndRun: "over",
	Begin: "begin", CleanUp: "tidy", Open: "open", Respond: "respond", Accept: "accept", Forward: "forward",
	Read: "read", Send: "send", EndStream: "end",
}

// inWords describes effects and their writes as text.
func inWords(effects []Effect) string {
	var out []string
	for _, e := range effects {
		name := effectNames[e.Kind]
		switch e.Kind {
		case Commit:
			name += fmt.Sprintf(" %d@%d+%d>%d", e.Write.N, e.Write.Seq, len(e.Write.Entries), e.Write.Next)
		case Restore:
			name += fmt.Sprintf(" %d+%d", e.Record.N, len(e.Entries))
		case Decide:
			name += fmt.Sprintf(" %q", e.Reply.Response)
		case EndRun:
			name += fmt.Sprint(" ", e.How)
		case Forward:
			name += fmt.Sprint(" ", e.Event)
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

var (
	emit    = Event{Kind: Emitted, Entry: &state.Entry{Kind: state.EntryProgress, Progress: 1, Data: []byte("p")}}
	emit2   = Event{Kind: Emitted, Entry: &state.Entry{Kind: state.EntryProgress, Progress: 2, Data: []byte("q")}}
	returns = Event{Kind: Returned, Reply: &Reply{Kind: Final, Response: []byte("r")}}
	asks    = Event{Kind: Returned, Reply: &Reply{Kind: Asks, Asks: []state.Ask{{ID: "1", Message: []byte("a")}, {ID: "2", Message: []byte("b")}}}}
	busy    = Event{Kind: Returned, Reply: &Reply{Kind: Busy, State: []byte("s")}}
	begun   = Event{Kind: Begun, Record: record()}
	stored  = Event{Kind: Stored}
)

func supersededBy(w Why) Event { return Event{Kind: Superseded, Why: w} }

func begunInRound(n int) Event {
	r := record()
	r.Round = n
	return Event{Kind: Begun, Record: r}
}

func failed(f Fault) Event { return Event{Kind: Failed, Fault: f} }
func due(t Timer) Event    { return Event{Kind: Due, Timer: t} }
func refusedBy(f Fault) Event {
	return Event{Kind: Refused, Fault: f}
}

func late(e Event) Event {
	e.Late = true
	return e
}
func kind(k EventKind) Event {
	return Event{Kind: k}
}

func claimedBy(why Why, change func(*medium.Record)) Event {
	r := record()
	r.Repeatable = true
	change(r)
	return Event{Kind: Claimed, Why: why, Record: r}
}

// TestCall checks the effects of each event in common histories of calls.
func TestCall(t *testing.T) {
	start := started
	live(t, map[string][]lived{
		"answered in place": {start, {returns, `decide "r"`, Decided}, {kind(Kept), "over 1", Over}},
		"events, then the response in one write": {start,
			{emit, "timer", Direct}, {emit2, "", Direct}, {due(TimerFlush), "want", Direct},
			{begun, "commit 1@1+2>0", Running}, {returns, "free", Finishing}, {stored, "commit 2@3+1>4", Finishing},
			{stored, "keep, over 1", Over}},
		"returned while the record is begun": {start, {emit, "timer", Direct}, {due(TimerFlush), "want", Direct},
			{returns, `want, decide "r"`, Decided}, {begun, "free, commit 1@1+2>4", Finishing}, {stored, "keep, over 1", Over}},
		"no stream can be begun": {start, {emit, "timer", Direct}, {due(TimerFlush), "want", Direct},
			{kind(Refused), "dropped", Direct}, {returns, `decide "r"`, Decided}, {kind(Kept), "over 1", Over}},
		"asks": {start, {asks, "want", Decided}, {begun, "commit 1@1+2>3", Finishing}, {stored, "keep, over 2", Over}},
		"asks, without a stream": {start, {asks, "want", Decided}, {kind(Refused), `decide "failure 8"`, Decided},
			{kind(Kept), "over 1", Over}},
		"asks, cancelled before": {start, {asks, "want", Decided}, {kind(Cancelled), `decide ""`, Decided}},
		"asks, cancelled on the way": {start, {asks, "want", Decided}, {begun, "commit 1@1+2>3", Finishing},
			{kind(Cancelled), "", Finishing}, {stored, "keep, cancel, over 2", Over}},
		"asks, with ids that are taken": {start, {asks, "want", Decided}, {begun, "commit 1@1+2>3", Finishing},
			{failed(IDTaken), "draw", Finishing},
			{Event{Kind: Drawn, Reply: asks.Reply}, "commit 2@3+2>3", Finishing}, {stored, "keep, over 2", Over}},
		"asks, without a client": {start, {asks, "want", Decided}, {refusedBy(Fenced), `decide "failure 11"`, Decided}},
		"returned, and the session is gone": {start, {emit, "timer", Direct}, {returns, `want, decide "r"`, Decided},
			{refusedBy(Gone), `decide "failure 2"`, Decided}, {kind(Kept), "dropped, over 1", Over}},
		"busy in place": {start, {busy, "timer", Pausing}, {due(TimerPause), "run", Direct}},
		"busy, opened":  {start, {busy, "timer", Pausing}, {begun, "commit 1@1+0>2", Pausing}, {stored, "", Pausing}, {due(TimerPause), "commit 2@1+0>1", Marking}, {stored, "run", Running}},
		"busy, opened in the round to come": {start, {busy, "timer", Pausing}, {begunInRound(2), "commit 1@1+0>2", Pausing},
			{stored, "", Pausing}, {due(TimerPause), "commit 2@1+0>1", Marking}},
		"busy, while a record that it does not know of is claimed": {start, {busy, "timer", Pausing}, {supersededBy(ByLoss), "", Pausing},
			{due(TimerPause), "run", Direct}},
		"busy, cancelled": {start, {busy, "timer", Pausing}, {kind(Cancelled), `decide ""`, Decided}},
		"cancelled in place": {start, {kind(Cancelled), `stop, decide ""`, Decided},
			{returns, "", Decided}, {kind(Kept), "over 1", Over}},
		"cancelled": {start, {begun, "", Running}, {kind(Cancelled), "stop, free, commit 1@1+0>4", Finishing},
			{returns, "", Finishing}, {stored, "keep, over 1", Over}},
		"too late":          {start, {begun, "", Running}, {kind(Expired), "stop, free, commit 1@1+1>4", Finishing}},
		"the session ended": {start, {begun, "", Running}, {kind(Ended), "stop, over 4", Over}},
		"closing":           {start, {begun, "", Running}, {kind(Closed), "stop, keep, over 3", Over}},
		"closing in place":  {start, {kind(Closed), `stop, decide "failure 3"`, Decided}},
		"fenced":            {start, {begun, "", Running}, {emit, "commit 1@1+1>0", Running}, {failed(Fenced), "stop, keep, over 3", Over}},
		"asks, cancelled when it has": {start, {asks, "want", Decided}, {begun, "commit 1@1+2>3", Finishing},
			{stored, "keep, over 2", Over}, {kind(Cancelled), "cancel", Over}},
		"cancelled while the record is begun, and fenced": {start, {emit, "timer", Direct}, {due(TimerFlush), "want", Direct},
			{kind(Cancelled), `stop, decide ""`, Decided}, {begun, "free, commit 1@1+1>4", Finishing}, {failed(Fenced), "keep, cancel, over 3", Over}},
		"asks, cancelled while the record is begun, and fenced": {start, {asks, "want", Decided}, {kind(Cancelled), `decide ""`, Decided},
			{begun, "free, commit 1@1+0>4", Finishing}, {failed(Fenced), "keep, cancel, over 3", Over}},
		"superseded here, then cancelled":   {start, {begun, "", Running}, {supersededBy(ByLoss), "stop, keep, over 3", Over}, {kind(Cancelled), "cancel", Over}},
		"superseded here by a cancellation": {start, {begun, "", Running}, {supersededBy(ByCancel), "stop, keep, over 3", Over}, {kind(Cancelled), "", Over}},
		"cancelled, superseded here by a cancellation": {start, {begun, "", Running}, {kind(Cancelled), "stop, free, commit 1@1+0>4", Finishing},
			{supersededBy(ByCancel), "keep, over 3", Over}, {stored, "", Over}},
		"superseded here without a record": {start, {supersededBy(ByLoss), "", Direct}, {asks, "want", Decided}, {supersededBy(ByAnswer), "", Decided}},
		"superseded here by a cancellation without a record": {start, {supersededBy(ByCancel), `stop, decide ""`, Decided},
			{begun, "free, commit 1@1+0>4", Finishing}, {failed(Fenced), "keep, over 3", Over}},
		"superseded here while it asks, by a cancellation": {start, {asks, "want", Decided}, {supersededBy(ByCancel), `decide ""`, Decided},
			{begun, "free, commit 1@1+0>4", Finishing}, {failed(Fenced), "keep, over 3", Over}},
		"fenced, cancelled": {start, {begun, "", Running}, {kind(Cancelled), "stop, free, commit 1@1+0>4", Finishing},
			{failed(Fenced), "keep, cancel, over 3", Over}},
		"a write that was lost is sent again as it was": {start, {begun, "", Running}, {emit, "commit 1@1+1>0", Running},
			{emit2, "", Running}, {failed(Unavailable), "timer", Running}, {due(TimerRetry), "commit 1@1+1>0", Running},
			{stored, "commit 2@2+1>0", Running}},
		"the store lost writes": {start, {begun, "", Running}, {emit, "commit 1@1+1>0", Running}, {stored, "", Running},
			{emit2, "commit 2@2+1>0", Running}, {failed(Rewound), "restore 1+1", Running}, {stored, "commit 2@2+1>0", Running}},
		"the store goes back again and again": {start, {begun, "", Running}, {emit, "commit 1@1+1>0", Running},
			{failed(Rewound), "restore 0+0", Running}, {stored, "commit 1@1+1>0", Running},
			{failed(Rewound), "timer", Running}, {due(TimerRetry), "restore 0+0", Running}, {stored, "commit 1@1+1>0", Running}},
		"the store was away": {start, {begun, "", Running}, {emit, "commit 1@1+1>0", Running}, {stored, "", Running},
			{kind(Returning), "restore 1+1", Running}, {failed(Unavailable), "timer", Running},
			{due(TimerRetry), "restore 1+1", Running}, {stored, "", Running}},
		"the store was away while the response was on its way": {start, {begun, "", Running}, {returns, "free, commit 1@1+1>4", Finishing},
			{kind(Returning), "", Finishing}, {stored, "restore 1+1", Finishing}, {stored, "keep, over 1", Over}},
		"superseded": {start, {begun, "", Running}, {kind(Returning), "restore 0+0", Running}, {failed(Fenced), "stop, keep, over 3", Over}},
		"events that are refused": {start, {begun, "", Running}, {emit, "commit 1@1+1>0", Running}, {failed(TooLarge), "dropped", Running},
			{emit2, "commit 2@2+1>0", Running}},
		"events before a pause that are refused after it": {start, {begun, "", Running}, {emit, "commit 1@1+1>0", Running},
			{emit2, "", Running}, {stored, "commit 2@2+1>0", Running}, {Event{Kind: Emitted, Entry: &state.Entry{Kind: state.EntryLog}}, "", Running},
			{busy, "timer", Pausing}, {stored, "commit 3@3+1>2", Pausing}, {due(TimerPause), "", Marking},
			{failed(TooLarge), "dropped, commit 4@4+0>1", Marking}, {stored, "run", Running}},
		"a response that is too large": {start, {begun, "", Running}, {returns, "free, commit 1@1+1>4", Finishing},
			{failed(TooLarge), "free, commit 2@2+1>4", Finishing}, {failed(TooLarge), "keep, over 3", Over}},
		"a response that the store refuses": {start, {begun, "", Running}, {returns, "free, commit 1@1+1>4", Finishing},
			{kind(Expired), "timer", Finishing}, {due(TimerGiveUp), "keep, over 3", Over}},
		"answered":         {{claimedBy(ByAnswer, func(r *medium.Record) { r.Phase = state.PhaseReady }), "commit 1@1+0>1", Marking}, {stored, "run", Running}},
		"lost while ready": {{claimedBy(ByLoss, func(r *medium.Record) { r.Phase, r.Repeatable = state.PhaseReady, false }), "commit 1@1+0>1", Marking}},
		"lost while it ran, safe": {{claimedBy(ByLoss, func(r *medium.Record) { r.Attempt, r.Lapses = 9, 4; r.HasProgress, r.Progress = true, 1 }), "commit 1@1+0>1", Marking},
			{stored, "run", Running}, {emit, "", Running}, {emit2, "commit 2@1+1>0", Running}},
		"lost while it ran":  {{claimedBy(ByLoss, func(r *medium.Record) { r.Repeatable = false }), "free, commit 1@1+1>4", Finishing}},
		"lost too often":     {{claimedBy(ByLoss, func(r *medium.Record) { r.Lapses = 5 }), "free, commit 1@1+1>4", Finishing}},
		"lost, and too late": {{late(claimedBy(ByLoss, func(*medium.Record) {})), "free, commit 1@1+1>4", Finishing}},
		"sent to a URL that is over": {{claimedBy(ByAnswer, func(r *medium.Record) { r.Phase, r.Open = state.PhaseReady, map[string]string{"k": "id"} }), "commit 1@1+0>1", Marking},
			{stored, "run", Running}, {returns, "free, commit 2@1+2>4", Finishing}},
		"waited too long":     {{claimedBy(ByLoss, func(r *medium.Record) { r.Phase = state.PhaseWaiting }), "free, commit 1@1+1>4", Finishing}},
		"cancelled elsewhere": {{claimedBy(ByCancel, func(r *medium.Record) { r.Cancelled = true }), "free, commit 1@1+0>4", Finishing}, {stored, "keep, over 1", Over}},
		"cancelled elsewhere, and fenced": {{claimedBy(ByCancel, func(r *medium.Record) { r.Cancelled = true }), "free, commit 1@1+0>4", Finishing},
			{failed(Fenced), "keep, cancel, over 3", Over}},
		"lost while marking": {{claimedBy(ByAnswer, func(r *medium.Record) { r.Phase = state.PhaseReady }), "commit 1@1+0>1", Marking}, {failed(Fenced), "keep, over 3", Over}},
		"cancelled while marking": {{claimedBy(ByAnswer, func(r *medium.Record) { r.Phase = state.PhaseReady }), "commit 1@1+0>1", Marking},
			{kind(Cancelled), "free", Finishing}, {stored, "commit 2@1+0>4", Finishing}},
	})
}

// newMachines returns the machines of one exchange, whose calls have started.
func newMachines(calls int) *Machines {
	u := new(Machines)
	u.InitExchange(calls)
	for i := range calls {
		r := record()
		r.ID = fmt.Sprint("c", i)
		u.Add(new(Call), &config, r)
		u.Step(i, kind(Started), nil)
	}
	return u
}

// A request id is free before its client has the response.
func TestResponseComesLast(t *testing.T) {
	u := newMachines(2)
	if got := inWords(u.Step(0, returns, nil)); got != `decide "r"` {
		t.Errorf("the first reply: %s", got)
	}
	want := fmt.Sprintf(`decide "r", forward %d, forward %d, over 1, over 1, respond`, Kept, Kept)
	if got := inWords(u.Step(1, returns, nil)); got != want {
		t.Errorf("the last reply: %s, want %s", got, want)
	}
}

// The only call of an exchange, once decided, begins with its last step, and takes that step after
// Begin.
func TestConclusion(t *testing.T) {
	u := newMachines(1)
	u.Step(0, emit, nil)
	if w := u.Conclusion(record()); w != nil {
		t.Errorf("a call that runs is concluded by %+v", w)
	}
	u.Step(0, returns, nil)
	w := u.Conclusion(u.Records()[0])
	if w == nil || len(w.Entries) != 2 || w.Next != medium.NextDone {
		t.Fatalf("the conclusion is %+v", w)
	}
	free := false
	for _, f := range u.StepExchange(ExchangeEvent{Kind: HasBegun}, nil) {
		free = free || f.Kind == Free
		if f.Kind == Open && !free {
			t.Error("the stream, which has the response, is opened before the request id is free")
		}
		if f.Kind == Commit && (f.Write.N != w.N || f.Write.Seq != w.Seq || len(f.Write.Entries) != len(w.Entries)) {
			t.Errorf("the step is %+v, the conclusion was %+v", f.Write, w)
		}
	}
	two := newMachines(2)
	two.Step(0, returns, nil)
	if w := two.Conclusion(record()); w != nil {
		t.Errorf("one of two calls is concluded by %+v", w)
	}
}

// The log of an exchange begins with the ready entries, once.
func TestReady(t *testing.T) {
	u := newMachines(2)
	u.Ready([]state.Entry{{Kind: state.EntryNotice, Data: []byte("n")}})
	u.StepExchange(ExchangeEvent{Kind: OpenDue}, nil)
	want := fmt.Sprintf("forward %d, forward %d, commit 1@1+1>0, open", Begun, Begun)
	if got := inWords(u.StepExchange(ExchangeEvent{Kind: HasBegun}, nil)); got != want {
		t.Errorf("%s, want %s: a step with what was ready", got, want)
	}
}

// If a log returns to one of two branches, its entries are sent without ids.
func TestReaderSendsNoIDTwice(t *testing.T) {
	r := NewReader(medium.Position{})
	at := func(random uint32, seq uint64, k state.EntryKind) medium.Entry {
		e := medium.Entry{Epoch: medium.Epoch(0).Next(random), Entry: state.Entry{Kind: k}}
		e.Seq = seq
		return e
	}
	for i, c := range []struct {
		page []medium.Entry
		want string
	}{
		{[]medium.Entry{at(2, 1, state.EntryProgress), at(2, 2, state.EntryRequest)}, "2"},
		{[]medium.Entry{at(1, 1, state.EntryRequest)}, "1"},
		{[]medium.Entry{at(2, 1, state.EntryProgress), at(2, 2, state.EntryRequest), at(2, 3, state.EntryResponse)}, "1 without ids, 1"},
	} {
		var got []string
		for _, f := range r.Step(&medium.Page{Entries: c.page}, NoFault, nil) {
			switch {
			case f.Kind == Send && f.Unnumbered:
				got = append(got, fmt.Sprint(len(f.Entries), " without ids"))
			case f.Kind == Send:
				got = append(got, fmt.Sprint(len(f.Entries)))
			}
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("page %d: sent %s, want %s", i, s, c.want)
		}
	}
}

// A step whose own content is refused, and that has no entry to drop, ends the call: it is not sent
// again.
func TestRefusedStateEndsTheCall(t *testing.T) {
	for fault, failure := range map[Fault]Failure{NoRoom: Full, TooLarge: Oversized} {
		c := newCall()
		c.Step(Event{Kind: Started}, nil)
		c.Step(begun, nil)
		out := c.Step(busy, nil)
		var last *medium.Write
		commits := 0
		for commits < 10 {
			next := slices.IndexFunc(out, func(f Effect) bool { return f.Kind == Commit })
			if next < 0 {
				break
			}
			last = out[next].Write
			commits++
			out = c.Step(failed(fault), nil)
		}
		if commits != 2 || last.Next != medium.NextDone || c.state != Over {
			t.Fatalf("fault %d: %d steps were sent, the last to %d, and the call is in state %d", fault, commits, last.Next, c.state)
		}
		if got, want := string(last.Entries[len(last.Entries)-1].Data), fmt.Sprintf("failure %d", failure); got != want {
			t.Errorf("fault %d ends the call with %q, want %q", fault, got, want)
		}
	}
}
