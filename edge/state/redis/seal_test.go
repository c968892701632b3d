package redis_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// sealMark begins a sealed value.
const sealMark = "\xc1sl\x01"

// waiting begins a session with a call that has an event, a state, an open elicitation and two questions, one of them answered.
func waiting(t *testing.T, r *redis.Replica, session string) {
	t.Helper()
	ctx := t.Context()
	must(t, r.Create(ctx, record(session)))
	_, err := r.Update(ctx, session, state.Patch{Subscribe: "file:///1"})
	must(t, err)
	w := begin(t, r, session, "st", "c")
	must(t, w.Append(ctx, state.Entry{Kind: state.EntryLog, Data: []byte(`{"log":1}`)}, state.Entry{Kind: state.EntryNotice, Data: []byte(`{"notice":1}`)}))
	must(t, w.Ask(ctx, []byte("state"), state.Ask{ID: "1", Key: "k1", ElicitationID: "e", Message: []byte(`{"q":1}`)}, state.Ask{ID: "2", Key: "k2", Message: []byte(`{"q":2}`)}))
	_, _, err = r.Answer(ctx, session, "1", state.Answer{Result: []byte(`{"a":1}`), Token: "t"}, 1)
	must(t, err)
}

// readable reads all that there is of what waiting has begun.
func readable(ctx context.Context, r *redis.Replica, session string) error {
	if _, err := r.Load(ctx, session, true); err != nil {
		return err
	}
	if c, err := r.Asking(ctx, session, "2"); err != nil || string(c.State) != "state" || string(c.Asked[0].Answer.Result) != `{"a":1}` || c.Open["k1"] != "e" {
		return fmt.Errorf("the call %+v: %w", c, err)
	}
	p, err := r.Read(ctx, session, "st", medium.Position{}, 0)
	if err == nil && len(p.Entries) < 2 {
		err = fmt.Errorf("%d entries", len(p.Entries))
	}
	return err
}

// A sealed value opens at its place only: none can be put into another session, call, stream, question or field.
func TestSealedValuesAreBound(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, startServer(t)), t.Context()
	writer := start(t, c, redis.Options{Keys: [][]byte{stateKey(1)}})
	r := start(t, c, redis.Options{Keys: [][]byte{stateKey(1)}}) // It has nothing in its cache.
	for _, session := range []string{"s", "other"} {
		waiting(t, writer, session)
		must(t, readable(ctx, r, session))
	}
	refused := func(what string) {
		t.Helper()
		if err := readable(ctx, r, "s"); err == nil || !strings.Contains(err.Error(), "was changed, or moved from another record") {
			t.Errorf("%s: error %v", what, err)
		}
	}
	sealed := 0
	for _, key := range []string{"mcpedge:{s}", "mcpedge:{s}:c:c"} {
		fields := c.HGetAll(ctx, key).Val()
		others := c.HGetAll(ctx, strings.Replace(key, "{s}", "{other}", 1)).Val()
		for field, value := range fields {
			if !strings.HasPrefix(value, sealMark) {
				continue
			}
			sealed++
			must(t, c.HSet(ctx, key, field, others[field]).Err())
			refused(field + " of another session")
			must(t, c.HSet(ctx, key, field, value[:len(value)-1]+string(value[len(value)-1]^1)).Err())
			refused(field + ", changed")
			for other, moved := range fields {
				if other != field && strings.HasPrefix(moved, sealMark) {
					must(t, c.HSet(ctx, key, field, moved).Err())
					refused(other + " in the place of " + field)
				}
			}
			must(t, c.HSet(ctx, key, field, value).Err())
			must(t, readable(ctx, r, "s"))
		}
	}
	if sealed != 9 { // rec; b, sv, o:k1, a:1, a:2, g:1, g:2, r:1
		t.Errorf("%d fields are sealed, want 9", sealed)
	}
	must(t, c.ZAdd(ctx, "mcpedge:{s}:s", goredis.Z{Score: 9, Member: c.ZRange(ctx, "mcpedge:{other}:s", 0, 0).Val()[0]}).Err())
	refused("a subscription of another session")
	must(t, c.ZPopMax(ctx, "mcpedge:{s}:s").Err())
	must(t, c.Rename(ctx, "mcpedge:{other}:l:st", "mcpedge:{s}:l:st").Err())
	refused("the log of another session")
}

