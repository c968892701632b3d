package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest/model"
)

// replica is one incarnation: it drives the machines.
type replica struct {
	w      *world
	id     int
	slot   int
	alive  bool
	view   *model.Replica
	paused time.Duration // until then
	calls  map[string]*running
	keeper call.Keeper
	// readers of logs here.
	readers []*reading
	closed  bool
	// loose are answers that nobody seemed to wait for; back is when the store was back last.
	loose   []loose
	back    time.Duration
	returns int
}

// running is a call that runs here.
type running struct {
	r   *replica
	c   *request
	u   *call.Machines
	m   *call.Call
	x   *exchange
	run *backendRun
	// place is the last place that was acknowledged.
	place uint64
	// op numbers the operation on its way: a late reply to another is nobody's.
	op int
}

// exchange is a POST that is served here.
type exchange struct {
	r       *replica
	c       *request
	conn    *conn
	run     *running
	reply   *call.Reply
	record  *medium.Record
	random  uint32
	reading *reading
	// concluded: the record began with the last step.
	concluded bool
}

// reading is a reader of a log here.
type reading struct {
	r    *replica
	c    *request
	m    *call.Reader
	conn *conn
	tick int
	stop func()
	// since is when the stream was not there for the first time.
	since time.Duration
}

// The operations that write nothing of a call.
const (
	opBeat = 2
	opRead = 21
)

func (w *world) boot(slot int) *replica {
	w.next++
	r := &replica{w: w, id: w.next, slot: slot, alive: true, calls: map[string]*running{}, view: w.medium.Replica(medium.Hooks{})}
	if slot < len(w.replicas) {
		w.replicas[slot] = r
	} else {
		w.replicas = append(w.replicas, r)
	}
	r.beat()
	return r
}

// after does something later, if the incarnation still lives, and not while it is paused.
func (r *replica) after(d time.Duration, what uint64, do func()) {
	r.w.at(d, what<<8|uint64(r.id), func() { r.soon(what, do) }) // #nosec G115 -- small
}

func (r *replica) soon(what uint64, do func()) {
	switch {
	case !r.alive:
	case r.w.now < r.paused:
		r.after(r.paused-r.w.now, what, do)
	default:
		do()
	}
}

// op is an operation on the store. exec runs there, maybe late, twice or never; done is called
// here, with Unavailable when it is not known what came of it.
func (r *replica) op(what uint64, exec func() error, done func(call.Fault)) {
	w := r.w
	returns := r.returns
	if what != opBeat && what != opRead {
		// What was acknowledged while the store was away may be lost.
		reply := done
		done = func(f call.Fault) {
			reply(f)
			if f == call.NoFault && r.returns != returns && !w.bugs(trustsLateReplies) {
				r.after(0, 24, r.restoreAll)
			}
		}
	}
	lostRequest := w.loses() && w.maybe(4)
	lostReply := w.loses() && w.maybe(4)
	twice := w.loses() && w.maybe(4)
	if twice {
		w.at(w.delay()+w.delay()*4, what, func() { _ = exec() })
	}
	if lostRequest {
		r.after(opTimeout, what, func() { done(call.Unavailable) })
		return
	}
	w.at(w.delay(), what, func() {
		f := call.FaultOf(exec())
		if lostReply {
			r.after(opTimeout, what, func() { done(call.Unavailable) })
			return
		}
		r.after(w.delay(), what, func() { done(f) })
	})
}

// beat says that the replica lives, and takes over calls that nobody runs.
func (r *replica) beat() {
	if r.closed {
		return
	}
	r.after(heartbeat+r.w.delay(), 3, r.beat)
	var orphans []medium.Which
	r.op(opBeat, func() (err error) {
		orphans, err = r.view.Beat(context.Background(), 16, false)
		return err
	}, func(f call.Fault) {
		if f != call.NoFault {
			return
		}
		for _, o := range orphans {
			if r.calls[o.Call] == nil {
				o.Random = r.w.draw32()
				r.claim(o, call.ByLoss, 0)
			}
		}
	})
}

