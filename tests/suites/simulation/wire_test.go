package simulation

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest/model"
)

// The kinds of arrivals and of what follows from them, which order those of one instant.
const (
	opCommit uint64 = iota + 1
	opRestore
	opClaim
	opAnswer
	opBeat
	opRead
	opNotify
	opWake
	opTouch
	opDelete
	opCreate
	opLoad
	opAsking
	opOf
	opSummaries
	opList
	backendRuns
	backendEnds
	backendSends
	backendAsks
	backendCancels
	clientGets
	callEnds
	replicaEnds
	answerEnds
	clientDeletes
	taskSends
	taskReplies
)

// wire is the network between a replica and the store. It delays operations and replies, loses some and repeats some operations. It
// ends with the replica. Bugs of replicas are planted here, in what they say and hear.
type wire struct {
	medium.Store
	view *model.Replica
	r    *replica
	// The following belong to the world's goroutine.

	// bits are the random bits of claims by those that the replica drew, in an order that depends on its goroutines.
	bits map[uint32]uint32
	// unknown are the tokens of answers to unknown questions.
	unknown map[string]bool
	// begun are the records that were sent, by their ids.
	begun map[string]medium.Epoch
	// placed are the places that were acknowledged, by epochs.
	placed map[medium.Epoch]uint64
}

func newWire(r *replica, hooks medium.Hooks) *wire {
	view := r.w.medium.Replica(hooks)
	return &wire{
		Store: view, view: view, r: r,
		bits: map[uint32]uint32{}, unknown: map[string]bool{}, begun: map[string]medium.Epoch{}, placed: map[medium.Epoch]uint64{},
	}
}

// ask sends an operation to the store and waits for the reply. exec runs there, maybe late, twice or never.
func ask[T any](ctx context.Context, x *wire, a arrival, exec func() (T, error)) (T, error) {
	type reply struct {
		said T
		err  error
	}
	replied := make(chan reply, 1)
	var first *reply
	a.do = func() {
		x.r.route(a.what, func() {
			writes := x.r.w.medium.Writes()
			if said, err := exec(); first == nil {
				first = &reply{said, err}
			}
			if now := x.r.w.medium.Writes(); now > writes {
				x.r.wrote = now
			}
		}, func(lost bool) {
			if lost {
				replied <- reply{err: state.ErrUnavailable}
				return
			}
			replied <- *first
		})
	}
	x.r.arrive(a)
	select {
	case got := <-replied:
		return got.said, got.err
	case <-ctx.Done():
		return reply{}.said, ctx.Err()
	case <-x.r.down:
		return reply{}.said, state.ErrUnavailable
	}
}

// route is the way of an operation to the store and of its reply to the replica. done says whether one of them was lost.
func (r *replica) route(what uint64, exec func(), done func(lost bool)) {
	w := r.w
	if w.now < r.paused { // It is sent when the replica goes on.
		r.after(r.paused-w.now, what, func() { r.route(what, exec, done) })
		return
	}
	lostRequest := w.loses() && w.maybe(4)
	lostReply := w.loses() && w.maybe(4)
	if w.loses() && w.maybe(4) {
		w.at(w.delay()+w.delay()*4, what, exec)
	}
	if lostRequest {
		r.after(opTimeout, what, func() { done(true) })
		return
	}
	w.at(w.delay(), what, func() {
		exec()
		if lostReply {
			r.after(opTimeout, what, func() { done(true) })
			return
		}
		r.after(w.delay(), what, func() { done(false) })
	})
}

// nothing is the reply of operations without one.
type nothing = struct{}

// Commit implements medium.Calls.
func (x *wire) Commit(ctx context.Context, sent *medium.Write) error {
	a := arrival{what: opCommit, name: sent.Call, n: uint64(sent.Epoch), m: sent.N}
	if sent.Call == "" {
		a.name, a.n = sent.Begin[0].ID, uint64(sent.Begin[0].Epoch)
	}
	var write *medium.Write
	_, err := ask(ctx, x, a, func() (_ nothing, err error) {
		if write == nil {
			write = x.spoilt(sent)
		}
		if write.Next == medium.NextDispatched && x.r.w.bugs(runBeforeMark) {
			return nothing{}, nil // The backend is called though the record does not say so.
		}
		if len(write.Begin) > 0 && x.r.w.bugs(taskUnwritten) {
			return nothing{}, nil
		}
		err = x.view.Commit(context.Background(), write)
		x.r.w.logf("r%d writes %s at %d.%d, step %d, %d records begin: %v", x.r.id, a.name, write.Epoch.Counter(), write.N, write.Next, len(write.Begin), err)
		if write.Next == medium.NextDone && (err == nil || errors.Is(err, state.ErrFenced)) {
			x.r.w.judge.sentEnd(x.r, write.Call, write.Epoch)
		}
		if err == nil && len(write.Entries) > 0 {
			x.placed[write.Epoch] = max(x.placed[write.Epoch], write.Seq+uint64(len(write.Entries))-1)
		}
		if k := x.r.w.taskIn(sent.Session); k != nil && err == nil && write.Next == medium.NextDispatched && x.r.w.bugs(jobLeftBehind) {
			k.cancel() // It is rare that a client does so before the reply.
		}
		return nothing{}, err
	})
	return x.heard(sent, err)
}

