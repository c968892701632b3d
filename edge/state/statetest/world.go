package statetest

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// patience bounds the wait for a condition.
const patience = time.Minute

// first is the epoch under which tests begin their calls.
const first = medium.Epoch(1<<32 | 1)

// world is two replicas on one medium.
type world struct {
	*testing.T
	m    Medium
	a, b *replica
	seal int // of Sealing
	// short is what short is in the test's limits.
	short time.Duration
}

// data returns data that counts n bytes in a log, or as a state.
func (w *world) data(c string, n int) []byte { return []byte(strings.Repeat(c, n-w.seal)) }

// replica is a medium as seen by one replica, with test helpers.
type replica struct {
	medium.Store
	onEvent atomic.Pointer[func(state.SessionEvent)]
}

func (w *world) replica(id string) *replica {
	r := &replica{}
	r.Store = w.m.Store(w.T, id, medium.Hooks{Event: func(b state.SessionEvent) {
		if fn := r.onEvent.Load(); fn != nil {
			(*fn)(b)
		}
	}})
	return r
}

// Answering sets the handler of the replica's session events.
func (r *replica) Answering(fn func(state.SessionEvent)) { r.onEvent.Store(&fn) }

func (r *replica) Load(ctx context.Context, id string) (*state.Session, error) {
	s, err := r.Store.Load(ctx, id, true)
	if err != nil {
		return nil, err
	}
	return s.Session, nil
}

func (r *replica) Look(ctx context.Context, id string) (*state.SessionInfo, error) {
	return r.Store.Load(ctx, id, false)
}

func (r *replica) Touch(ctx context.Context, ids []string) (map[string]uint64, error) {
	return r.Store.Touch(ctx, ids, true)
}

func (r *replica) Serials(ctx context.Context, ids []string) (map[string]uint64, error) {
	return r.Store.Touch(ctx, ids, false)
}

func (r *replica) Beat(ctx context.Context) error {
	_, err := r.Store.Beat(ctx, 0, false)
	return err
}

func (r *replica) Leave(ctx context.Context) error {
	_, err := r.Store.Beat(ctx, 0, true)
	return err
}

func (r *replica) Orphans(ctx context.Context, most int) ([]medium.ClaimTarget, error) {
	return r.Store.Beat(ctx, most, false)
}

// Follow sends a token for each wake-up unless one is waiting.
func (r *replica) Follow(session, stream string) (<-chan struct{}, func()) {
	token := make(chan struct{}, 1)
	return token, r.Store.Follow(session, stream, func() {
		select {
		case token <- struct{}{}:
		default:
		}
	})
}

// at is a position in the log of a stream.
type at struct {
	Stream string
	Epoch  medium.Epoch
	Seq    uint64
}

func (r *replica) Read(ctx context.Context, session string, after at, most int) (medium.Page, error) {
	return r.Store.Read(ctx, session, after.Stream, medium.Position{Epoch: after.Epoch, Seq: after.Seq}, most)
}

// Answer draws a token if there is none. The medium draws the random bits of the next epoch.
func (r *replica) Answer(ctx context.Context, session, ask string, a state.Answer) (state.AnswerStatus, *medium.Record, error) {
	if a.Token == "" {
		a.Token = fmt.Sprint(rand.Uint64()) // #nosec G404 -- a test
	}
	out, o, err := r.Store.Answer(ctx, session, ask, a, crc32.ChecksumIEEE([]byte(a.Token)))
	return out, recordOf(o), err
}

// Claim draws the random bits of the next epoch if there are none.
func (r *replica) Claim(ctx context.Context, w medium.ClaimTarget) (*medium.Record, error) {
	if w.Random == 0 {
		w.Random = rand.Uint32() // #nosec G404 -- a test
	}
	o, err := r.Store.Claim(ctx, w)
	return recordOf(o), err
}

// Begin begins calls on one stream.
func (r *replica) Begin(ctx context.Context, session, stream string, calls []state.Request) ([]*medium.Record, error) {
	w := &medium.Write{Session: session, Stream: stream, Begin: recordsOf(session, stream, calls)}
	return w.Begin, r.Commit(ctx, w)
}

// Conclude begins a call and ends it in one step.
func (r *replica) Conclude(ctx context.Context, session, stream string, c state.Request, response []byte, before ...state.Entry) error {
	return r.Commit(ctx, &medium.Write{
		Session: session, Stream: stream, Begin: recordsOf(session, stream, []state.Request{c}),
		Call: c.ID, Epoch: first, N: 1, Seq: 1, Next: medium.NextDone, Entries: ending(before, response),
	})
}

// Append makes a step of entries.
func (r *replica) Append(ctx context.Context, s step, entries ...state.Entry) error {
	s.Entries = entries
	return r.make(ctx, s)
}

// Park makes a step that asks, or, without asks, one that begins the next round.
func (r *replica) Park(ctx context.Context, s step, asks []state.Ask, kept []byte) error {
	s.Next, s.Asks, s.State = medium.NextWaiting, asks, kept
	if len(asks) == 0 {
		s.Next, s.Round = medium.NextReady, s.x.rec.Round+1
	}
	for _, a := range asks {
		s.Entries = append(s.Entries, state.Entry{Kind: state.EntryRequest, Data: a.Message})
	}
	return r.make(ctx, s)
}

// Finish makes the last step.
func (r *replica) Finish(ctx context.Context, s step, response []byte, before ...state.Entry) error {
	s.Next, s.Entries = medium.NextDone, ending(before, response)
	return r.make(ctx, s)
}

func (r *replica) make(ctx context.Context, s step) error {
	err := r.Commit(ctx, &s.Write)
	if err == nil && s.N > s.x.rec.N {
		s.x.rec.Apply(&s.Write)
		s.x.entries = append(s.x.entries, s.Placed()...)
	}
	return err
}