// claim claims a call and goes on with it. A reply that was lost is asked for again.
func (r *replica) claim(which medium.Which, why call.Why, tries int) {
	var rec *medium.Record
	done := false
	r.op(6, func() error {
		got, err := r.view.Claim(context.Background(), which)
		if err == nil && !done {
			rec = got.Record
		}
		return err
	}, func(f call.Fault) {
		done = true
		switch {
		case f == call.NoFault:
			r.resume(rec, why)
		case f == call.Unavailable && tries < 3:
			r.claim(which, why, tries+1)
		case why == call.ByCancel && f == call.Gone && tries < 3:
			// Whoever runs it has no record yet, or has by the time it hears of this.
			r.ring(which.Call)
			r.after(500*time.Millisecond, 25, func() { r.claim(which, call.ByCancel, 3) })
		}
	})
}

// cancel cancels a call by its record.
func (r *replica) cancel(id string) {
	r.claim(medium.Which{Session: theSession, Call: id, Random: r.w.draw32(), Cancel: true}, call.ByCancel, 0)
}

// notify tells the other replicas that a call was cancelled.
func (r *replica) ring(id string) {
	for _, o := range r.w.replicas {
		if x := o; x != r && !(r.w.lossy && r.w.maybe(2)) {
			x.after(r.w.delay(), 7, func() {
				if c := x.calls[id]; c != nil {
					c.cancel()
				}
			})
		}
	}
}

// resume runs a call that was claimed.
func (r *replica) resume(rec *medium.Record, why call.Why) {
	c := r.w.requestOf(rec.ID)
	if r.knowsLater(rec) {
		// The store has lost what this replica knows, and has it again soon.
		r.restoreAll()
		return
	}
	if old := r.calls[rec.ID]; old != nil {
		old.step(call.Event{Kind: call.Superseded, Why: why})
	}
	r.w.logf("r%d claims %s at %d/%x for %d, phase %d attempt %d", r.id, rec.ID, rec.Epoch.Counter(), uint32(rec.Epoch), why, rec.Phase, rec.Attempt)
	own := *rec
	rec = &own
	if why == call.ByLoss && r.w.bugs(unsafeRunsAgain) {
		rec.Repeatable = true
	}
	if r.w.bugs(forgetProgress) {
		rec.HasProgress = false
	}
	x := &running{r: r, c: c, u: new(call.Machines)}
	x.u.InitClaimed()
	x.m = x.u.Add(r.w.config, rec)
	r.calls[rec.ID] = x
	x.lifetime()
	x.step(call.Event{Kind: call.Claimed, Record: rec, Why: why, Late: r.w.now >= deadlineOf(rec)})
}

// knowsLater says whether this replica knows of a later owner of the call, of its end, or of steps
// of the same owner: a claim that is repeated after the store has lost it gives the same epoch.
func (r *replica) knowsLater(rec *medium.Record) bool {
	later := func(o *medium.Record) bool {
		return o.Phase == state.PhaseDone || o.Epoch >= rec.Epoch
	}
	if x := r.calls[rec.ID]; x != nil && x.m.Held() && later(x.m.Record()) {
		return true
	}
	k, ok := r.keeper.Of(rec.ID, r.w.now)
	return ok && later(k.Record)
}

// cancel gives the machine a cancellation that has found it. It may be over before that reaches it.
func (x *running) cancel() {
	x.r.after(x.r.w.delay(), 39, func() {
		if x.m.State() == call.Over && x.r.w.bugs(cancelsNothing) {
			return
		}
		x.step(call.Event{Kind: call.Cancelled})
	})
}

func (x *running) lifetime() {
	rec := x.m.Record()
	if d := deadlineOf(rec) - x.r.w.now; d > 0 {
		x.r.after(d, 8, func() { x.step(call.Event{Kind: call.Expired}) })
	}
}