// A replica without the keys does not take calls that it cannot read, and says which key it lacks; those that have the keys continue
// them. What it begins itself the others read, too, so that keys can be set while calls wait.
func TestReplicaWithoutTheKeys(t *testing.T) {
	t.Parallel()
	var log lines
	c, ctx := connect(t, startServer(t)), t.Context()
	with := start(t, c, redis.Options{Keys: [][]byte{stateKey(1)}})
	without := start(t, c, redis.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	waiting(t, with, "sealed")
	waiting(t, without, "plain")
	lacks := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "is sealed with the key 72cd6e84, and this replica has none: give all replicas the same redis.seal-keys") {
			t.Errorf("%s: error %v", what, err)
		}
	}
	before := c.HGetAll(ctx, "mcpedge:{sealed}:c:c").Val()
	lacks("Load", func() error { _, err := without.Load(ctx, "sealed", true); return err }())
	lacks("Update", func() error { _, err := without.Update(ctx, "sealed", state.Patch{Subscribe: "x"}); return err }())
	lacks("Asking", func() error { _, err := without.Asking(ctx, "sealed", "2"); return err }())
	lacks("Answer", func() error {
		_, _, err := without.Answer(ctx, "sealed", "2", state.Answer{Result: []byte("{}"), Token: "t"}, 1)
		return err
	}())
	lacks("Claim", func() error {
		_, err := without.Claim(ctx, medium.ClaimTarget{Session: "sealed", Call: "c"})
		return err
	}())
	lacks("Read", func() error { _, err := without.Read(ctx, "sealed", "st", medium.Position{}, 0); return err }())
	lacks("Summaries", func() error { _, err := without.Summaries(ctx, []string{"sealed"}, "st"); return err }())
	if after := c.HGetAll(ctx, "mcpedge:{sealed}:c:c").Val(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the call was changed:\n%q\n%q", before, after)
	}
	if n := log.count("72cd6e84"); n != 1 {
		t.Errorf("the key was logged %d times:\n%s", n, &log)
	}
	for _, session := range []string{"sealed", "plain"} {
		must(t, readable(ctx, with, session))
		out, o, err := with.Answer(ctx, session, "2", state.Answer{Result: []byte("{}"), Token: "t"}, 1)
		if must(t, err); out != state.AnswerCompleted {
			t.Errorf("%s: the answer is %v", session, out)
		}
		must(t, statetest.Own(with, o.Record).Finish(ctx, []byte("{}")))
	}
}

// A key is replaced in three steps: the new one opens, seals, and is alone. Calls that wait meanwhile continue; once the old key is
// removed, what it sealed is refused, and is there when it comes back. Subscriptions are ended by any of the keys.
func TestKeysAreReplaced(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, startServer(t)), t.Context()
	replica := func(keys ...byte) *redis.Replica {
		var all [][]byte
		for _, k := range keys {
			all = append(all, stateKey(k))
		}
		return start(t, c, redis.Options{Keys: all})
	}
	old, opens, seals, alone := replica(1), replica(1, 2), replica(2, 1), replica(2)
	plain := replica()
	must(t, plain.Create(ctx, record("mixed")))
	for i, r := range []*redis.Replica{plain, old, opens, seals} {
		_, err := r.Update(ctx, "mixed", state.Patch{Subscribe: fmt.Sprint("u", i)})
		must(t, err)
	}
	for _, uri := range []string{"u0", "u1", "u2", "u3"} {
		s, err := seals.Update(ctx, "mixed", state.Patch{Unsubscribe: uri})
		if must(t, err); slices.Contains(s.Subscriptions, uri) {
			t.Errorf("%s is still subscribed to", uri)
		}
	}
	s, err := seals.Load(ctx, "mixed", true)
	if must(t, err); len(s.Subscriptions) != 0 {
		t.Errorf("left are %q", s.Subscriptions)
	}
	for i, r := range []*redis.Replica{old, opens, seals, alone} {
		waiting(t, r, fmt.Sprint("s", i))
	}
	for i, readers := range [][]*redis.Replica{{old, opens, seals}, {opens, seals}, {opens, seals, alone}, {opens, seals, alone}} {
		for _, r := range readers {
			must(t, readable(ctx, r, fmt.Sprint("s", i)))
		}
	}
	if err := readable(ctx, alone, "s0"); err == nil || !strings.Contains(err.Error(), "key 72cd6e84, and this replica has 75877bb4") {
		t.Errorf("without the old key: %v", err)
	}
	must(t, readable(ctx, seals, "s0"))
}