// Restore implements medium.Calls.
func (x *wire) Restore(ctx context.Context, rec *medium.Record, entries []medium.Entry, runs bool) (medium.Verdict, error) {
	a := arrival{what: opRestore, name: rec.ID, n: uint64(rec.Epoch), m: rec.N << 1}
	if runs {
		a.m++
	}
	return ask(ctx, x, a, func() (medium.Verdict, error) {
		w := x.r.w
		if w.bugs(keepNothing) && !runs || w.bugs(trustsLateReplies) && w.now-x.r.back > time.Second {
			return medium.AlreadyStored, nil
		}
		v, err := x.view.Restore(context.Background(), rec, entries, runs)
		w.logf("r%d restores %s at %d/%d, phase %d, with %d entries: verdict %d, %v", x.r.id, rec.ID, rec.Epoch.Counter(), rec.N, rec.Phase, len(entries), v, err)
		if err == nil && rec.Phase == state.PhaseDone {
			w.judge.sentEnd(x.r, rec.ID, rec.Epoch)
		}
		return v, err
	})
}

// drawn returns the bits of a claim: the same for all repetitions.
func (x *wire) drawn(bits uint32) uint32 {
	if _, ok := x.bits[bits]; !ok {
		x.bits[bits] = x.r.w.draw32()
	}
	return x.bits[bits]
}

// Claim implements medium.Calls.
func (x *wire) Claim(ctx context.Context, which medium.ClaimTarget) (*medium.Owned, error) {
	a := arrival{what: opClaim, name: which.Call + " " + which.RequestID, n: uint64(which.Epoch)}
	return ask(ctx, x, a, func() (*medium.Owned, error) {
		if which.Cancel && (which.Call != "" && x.r.w.bugs(cancelsNothing) || x.r.w.bugs(cancelLost)) {
			return nil, state.ErrFenced
		}
		own := which
		own.Random = x.drawn(which.Random)
		o, err := x.view.Claim(context.Background(), own)
		if err == nil {
			r := o.Record
			x.r.w.logf("r%d claims %s at %d/%x, cancel %v, phase %d attempt %d", x.r.id, r.ID, r.Epoch.Counter(), r.Epoch.Random(), which.Cancel, r.Phase, r.Attempt)
			x.believed(r, !which.Cancel)
			if c := x.r.w.requestOf(r.ID); which.Cancel && c != nil {
				c.canceller, c.claimed = x.r, x.r.w.now
			}
			if k := x.r.w.taskIn(r.Session); which.Cancel && k != nil {
				k.jobs.claimed = x.r
			}
			if which.Cancel && x.r.w.bugs(jobLeft) {
				r.State = nil
			}
		}
		return o, err
	})
}

// Answer implements medium.Calls.
func (x *wire) Answer(ctx context.Context, session, asked string, a state.Answer, random uint32) (state.AnswerStatus, *medium.Owned, error) {
	type answered struct {
		out state.AnswerStatus
		o   *medium.Owned
	}
	got, err := ask(ctx, x, arrival{what: opAnswer, name: asked + " " + a.Token}, func() (answered, error) {
		w := x.r.w
		if (w.bugs(answersForgotten) || w.bugs(taskAnswersForgotten)) && x.unknown[a.Token] || w.bugs(taskAnswerLost) {
			return answered{out: state.AnswerUnknown}, nil
		}
		if w.bugs(approvalLost) && verdictIn(a.Result) != "" {
			rec, err := x.view.Asking(context.Background(), session, asked)
			if err == nil && rec == nil {
				return answered{out: state.AnswerUnknown}, nil
			}
			return answered{state.AnswerTaken, &medium.Owned{Record: rec}}, err
		}
		if w.bugs(memberAnsweredForAnother) {
			asked = w.misdirected(asked)
		}
		out, o, err := x.view.Answer(context.Background(), session, asked, a, x.drawn(random))
		x.unknown[a.Token] = err == nil && out == state.AnswerUnknown
		if out == state.AnswerCompleted && err == nil {
			x.believed(o.Record, false)
		}
		if w.bugs(approvalTwice) && verdictIn(a.Result) != "" && err == nil && o == nil {
			rec, _, _ := w.medium.Call(session)
			out, o = state.AnswerTaken, &medium.Owned{Record: &rec}
		}
		w.logf("r%d answers %s: outcome %d, %v", x.r.id, asked, out, err)
		return answered{out, o}, err
	})
	return got.out, got.o, err
}

// Beat implements medium.Replicas.
func (x *wire) Beat(ctx context.Context, most int, leaving bool) ([]medium.ClaimTarget, error) {
	a := arrival{what: opBeat, n: uint64(most)} // #nosec G115 -- not negative
	return ask(ctx, x, a, func() ([]medium.ClaimTarget, error) {
		lost, err := x.view.Beat(context.Background(), most, leaving)
		if x.r.w.bugs(memberLost) {
			lost = slices.DeleteFunc(lost, func(o medium.ClaimTarget) bool {
				rec, _, _ := x.r.w.medium.Call(o.Call)
				return rec.Batch > 0
			})
		}
		return lost, err
	})
}