// post serves a request.
func (r *replica) post(c *request, k *conn) {
	w := r.w
	rec := &medium.Record{Session: theSession, Stream: "st-" + c.id, Phase: state.PhaseDispatched}
	rec.ID, rec.Repeatable, rec.Round, rec.Attempt = c.id, c.safe, 1, 1
	rec.Deadline = epochOfTime.Add(w.now + lifetime)
	x := &exchange{r: r, c: c, conn: k, random: w.draw32()}
	k.exchange = x
	x.run = &running{r: r, c: c, u: new(call.Machines), x: x}
	x.run.u.InitExchange(1)
	x.run.m = x.run.u.Add(w.config, rec)
	r.calls[c.id] = x.run
	x.run.lifetime()
	x.run.step(call.Event{Kind: call.Started})
	r.after(time.Second, 9, func() { x.step(call.ExchangeEvent{Kind: call.OpenDue}) })
}

func (x *exchange) step(e call.ExchangeEvent) {
	if !x.r.alive {
		return
	}
	for _, f := range x.run.u.StepExchange(e, nil) {
		x.run.do(f)
	}
}

// do carries out an effect of the exchange; of a call none.
func (x *exchange) do(f call.Effect) {
	switch f.Kind {
	case call.Begin:
		x.begin(true, func(f call.Fault) {
			if f == call.NoFault {
				x.step(call.ExchangeEvent{Kind: call.HasBegun})
				return
			}
			x.step(call.ExchangeEvent{Kind: call.BeginFailed, Fault: f})
		})
	case call.Tidy:
		x.tidy(0)
	case call.Open:
		x.conn.primed = true
		x.reading = x.r.read(x.c, x.conn, medium.Position{})
	case call.Respond:
		x.conn.respond(x.reply.Response)
	case call.Accept:
	}
}

// begin has the record begun; and with it the call concluded, if it may be and has decided.
func (x *exchange) begin(conclude bool, done func(call.Fault)) {
	records := x.run.u.Records()
	if x.record == nil || x.r.w.bugs(beginsAnew) {
		rec := *x.run.m.Record()
		rec.Epoch = medium.Epoch(0).Next(x.random)
		x.record, records[0] = &rec, &rec
	}
	write := &medium.Write{Session: theSession, Stream: x.record.Stream, Begin: records}
	if last := x.run.u.Conclusion(x.record); conclude && last != nil {
		last.Begin = records
		write, x.concluded = last, true
	}
	x.r.op(11, func() error { return x.r.view.Commit(context.Background(), write) }, done)
}

// tidy ends what a Begin may have left.
func (x *exchange) tidy(tries int) {
	if x.r.w.bugs(untidy) || x.concluded {
		return
	}
	x.begin(false, func(f call.Fault) {
		switch {
		case f == call.Unavailable && tries < 20:
			x.r.after(time.Second, 12, func() { x.tidy(tries + 1) })
		case f == call.NoFault:
			rec := *x.record
			rec.Cancelled = true
			x.r.resume(&rec, call.ByCancel)
		}
	})
}

// step gives the machine an event.
func (x *running) step(e call.Event) {
	if !x.r.alive {
		return
	}
	before := x.m.State()
	effects := x.u.Step(0, e, nil)
	if x.r.w.tracing && (before != x.m.State() || e.Kind == call.Failed) {
		x.r.w.logf("r%d %s: event %d fault %d: state %d to %d", x.r.id, x.c.id, e.Kind, e.Fault, before, x.m.State())
	}
	for _, f := range effects {
		x.do(f)
	}
}

