package redis_test

import (
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
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
	// The scripts are known from now on: what is lost is their reply, not a question for their
	// source.
	ctx := t.Context()
	calls, stop := use(t, l.r, "warm")
	stop()
	l.answer("warm", "q", "")
	_, err := statetest.Claim(ctx, l.r, calls[1].ClaimTarget())
	must(t, err)
	back := calls[1].Record
	back.ID, back.Stream = "new", "new"
	_, err = l.r.Restore(ctx, &back, nil, true)
	must(t, err)
	_, err = l.r.Update(ctx, "warm", state.Patch{Attach: true})
	must(t, err)
	must(t, l.r.Delete(ctx, "warm"))
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

func (l *lossy) answer(session, ask, token string) (state.AnswerStatus, *statetest.Writer) {
	l.Helper()
	out, o, err := l.r.Answer(l.Context(), session, ask, state.Answer{Result: []byte(`{}`), Token: token}, 7)
	must(l.T, err)
	if o == nil {
		return out, nil
	}
	return out, statetest.Own(l.r, o.Record)
}

// What the client library sends again after a lost reply happens once.
func TestLostRepliesSentAgainByTheClient(t *testing.T) {
	t.Parallel()
	l := startLossy(t, 0) // the default: three times
	ctx, r := t.Context(), l.r
	l.losing("create", func() error { return r.Create(ctx, record("s")) })
	var calls []*statetest.Writer
	l.losing("commit", func() (err error) {
		calls, err = statetest.Begin(ctx, r, "s", "st", call("c"))
		return err
	})
	x := calls[0]
	l.losing("commit", func() error { return x.Append(ctx, state.Entry{Kind: state.EntryNotice, Data: []byte(`1`)}) })
	l.losing("commit", func() error {
		return x.Ask(ctx, nil, state.Ask{ID: "q1", Message: []byte(`2`)}, state.Ask{ID: "q2", Message: []byte(`3`)})
	})
	l.losing("answer", func() error {
		if out, _ := l.answer("s", "q1", "t1"); out != state.AnswerTaken {
			return fmt.Errorf("outcome %d of the first answer, want taken", out)
		}
		return nil
	})
	l.losing("answer", func() error {
		var out state.AnswerStatus
		if out, x = l.answer("s", "q2", "t2"); out != state.AnswerCompleted {
			return fmt.Errorf("outcome %d of the last answer, want completed", out)
		}
		return nil
	})
	if x.Record.Epoch.Counter() != 2 || x.Record.Missing() != 0 {
		t.Errorf("claimed %+v, want the second epoch with both answers", x.Record)
	}
	which := x.ClaimTarget()
	l.losing("claim", func() (err error) {
		x, err = statetest.Claim(ctx, r, which)
		return err
	})
	if x.Record.Epoch.Counter() != 3 || x.Record.Attempt != 1 {
		t.Errorf("claimed %+v, want the third epoch, and attempt 1 of a call that was ready", x.Record)
	}
	l.losing("commit", func() error { return x.Finish(ctx, []byte(`4`)) })
	l.whole("s", "1234")
	l.losing("commit", func() error { return statetest.Conclude(ctx, r, "s", "st2", call("c2"), []byte(`{}`)) })
	// A record is given back once, and so is the log.
	must(t, r.Create(ctx, record("s2")))
	back := x.Record
	back.Session, back.Stream, back.ID = "s2", "st", "c"
	l.losing("restore", func() error {
		v, err := r.Restore(ctx, &back, x.Entries, false)
		if err == nil && v != medium.Restored && v != medium.AlreadyStored {
			err = fmt.Errorf("verdict %d", v)
		}
		return err
	})
	l.whole("s2", "4")
	l.losing("update", func() error {
		s, err := r.Update(ctx, "s", state.Patch{Attach: true, Token: "t"})
		if err == nil && s.Attachment != 1 {
			err = fmt.Errorf("attachment %d, want 1", s.Attachment)
		}
		return err
	})
	l.losing("delete", func() error { return r.Delete(ctx, "s") })
}

// whole compares the log of a stream that has ended, and says that the index has no stream.
func (l *lossy) whole(session, want string) {
	l.Helper()
	p, err := l.r.Read(l.Context(), session, "st", medium.Position{}, 0)
	must(l.T, err)
	var got string
	for i := range p.Entries {
		got += string(p.Entries[i].Data)
	}
	if got != want || !p.Ended || streamsIndexed(l.T, l.c) != 0 {
		l.Errorf("the log is %s, ended %v, with %d streams in the index; want %s", got, p.Ended, streamsIndexed(l.T, l.c), want)
	}
}

// What a caller does again after an error, with the same token, gives what the first attempt did.
func TestLostRepliesSentAgainByTheCaller(t *testing.T) {
	t.Parallel()
	l := startLossy(t, -1)
	ctx, r := t.Context(), l.r
	calls, stop := use(t, r, "s")
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
	l.losing("answer", fails(func() error { _, _, err := r.Answer(ctx, "s", "q", given, 7); return err }))
	out, first := l.answer("s", "q", "t1")
	if out != state.AnswerCompleted || first.Record.Epoch.Counter() != 2 || first.Record.Epoch.Random() != 7 {
		t.Fatalf("outcome %d, call %+v, want completed at the second epoch", out, first)
	}
	which := calls[1].ClaimTarget()
	l.losing("claim", fails(func() error { _, err := r.Claim(ctx, which); return err }))
	second, err := statetest.Claim(ctx, r, which)
	must(t, err)
	if e := second.Record.Epoch; e != calls[1].Record.Epoch.Next(which.Random) {
		t.Errorf("claimed at epoch %d", e)
	}
	l.losing("commit", fails(func() error { return second.Finish(ctx, []byte(`{}`)) }))
	must(t, second.Finish(ctx, []byte(`{}`)))
	if n := streamsIndexed(t, l.c); n != 1 {
		t.Errorf("%d streams are indexed, want the one that waited", n)
	}
	l.losing("restore", fails(func() error { return l.lostCall(second) }))
	must(t, l.lostCall(second))
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

// lostCall gives back a call that is not there.
func (l *lossy) lostCall(w *statetest.Writer) error {
	back := w.Record
	back.ID, back.Stream = "lost", "lost"
	_, err := l.r.Restore(l.Context(), &back, w.Entries, false)
	return err
}