// Notify implements medium.Replicas: the others handle the event later, or never.
func (x *wire) Notify(ctx context.Context, e state.SessionEvent) error {
	_, err := ask(ctx, x, arrival{what: opNotify, name: e.Session + e.RequestID, n: uint64(e.Kind)}, func() (nothing, error) {
		return nothing{}, x.view.Notify(context.Background(), e)
	})
	return err
}

// Touch implements medium.Sessions.
func (x *wire) Touch(ctx context.Context, ids []string, use bool) (map[string]uint64, error) {
	return ask(ctx, x, arrival{what: opTouch}, func() (map[string]uint64, error) { return x.view.Touch(context.Background(), ids, use) })
}

// Delete implements medium.Sessions.
func (x *wire) Delete(ctx context.Context, id string) error {
	_, err := ask(ctx, x, arrival{what: opDelete, name: id}, func() (nothing, error) { return nothing{}, x.view.Delete(context.Background(), id) })
	return err
}

// read reads a log for a connection.
func (x *wire) read(ctx context.Context, k *conn, stream string, after medium.Position) (medium.Page, error) {
	return ask(ctx, x, arrival{what: opRead, name: stream, n: k.number}, func() (medium.Page, error) {
		w, from := x.r.w, after
		if w.bugs(readersForgetEpoch) && from.Seq > 0 {
			if rec, _, ok := w.medium.Call(k.x.calls[0].id); ok {
				from.Epoch = rec.Epoch
			}
		}
		k.heardOf = x.r.back > w.rewound
		return x.view.Read(context.Background(), k.x.session, stream, from, 0)
	})
}

// Create implements medium.Sessions.
func (x *wire) Create(ctx context.Context, s *state.Session) error {
	_, err := ask(ctx, x, arrival{what: opCreate, name: s.ID}, func() (nothing, error) {
		return nothing{}, x.view.Create(context.Background(), s)
	})
	return err
}

// Load implements medium.Sessions.
func (x *wire) Load(ctx context.Context, id string, use bool) (*state.SessionInfo, error) {
	return ask(ctx, x, arrival{what: opLoad, name: id, n: callerOf(ctx)}, func() (*state.SessionInfo, error) {
		return x.view.Load(context.Background(), id, use)
	})
}

// Read implements medium.Logs.
func (x *wire) Read(ctx context.Context, session, stream string, after medium.Position, most int) (medium.Page, error) {
	return ask(ctx, x, arrival{what: opRead, name: session, n: callerOf(ctx)}, func() (medium.Page, error) {
		page, err := x.view.Read(context.Background(), session, stream, after, most)
		if rec, _, _ := x.r.w.medium.Call(session); x.r.w.bugs(taskCancelBeforeEnd) {
			page.Ended = page.Ended || rec.Cancelled
		}
		return page, err
	})
}

// Asking implements medium.Calls.
func (x *wire) Asking(ctx context.Context, session, asked string) (*medium.Record, error) {
	return ask(ctx, x, arrival{what: opAsking, name: session + asked, n: callerOf(ctx)}, func() (*medium.Record, error) {
		return x.view.Asking(context.Background(), session, asked)
	})
}

// Of implements medium.Replicas.
func (x *wire) Of(ctx context.Context, owner mcp.Principal) ([]string, error) {
	return ask(ctx, x, arrival{what: opOf, n: callerOf(ctx)}, func() ([]string, error) {
		ids, err := x.view.Of(context.Background(), owner)
		if x.r.w.bugs(listForgets) && len(ids) > 1 {
			slices.Sort(ids)
			ids = ids[1:]
		}
		return ids, err
	})
}

// List implements medium.Replicas.
func (x *wire) List(ctx context.Context, cursor string, most int) ([]*state.SessionInfo, string, error) {
	type listed struct {
		page []*state.SessionInfo
		next string
	}
	got, err := ask(ctx, x, arrival{what: opList, n: callerOf(ctx)}, func() (listed, error) {
		page, next, err := x.view.List(context.Background(), cursor, most)
		return listed{page, next}, err
	})
	return got.page, got.next, err
}

// Summaries implements medium.Logs.
func (x *wire) Summaries(ctx context.Context, sessions []string, stream string) ([]*medium.Summary, error) {
	return ask(ctx, x, arrival{what: opSummaries, n: callerOf(ctx)}, func() ([]*medium.Summary, error) {
		return x.view.Summaries(context.Background(), sessions, stream)
	})
}

// Follow implements medium.Logs: wake-ups are late, and some are lost.
func (x *wire) Follow(session, stream string, wake func()) (stop func()) {
	w := x.r.w
	return x.view.Follow(session, stream, func() {
		if !(w.loses() && w.maybe(2)) {
			x.r.after(delays[w.pick(4)]*time.Millisecond, opWake, wake)
		}
	})
}