func (x *running) do(f call.Effect) {
	r, w := x.r, x.r.w
	switch f.Kind {
	case call.Run:
		x.run = w.backend(x, f.Record)
	case call.Stop:
		if x.run != nil {
			x.run.stopped = true
		}
	case call.Want, call.Forward:
	case call.Begin, call.Tidy, call.Open, call.Respond, call.Accept:
		x.x.do(f)
	case call.Decide:
		x.x.reply = f.Reply
	case call.Commit:
		x.commit(f.Write)
	case call.Restore:
		x.restore(f.Record, r.keeper.With(f.Record, f.Entries))
	case call.Draw:
		reply := *f.Reply
		reply.Asks = nil
		for _, a := range f.Reply.Asks {
			id := fmt.Sprintf("%s'%d", a.ID, w.draw32()%97)
			reply.Asks = append(reply.Asks, state.Ask{ID: id, Message: []byte(id)})
		}
		w.soon = append(w.soon, func() { x.step(call.Event{Kind: call.Drawn, Reply: &reply}) })
	case call.SetTimer:
		if f.Timer == call.TimerOpen {
			r.after(time.Second, 10, func() { x.x.step(call.ExchangeEvent{Kind: call.OpenDue}) })
			return
		}
		r.after(f.After, 13, func() { x.step(call.Event{Kind: call.Due, Timer: f.Timer}) })
	case call.Free, call.Dropped:
	case call.Keep:
		if !w.bugs(keepNothing) {
			r.keeper.Keep(f.Record, f.Entries, w.now)
		}
	case call.CancelByRecord:
		r.cancel(x.c.id)
	case call.OverHere:
		if x.run != nil {
			x.run.stopped = true
		}
		if r.calls[x.c.id] == x {
			delete(r.calls, x.c.id)
		}
	default:
		panic(fmt.Sprintf("effect %d of a call", f.Kind))
	}
}

func (x *running) commit(sent *medium.Write) {
	write := *sent
	w := x.r.w
	if x.x != nil && x.x.concluded {
		x.step(call.Event{Kind: call.Stored})
		return
	}
	x.op++
	op := x.op
	if write.Next == medium.NextDispatched && w.bugs(runBeforeMark) {
		// The backend is called though the record does not say so.
		x.r.op(14, func() error { return nil }, func(f call.Fault) { x.step(call.Event{Kind: call.Stored}) })
		return
	}
	if write.Next == medium.NextDone && w.bugs(twoResponses) && w.maybe(2) {
		write.Entries = append(write.Entries[:len(write.Entries):len(write.Entries)], write.Entries[len(write.Entries)-1:]...)
	}
	if len(write.Entries) > 1 && w.bugs(regroups) {
		// A part of the write is left for later.
		write.Seq++
		write.Entries = write.Entries[1:]
	}
	if w.bugs(placesAgain) && len(write.Entries) > 0 {
		write.Seq = max(x.place, x.m.Record().Last) + 1
	}
	x.r.op(15, func() error { return x.r.view.Commit(context.Background(), &write) }, func(f call.Fault) {
		if x.op != op {
			return
		}
		switch {
		case f == call.Unavailable && w.bugs(givesUpWrites):
			x.step(call.Event{Kind: call.Stored})
		case f == call.NoFault:
			x.place = max(x.place, write.Seq+uint64(len(write.Entries))-1)
			x.step(call.Event{Kind: call.Stored})
		case f == call.Rewound && w.bugs(ignoreRewound):
			x.step(call.Event{Kind: call.Stored})
		default:
			x.step(call.Event{Kind: call.Failed, Fault: f})
		}
	})
}

func (x *running) restore(rec *medium.Record, entries []medium.Entry) {
	w := x.r.w
	x.op++
	op := x.op
	w.logf("r%d restores %s at %d/%d with %d entries", x.r.id, x.c.id, rec.Epoch.Counter(), rec.N, len(entries))
	x.r.op(16, func() error {
		verdict, err := x.r.view.Restore(context.Background(), rec, entries, true)
		if err == nil && verdict == medium.Superseded {
			return state.ErrFenced
		}
		return err
	}, func(f call.Fault) {
		if x.op != op {
			return
		}
		if f == call.NoFault {
			x.step(call.Event{Kind: call.Stored})
			return
		}
		x.step(call.Event{Kind: call.Failed, Fault: f})
	})
}

