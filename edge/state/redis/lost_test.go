package redis_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/redis"
)

// lossy is a replica whose connection can lose replies, and what tests do with it.
type lossy struct {
	*testing.T
	p *proxy
	r *redis.Replica
	c *goredis.Client // another way to the same Redis
}

// startLossy starts a replica whose client sends a command again so often.
func startLossy(t *testing.T, retries int) *lossy {
	addr := startServer(t)
	p := startProxy(t, addr)
	c := goredis.NewClient(&goredis.Options{Addr: p.addr, MaxRetries: retries, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	l := &lossy{T: t, p: p, r: start(t, c, redis.Options{}), c: connect(t, addr)}
	// The scripts are known from now on: what is lost is their reply, not a question for their source.
	leases, stop := use(t, l.r, "warm")
	stop()
	l.answer("warm", "q", "")
	_, err := l.r.Claim(t.Context(), state.Which{Session: "warm", Call: "runs", Epoch: leases[1].Epoch})
	must(t, err)
	_, err = l.r.Update(t.Context(), "warm", state.Patch{Attach: true})
	must(t, err)
	must(t, l.r.Delete(t.Context(), "warm"))
	return l
}

// losing loses the reply to a script once, while do runs.
func (l *lossy) losing(script string, do func() error) {
	l.Helper()
	l.p.lose(redis.Digest(script), 1)
	if err := do(); err != nil {
		l.Fatalf("%s: %v", script, err)
	}
	if l.p.losses() != 1 {
		l.Fatalf("%d replies to %s were lost, want 1", l.p.losses(), script)
	}
}

func (l *lossy) answer(session, ask, token string) (state.AnswerOutcome, *state.Claim) {
	l.Helper()
	out, c, err := l.r.Answer(l.Context(), session, ask, state.Answer{Result: []byte(`{}`), Token: token})
	must(l.T, err)
	return out, c
}

// What the client library sends again after a lost reply happens once.
func TestLostRepliesSentAgainByTheClient(t *testing.T) {
	t.Parallel()
	l := startLossy(t, 0) // the default: three times
	ctx, r := t.Context(), l.r
	l.losing("create", func() error { return r.Create(ctx, record("s")) })
	var leases []state.Lease
	l.losing("begin", func() (err error) {
		leases, err = r.Begin(ctx, "s", "st", []state.Call{call("c"), call("other")})
		return err
	})
	x, other := state.Write{Lease: leases[0]}, state.Write{Lease: leases[1]}
	write := func(w *state.Write) state.Write { w.N++; return *w }
	l.losing("append", func() error {
		return r.Append(ctx, write(&x), state.Entry{Kind: state.EntryNotice, Data: []byte(`1`)})
	})
	l.losing("park", func() error {
		return r.Park(ctx, write(&x), []state.Ask{{ID: "q1", Message: []byte(`2`)}, {ID: "q2", Message: []byte(`3`)}}, nil)
	})
	l.losing("answer", func() error {
		if out, _ := l.answer("s", "q1", ""); out != state.AnswerTaken {
			return fmt.Errorf("outcome %d of the first answer, want taken", out)
		}
		return nil
	})
	var claim *state.Claim
	l.losing("answer", func() error {
		var out state.AnswerOutcome
		if out, claim = l.answer("s", "q2", ""); out != state.AnswerCompleted {
			return fmt.Errorf("outcome %d of the last answer, want completed", out)
		}
		return nil
	})
	if state.EpochCounter(claim.Lease.Epoch) != 1 || len(claim.Answers) != 2 {
		t.Errorf("claimed %+v, want the second epoch with both answers", claim)
	}
	x = state.Write{Lease: claim.Lease}
	l.losing("finish", func() error { return r.Finish(ctx, write(&x), []byte(`4`)) })
	l.losing("claim", func() (err error) {
		claim, err = r.Claim(ctx, state.Which{Session: "s", RequestID: `"other"`})
		return err
	})
	want(t, state.ErrFenced, r.Append(ctx, write(&other)))
	other = state.Write{Lease: claim.Lease}
	if state.EpochCounter(claim.Lease.Epoch) != 1 || claim.Call.Attempt != 2 {
		t.Errorf("claimed %+v, want the second epoch and attempt 2", claim)
	}
	l.losing("finish", func() error { return r.Finish(ctx, write(&other), []byte(`5`)) })
	p, err := r.Read(ctx, "s", state.Position{Stream: "st"}, 0)
	must(t, err)
	var got string
	for _, e := range p.Entries {
		got += string(e.Data)
	}
	if got != "12345" || !p.Ended || streamsIndexed(t, l.c) != 0 {
		t.Errorf("the log is %s, ended %v, with %d streams in the index", got, p.Ended, streamsIndexed(t, l.c))
	}
	l.losing("update", func() error {
		s, err := r.Update(ctx, "s", state.Patch{Attach: true, Token: "t"})
		if err == nil && s.Attachment != 1 {
			err = fmt.Errorf("attachment %d, want 1", s.Attachment)
		}
		return err
	})
	l.losing("delete", func() error { return r.Delete(ctx, "s") })
}

// What a caller does again after an error, with the same token, gives what the first attempt did.
func TestLostRepliesSentAgainByTheCaller(t *testing.T) {
	t.Parallel()
	l := startLossy(t, -1)
	ctx, r := t.Context(), l.r
	leases, stop := use(t, r, "s")
	defer stop()
	fails := func(do func() error) func() error {
		return func() error {
			if err := do(); err == nil {
				return fmt.Errorf("no error, though the reply was lost")
			}
			return nil
		}
	}
	given := state.Answer{Result: []byte(`{}`), Token: "t1"}
	l.losing("answer", fails(func() error { _, _, err := r.Answer(ctx, "s", "q", given); return err }))
	out, first := l.answer("s", "q", "t1")
	if out != state.AnswerCompleted || state.EpochCounter(first.Lease.Epoch) != 1 {
		t.Fatalf("outcome %d, claim %+v, want completed at the second epoch", out, first)
	}
	which := state.Which{Session: "s", Call: "runs", Epoch: leases[1].Epoch, Token: "t2"}
	l.losing("claim", fails(func() error { _, err := r.Claim(ctx, which); return err }))
	second, err := r.Claim(ctx, which)
	must(t, err)
	if d := cmp.Diff(state.Lease{Session: "s", Stream: "runs", Call: "runs", Epoch: second.Lease.Epoch}, second.Lease); d != "" {
		t.Errorf("the lease (-want +got):\n%s", d)
	}
	w := state.Write{Lease: second.Lease, N: 1}
	l.losing("finish", fails(func() error { return r.Finish(ctx, w, []byte(`{}`)) }))
	must(t, r.Finish(ctx, w, []byte(`{}`)))
	if n := streamsIndexed(t, l.c); n != 1 {
		t.Errorf("%d streams are indexed, want the one that waited", n)
	}
	patch := state.Patch{Attach: true, Token: "t3"}
	l.losing("update", fails(func() error { _, err := r.Update(ctx, "s", patch); return err }))
	s, err := r.Update(ctx, "s", patch)
	must(t, err)
	if s.Attachment != 1 {
		t.Errorf("attachment %d, want 1", s.Attachment)
	}
	l.losing("delete", fails(func() error { return r.Delete(ctx, "s") }))
	must(t, r.Delete(ctx, "s"))
}