// must fails the test at once after an error.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// want fails the test unless err is of a kind.
func (w *world) want(kind, err error) {
	w.Helper()
	if !errors.Is(err, kind) {
		w.Fatalf("got error %v, want %v", err, kind)
	}
}

// rewound fails the test unless err reports lost writes, and the medium's state instead.
func (w *world) rewound(err error, epoch medium.Epoch, n uint64) {
	w.Helper()
	var got *medium.RewoundError
	if !errors.As(err, &got) || got.Epoch != epoch || got.N != n {
		w.Fatalf("got error %v, want one that reports lost writes, and of epoch %d, step %d", err, epoch, n)
	}
}

// session makes a session through a replica.
func (w *world) session(s *replica, id string) *state.Session {
	w.Helper()
	rec := record(id)
	w.must(s.Create(w.Context(), rec))
	return rec
}

// begin begins calls on one stream and returns their writers.
func (w *world) begin(s *replica, session, stream string, ids ...string) []*writer {
	w.Helper()
	var calls []state.Request
	for _, id := range ids {
		calls = append(calls, callOf(id))
	}
	records, err := s.Begin(w.Context(), session, stream, calls)
	w.must(err)
	var out []*writer
	for _, rec := range records {
		out = append(out, w.under(s, rec))
	}
	return out
}

// writer writes under one lease, with the knowledge of its replica.
type writer struct {
	w       *world
	s       *replica
	rec     medium.Record
	entries []medium.Entry
	n       uint64
}

// step is a write of a writer.
type step struct {
	medium.Write
	x *writer
}

// under makes the writer of a call that the replica owns.
func (w *world) under(s *replica, r *medium.Record) *writer {
	return &writer{w: w, s: s, rec: *r, n: r.N}
}

func (r *writer) next() step {
	r.n++
	return r.same()
}

// same returns a write with the number of the last one.
func (r *writer) same() step {
	rec := &r.rec
	return step{medium.Write{
		Session: rec.Session, Stream: rec.Stream, Call: rec.ID, Epoch: rec.Epoch, N: r.n, After: min(rec.N, r.n-1), Seq: rec.Last + 1,
	}, r}
}

func (r *writer) append(entries ...state.Entry) {
	r.w.Helper()
	r.w.must(r.s.Append(r.w.Context(), r.next(), entries...))
}

func (r *writer) park(asks ...string) {
	r.w.Helper()
	r.w.must(r.s.Park(r.w.Context(), r.next(), asksOf(asks...), []byte("state")))
}

func (r *writer) finish() {
	r.w.Helper()
	r.w.must(r.s.Finish(r.w.Context(), r.next(), response(r.rec.ID)))
}

// restore restores what the writer knows.
func (r *writer) restore(runs bool) medium.Verdict {
	r.w.Helper()
	rec := r.rec
	v, err := r.s.Restore(r.w.Context(), &rec, r.entries, runs)
	r.w.must(err)
	return v
}

// which names the call at the writer's epoch.
func (r *writer) which() medium.ClaimTarget {
	return medium.ClaimTarget{Session: r.rec.Session, Call: r.rec.ID, Epoch: r.rec.Epoch}
}

// request names the call by its client's request id.
func (r *writer) request() medium.ClaimTarget {
	return medium.ClaimTarget{Session: r.rec.Session, RequestID: `"` + r.rec.ID + `"`}
}

// claim takes a call over for a replica.
func (w *world) claim(s *replica, which medium.ClaimTarget) (*medium.Record, *writer) {
	w.Helper()
	c, err := s.Claim(w.Context(), which)
	w.must(err)
	return c, w.under(s, c)
}

// read pages through a log from a position to its end, and checks the order.
func (w *world) read(s *replica, session string, after at, page int) ([]medium.Entry, medium.Page) {
	w.Helper()
	var all []medium.Entry
	for {
		p, err := s.Read(w.Context(), session, after, page)
		w.must(err)
		if page > 0 && len(p.Entries) > page {
			w.Fatalf("a page of %d entries, at most %d were asked for", len(p.Entries), page)
		}
		for _, e := range p.Entries {
			if before := (medium.Position{Epoch: after.Epoch, Seq: after.Seq}); before != (medium.Position{}) && !before.Before(e.Position()) {
				w.Fatalf("entry %+v behind %+v", e.Position(), before)
			}
			after.Epoch, after.Seq = e.Epoch, e.Seq
		}
		all = append(all, p.Entries...)
		if len(p.Entries) == 0 || p.Ended || p.Ahead {
			return all, p
		}
	}
}

// all reads a whole stream as text.
func (w *world) all(s *replica, session, stream string) ([]string, medium.Page) {
	w.Helper()
	entries, last := w.read(s, session, at{Stream: stream}, 0)
	return texts(entries), last
}

// orphan waits until a replica sees the call as an orphan.
func (w *world) orphan(s *replica, call string) medium.ClaimTarget {
	w.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if o, ok := w.isOrphan(s, call); ok {
			return o
		}
		if time.Now().After(end) {
			w.Fatalf("call %s is no orphan after %v", call, patience)
		}
	}
}

// isOrphan looks a call up among the orphans of a replica, which thereby sends a heartbeat.
func (w *world) isOrphan(s *replica, call string) (medium.ClaimTarget, bool) {
	w.Helper()
	list, err := s.Orphans(w.Context(), 1000)
	w.must(err)
	for _, o := range list {
		if o.Call == call {
			return o, true
		}
	}
	return medium.ClaimTarget{}, false
}

// equate compares the types whose values have no exported fields.
var equate = cmpopts.EquateComparable(netip.Addr{})