// returning tells the replica that the store was away: all that it knows is restored.
func (r *replica) returning() {
	w := r.w
	if w.bugs(noNotice) {
		return
	}
	r.back = w.now
	r.returns++
	r.restoreAll()
}

// restoreAll restores all that the replica knows.
func (r *replica) restoreAll() {
	w := r.w
	for _, c := range w.requests { // in a fixed order
		if x := r.calls[c.id]; x != nil {
			x.step(call.Event{Kind: call.Returning})
		}
	}
	for _, l := range r.loose {
		l.until += keepFor
		if w.now < l.until {
			r.giveAgain(l)
		}
	}
	r.loose = nil
	for _, k := range r.keeper.Restore(w.now) {
		x := r.calls[k.Record.ID]
		if x != nil && x.m.Held() {
			if rec := x.m.Record(); rec.Epoch != k.Record.Epoch || rec.N >= k.Record.N {
				continue // Its machine restores it.
			}
		}
		r.restoreKept(k, 0)
	}
}

func (r *replica) restoreKept(k call.Known, tries int) {
	r.w.logf("r%d restores %s at %d/%d, phase %d, kept, with %d entries", r.id, k.Record.ID, k.Record.Epoch.Counter(), k.Record.N, k.Record.Phase, len(k.Entries))
	restored := false
	r.op(17, func() error {
		x := r.calls[k.Record.ID]
		verdict, err := r.view.Restore(context.Background(), k.Record, k.Entries, x != nil && x.m.Held() && x.m.Record().Epoch == k.Record.Epoch)
		restored = restored || verdict == medium.Restored
		return err
	}, func(f call.Fault) {
		if f == call.NoFault && restored { // What was written just now may be lost next.
			r.keeper.Keep(k.Record, k.Entries, r.w.now)
		}
		if f == call.Unavailable && tries < 10 {
			r.after(500*time.Millisecond, 18, func() { r.restoreKept(k, tries+1) })
		}
	})
}

// answer takes a client's answer; done is told whether it is safe.
func (r *replica) answer(c *request, ask string, a state.Answer, random uint32, done func(ok bool), tries int) {
	w := r.w
	var out state.AnswerStatus
	var rec *medium.Record
	told := false
	r.op(19, func() error {
		o, got, err := r.view.Answer(context.Background(), theSession, ask, a, random)
		if !told && err == nil {
			if out = o; got != nil {
				rec = got.Record
			}
		}
		return err
	}, func(f call.Fault) {
		told = true
		if f == call.Unavailable {
			w.logf("r%d does not know what came of the answer to %s", r.id, ask)
			if done != nil {
				done(false)
			}
			if tries != again && tries < 20 { // It may have been taken: the call may be this replica's.
				r.after(time.Second, 20, func() { r.answer(c, ask, a, random, nil, tries+1) })
			}
			return
		}
		if done != nil {
			done(true)
		}
		w.logf("r%d answers %s: outcome %d", r.id, ask, out)
		switch out {
		case state.AnswerUnknown:
			// Maybe what asked was lost, and is restored soon.
			l := loose{c: c, ask: ask, a: a, random: random, until: w.now + keepFor}
			if tries == again {
				return
			}
			if r.back > 0 && w.now-r.back < keepFor {
				r.giveAgain(l)
			} else {
				r.loose = append(r.loose, l)
			}
		case state.AnswerTaken:
			// A later step is another's to know.
			if !w.bugs(keepNothing) && (rec.Phase == state.PhaseWaiting || rec.Phase == state.PhaseReady && rec.N == 0) {
				r.keeper.Keep(rec, nil, w.now)
			}
		case state.AnswerCompleted:
			r.resume(rec, call.ByAnswer)
		}
	})
}

// loose is an answer that nobody seems to wait for.
type loose struct {
	c      *request
	ask    string
	a      state.Answer
	random uint32
	until  time.Duration
}

const keepFor = 10 * time.Second

// again says of an answer that it is given again anyway.
const again = -1