// The names of backends are sealed. Those that a replica cannot open are missing, as damaged ones are, and differ from what it has, so
// that it writes its own.
func TestNamesAreSealed(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, startServer(t)), t.Context()
	table := func(keys ...[]byte) *redis.Table { return start(t, c, redis.Options{Keys: keys}).Names() }
	plain, first, second := table(), table(stateKey(1)), table(stateKey(2), stateKey(1))
	value := map[string]ownership.Value{"b": {Digest: "d", Bytes: []byte("names")}}
	for i, x := range []struct {
		writes, reads *redis.Table
		same          bool
		read          string
	}{{plain, first, false, "names"}, {first, first, true, "names"}, {first, second, false, "names"}, {second, first, false, ""}, {first, plain, false, ""}} {
		must(t, x.writes.Write(ctx, value, nil))
		digests, err := x.reads.Digests(ctx)
		must(t, err)
		values, err := x.reads.Values(ctx, []string{"b"})
		must(t, err)
		if (digests["b"] == "d") != x.same || string(values["b"]) != x.read {
			t.Errorf("%d: digest %q, value %q", i, digests["b"], values["b"])
		}
	}
}

// What replicas publish is sealed.
func TestMessagesAreSealed(t *testing.T) {
	t.Parallel()
	const secret = "a secret"
	addr := startServer(t)
	c, ctx := connect(t, addr), t.Context()
	all := c.PSubscribe(ctx, "*")
	_, err := all.Receive(ctx)
	must(t, err)
	t.Cleanup(func() { _ = all.Close() })
	events := make(chan state.SessionEvent, 1)
	o := redis.Options{Keys: [][]byte{stateKey(1)}}
	a, b := start(t, c, o), start(t, connect(t, addr), o, medium.Hooks{Event: func(e state.SessionEvent) { events <- e }})
	b.Relay().Receive(func(m []byte) []byte { return append([]byte("answer to "), m...) })
	got, err := a.Relay().Send(ctx, b.Relay().Address(), []byte(secret))
	if must(t, err); string(got) != "answer to "+secret {
		t.Errorf("the answer is %q", got)
	}
	must(t, a.Create(ctx, record("s")))
	_, err = b.Load(ctx, "s", true)
	must(t, err)
	must(t, a.Notify(ctx, state.SessionEvent{Kind: state.RequestCancelled, Session: "s", By: &mcp.Principal{Subject: secret}}))
	if e := await.Receive(t, "the event", events); e.By.Subject != secret {
		t.Errorf("the event is by %q", e.By.Subject)
	}
	must(t, c.Publish(ctx, "the end", "").Err())
	for n := 0; ; n++ {
		m, err := all.ReceiveMessage(ctx)
		must(t, err)
		if m.Channel == "the end" {
			if n < 3 {
				t.Errorf("only %d messages were published", n)
			}
			break
		}
		if strings.Contains(m.Payload, secret) {
			t.Errorf("%s has %q", m.Channel, m.Payload)
		}
	}
}

// A backend's state may begin like a sealed value: without keys it is the state, too, and the call is claimed and restored with it.
func TestStatesLikeSeals(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, startServer(t)), t.Context()
	for _, keys := range [][][]byte{nil, {stateKey(1)}} {
		r := start(t, c, redis.Options{Keys: keys})
		for i, like := range []string{"\xc1", "\xc1pl\x01", sealMark, sealMark + strings.Repeat("x", 99)} {
			session := fmt.Sprintf("s%d%d", len(keys), i)
			must(t, r.Create(ctx, record(session)))
			w := begin(t, r, session, "st", "c")
			lose := copyKeys(t, c, "mcpedge:{"+session+"}*", "mcpedge:b:*")
			must(t, w.Ask(ctx, []byte(like), state.Ask{ID: "q", Key: "k", Message: []byte("{}")}))
			lose()
			if v, err := w.Restore(ctx); err != nil || v != medium.Restored {
				t.Errorf("%q: the restore is %v, %v", like, v, err)
			}
			_, o, err := r.Answer(ctx, session, "q", state.Answer{Result: []byte("{}"), Token: "t"}, 1)
			if err != nil || string(o.Record.State) != like {
				t.Errorf("with %d keys the state %q is %+v, %v", len(keys), like, o, err)
			}
		}
	}
}