// giveAgain gives a loose answer again for a while.
func (r *replica) giveAgain(l loose) {
	if r.w.now >= l.until || r.w.bugs(answersForgotten) {
		return
	}
	r.after(time.Second, 23, func() {
		r.answer(l.c, l.ask, l.a, l.random, nil, again)
		r.giveAgain(l)
	})
}

// read makes a reader of a call's log for a connection.
func (r *replica) read(c *request, k *conn, after medium.Position) *reading {
	rd := &reading{r: r, c: c, m: call.NewReader(after), conn: k}
	r.readers = append(r.readers, rd)
	rd.stop = r.view.Follow(theSession, "st-"+c.id, func() {
		if !(r.w.loses() && r.w.maybe(2)) {
			r.after(delays[r.w.pick(4)]*time.Millisecond, 1, func() { rd.step(call.ReaderEvent{Kind: call.Woken}) })
		}
	})
	k.reading = rd
	rd.step(call.ReaderEvent{Kind: call.Opened})
	return rd
}

func (rd *reading) step(e call.ReaderEvent) {
	if !rd.r.alive || rd.m.State() == call.Left {
		return
	}
	for _, f := range rd.m.Step(&e, nil) {
		rd.do(f)
	}
	if rd.m.State() == call.Left {
		rd.leave()
	}
}

func (rd *reading) leave() {
	rd.stop()
	for i, o := range rd.r.readers {
		if o == rd {
			rd.r.readers = append(rd.r.readers[:i:i], rd.r.readers[i+1:]...)
			return
		}
	}
}

func (rd *reading) do(f call.Effect) {
	w := rd.r.w
	switch f.Kind {
	case call.Read:
		after := rd.m.Position()
		if w.bugs(readersForgetEpoch) {
			if rec, _, ok := w.medium.Call(rd.c.id); ok && after.Seq > 0 {
				after.Epoch = rec.Epoch
			}
		}
		var page medium.Page
		rd.r.op(opRead, func() (err error) {
			page, err = rd.r.view.Read(context.Background(), theSession, "st-"+rd.c.id, after, 0)
			return err
		}, func(f call.Fault) {
			if f == call.NoFault {
				rd.since = 0
				rd.step(call.ReaderEvent{Kind: call.HasPage, Page: page})
				return
			}
			if f == call.Gone && rd.wait() {
				f = call.Unavailable
			}
			rd.step(call.ReaderEvent{Kind: call.ReadFailed, Fault: f})
		})
	case call.Send:
		for i := range f.Entries {
			rd.conn.event(&f.Entries[i], !f.Unnumbered)
		}
	case call.EndStream:
		rd.conn.ended(rd.since > 0)
		if rd.conn.exchange != nil {
			x := rd.conn.exchange
			w.soon = append(w.soon, func() { x.step(call.ExchangeEvent{Kind: call.StreamEnded}) })
		}
	case call.SetTimer:
		rd.tick++
		tick := rd.tick
		rd.r.after(f.After, 22, func() {
			if rd.tick == tick {
				rd.step(call.ReaderEvent{Kind: call.Woken})
			}
		})
	}
}

// wait says whether a stream that is not there may come back.
func (rd *reading) wait() bool {
	if rd.since == 0 {
		rd.since = rd.r.w.now
	}
	return rd.r.w.now-rd.since < 10*time.Second
}

// stop ends the incarnation: at once, or in order.
func (r *replica) stop(inOrder bool) {
	w := r.w
	if inOrder {
		r.closed = true
		for _, c := range w.requests {
			if x := r.calls[c.id]; x != nil {
				x.step(call.Event{Kind: call.Closed})
			}
		}
		_, _ = r.view.Beat(context.Background(), 0, true)
	}
	w.soon = append(w.soon, func() {
		r.alive = false
		for _, rd := range r.readers {
			rd.stop()
		}
		for _, c := range w.requests {
			if c.conn != nil && c.conn.r == r {
				c.conn.broken()
			}
		}
	})
}