// A replica that cannot open everything that the owner of a call gets does not become its owner, although it can open the request: another
// replica may have sealed an answer, a part of the session, or who cancelled, while keys are set.
func TestNoOwnerOfHalfACall(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, startServer(t)), t.Context()
	with := start(t, c, redis.Options{Keys: [][]byte{stateKey(1)}})
	without := start(t, c, redis.Options{})
	last := state.Answer{Result: []byte("{}"), Token: "t"}
	for what, seals := range map[string]func(session string) error{
		"an answer": func(session string) error {
			_, _, err := with.Answer(ctx, session, "1", state.Answer{Result: []byte(`{"a":1}`), Token: "t"}, 1)
			return err
		},
		"a subscription": func(session string) error {
			_, err := with.Update(ctx, session, state.Patch{Subscribe: "file:///2"})
			return err
		},
		"the session": func(session string) error {
			_, err := with.Update(ctx, session, state.Patch{Initialized: true})
			return err
		},
	} {
		session := strings.ReplaceAll(what, " ", "-")
		must(t, without.Create(ctx, record(session)))
		w := begin(t, without, session, "st", "c")
		must(t, w.Ask(ctx, []byte("state"), state.Ask{ID: "1", Key: "k1", Message: []byte(`{"q":1}`)}, state.Ask{ID: "2", Key: "k2", Message: []byte(`{"q":2}`)}))
		must(t, seals(session))
		if what != "an answer" {
			_, _, err := with.Answer(ctx, session, "1", last, 1)
			must(t, err)
		}
		before := c.HGetAll(ctx, "mcpedge:{"+session+"}:c:c").Val()
		for how, take := range map[string]func() error{
			"answer": func() error { _, _, err := without.Answer(ctx, session, "2", last, 2); return err },
			"claim": func() error {
				_, err := without.Claim(ctx, medium.ClaimTarget{Session: session, Call: "c", Cancel: true})
				return err
			},
		} {
			if err := take(); err == nil || !strings.Contains(err.Error(), "is sealed with the key 72cd6e84") {
				t.Errorf("%s, %s: error %v", what, how, err)
			}
			if after := c.HGetAll(ctx, "mcpedge:{"+session+"}:c:c").Val(); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("%s, %s: the call was changed:\n%q\n%q", what, how, before, after)
			}
		}
		out, o, err := with.Answer(ctx, session, "2", last, 3)
		if must(t, err); out != state.AnswerCompleted {
			t.Errorf("%s: the answer is %v", what, out)
			continue
		}
		must(t, statetest.Own(with, o.Record).Finish(ctx, []byte("{}")))
	}
}

// A seal that was cut is an error, wherever it was cut, and unknown keys are logged a few times only, however many there are.
func TestCutSeals(t *testing.T) {
	t.Parallel()
	var log lines
	c, ctx := connect(t, startServer(t)), t.Context()
	r := start(t, c, redis.Options{Keys: [][]byte{stateKey(1)}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	waiting(t, r, "s")
	const key = "mcpedge:{s}:c:c"
	whole := c.HGet(ctx, key, "sv").Val()
	failing := func(what, value string) {
		t.Helper()
		must(t, c.HSet(ctx, key, "sv", value).Err())
		if _, _, err := r.Answer(ctx, "s", "2", state.Answer{Result: []byte("{}"), Token: "t"}, 1); err == nil {
			t.Errorf("%s: the answer is taken", what)
		}
		if _, err := r.Claim(ctx, medium.ClaimTarget{Session: "s", Call: "c"}); err == nil {
			t.Errorf("%s: the call is claimed", what)
		}
		if _, err := r.Asking(ctx, "s", "2"); err == nil {
			t.Errorf("%s: the call is read", what)
		}
	}
	for _, n := range []int{len(sealMark), len(sealMark) + 3} {
		failing(fmt.Sprintf("%d bytes", n), whole[:n])
	}
	for i := range 50 {
		failing("another key", sealMark+fmt.Sprintf("%04d", i)+whole[len(sealMark)+4:])
	}
	must(t, c.HSet(ctx, key, "sv", whole[:len(whole)/2]).Err())
	if _, err := r.Asking(ctx, "s", "2"); err == nil {
		t.Error("a call with half a state is read")
	}
	if n := log.count("cannot be read here"); n == 0 || n > 20 {
		t.Errorf("unknown keys were logged %d times", n)
	}
}
