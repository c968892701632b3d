package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// approvedTwice is a tool whose call waits for two approvals, one after the other. Its result is how both ended.
func approvedTwice() tool {
	return tool{support: mcp.TaskSupport{Required: true, AtOnce: true}, run: func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
		ends := string(c.State)
		if c.Round > 1 {
			var v mcp.ApprovalVerdict
			if err := json.Unmarshal(c.Responses[len(c.Responses)-1].Result, &v); err != nil {
				return mcp.Reply{}, err
			}
			ends += string(v.End) + " " + v.Reason + ";"
		}
		if c.Round > 2 {
			return result(ends), nil
		}
		params, err := json.Marshal(mcp.Approval{Names: []string{"a" + strconv.Itoa(c.Round)}, Requester: c.Principal, Expires: time.Now().Add(time.Hour)})
		return mcp.Reply{Input: &mcp.InputRequired{State: []byte(ends), Requests: []mcp.InputRequest{{Key: mcp.ApprovalKey, Method: mcp.MethodApprove, Params: params}}}}, err
	}}
}

// approving has any principal approve everything.
func approving(o *Options) {
	o.Approvable = func(*mcp.Principal, *mcp.Approval) ([][]byte, error) { return nil, nil }
}

// awaitsApproval returns the approval with a name once a task waits for it.
func (r *replica) awaitsApproval(id, name string) (found *Waiting) {
	r.w.t.Helper()
	await.Until(r.w.t, "the task to wait for "+name, func() bool {
		w, err := r.Approval(r.w.t.Context(), id)
		if err != nil && !errors.Is(err, ErrNotWaiting) {
			r.w.t.Fatal(err)
		}
		found = w
		return err == nil && w.Names[0] == name
	})
	return found
}

// interrupted is a store that calls before once, before the next answer is stored.
type interrupted struct {
	medium.Store
	before atomic.Pointer[func()]
}

func (s *interrupted) Answer(ctx context.Context, session, ask string, a state.Answer, random uint32) (state.AnswerStatus, *medium.Owned, error) {
	if fn := s.before.Swap(nil); fn != nil {
		(*fn)()
	}
	return s.Store.Answer(ctx, session, ask, a, random)
}

// TestADecisionIsOnTheApprovalThatItNames: a decision that names an approval which does not wait any more changes nothing, at any replica,
// although the task waits for another one by then, or does so between the decision's reading and storing.
func TestADecisionIsOnTheApprovalThatItNames(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["pay"] = approvedTwice()
		a, open, slow := w.replica(approving), w.open, new(interrupted)
		w.open = func(h medium.Hooks) medium.Store { slow.Store = open(h); return slow }
		b := w.replica(approving)
		lee := &mcp.Principal{Subject: "lee"}
		ends := func(id string) string {
			await.Until(t, "the task to end", func() bool { return a.get(id)["status"] == string(Completed) })
			raw, _ := json.Marshal(a.get(id)["result"])
			return string(raw)
		}

		id := a.begin("pay", "x")
		first := a.awaitsApproval(id, "a1")
		if page, _, err := b.Approvals(t.Context(), "", 10); err != nil || len(page) != 1 || page[0].ApprovalID != first.ApprovalID || len(first.ApprovalID) != 16 {
			t.Fatalf("listed %+v, %v, want the id %q", page, err, first.ApprovalID)
		}
		if _, err := a.Decide(t.Context(), id, first.ApprovalID, lee, true, "1"); err != nil {
			t.Fatal(err)
		}
		second := a.awaitsApproval(id, "a2")
		if second.ApprovalID == first.ApprovalID {
			t.Fatalf("both approvals have the id %q", first.ApprovalID)
		}
		for _, r := range []*replica{a, b} {
			for _, wrong := range []string{first.ApprovalID, "", "x"} {
				for _, grant := range []bool{true, false} {
					if _, err := r.Decide(t.Context(), id, wrong, lee, grant, "2"); !errors.Is(err, ErrOtherApproval) {
						t.Errorf("a decision on %q: %v", wrong, err)
					}
				}
				if waits, err := r.MayDecide(t.Context(), id, wrong, lee); !errors.Is(err, ErrOtherApproval) || waits != nil {
					t.Errorf("whether one may decide on %q: %v, %v", wrong, waits, err)
				}
			}
		}
		if waits, err := b.MayDecide(t.Context(), id, second.ApprovalID, lee); err != nil || waits.ApprovalID != second.ApprovalID {
			t.Errorf("whether one may decide: %v, %v", waits, err)
		}
		if _, err := b.Decide(t.Context(), id, second.ApprovalID, lee, false, "3"); err != nil {
			t.Fatal(err)
		}
		if got := ends(id); !strings.Contains(got, "granted 1;refused 3;") {
			t.Errorf("the task ended with %s", got)
		}

		id = a.begin("pay", "x")
		first = b.awaitsApproval(id, "a1")
		overtake := func() {
			if _, err := a.Decide(t.Context(), id, first.ApprovalID, lee, true, "1"); err != nil {
				t.Error(err)
			}
			second = a.awaitsApproval(id, "a2")
		}
		slow.before.Store(&overtake)
		if _, err := b.Decide(t.Context(), id, first.ApprovalID, lee, false, "2"); !errors.Is(err, ErrNotWaiting) {
			t.Errorf("a decision that was overtaken: %v", err)
		}
		b.calls.Returning() // What the replica keeps to store it again would be stored.
		if _, err := a.Decide(t.Context(), id, second.ApprovalID, lee, true, "3"); err != nil {
			t.Error(err)
		}
		if got := ends(id); !strings.Contains(got, "granted 1;granted 3;") {
			t.Errorf("the task ended with %s", got)
		}
	})
}

// TestADecisionIsNotOnAQuestionThatReplacedALostOne: a failover loses that a task waits for an approval, and another replica runs the same
// round again, which waits for the approval anew. A decision that names the lost one changes nothing.
func TestADecisionIsNotOnAQuestionThatReplacedALostOne(t *testing.T) {
	server := redisserver.ForTest(t)
	db := goredis.NewClient(&goredis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = db.Close() })
	w := newWorld(t, redisAt(t, server.Addr, limits(nil)))
	pays, running := approved(), make(chan struct{}, 10)
	w.backend.tools["pay"] = tool{pays.support, true, func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
		if c.Round == 1 {
			running <- struct{}{}
			<-w.backend.gate("asks")
		}
		return pays.run(ctx, c, sink)
	}}
	a := w.replica(approving)
	id := a.begin("pay", "x")
	await.Receive(t, "the first round", running)
	await.Until(t, "the round to be stored", func() bool { return a.get(id)["status"] == string(Working) })
	back := keep(t, db, "test:{"+id+"}*", "test:b:*")
	close(w.backend.gate("asks"))
	lost := a.awaitsApproval(id, "a")
	a.cut.disconnect()
	back()
	b := w.replica(approving)
	await.Receive(t, "the first round again", running)
	now := b.awaitsApproval(id, "a")
	lee := &mcp.Principal{Subject: "lee"}
	if _, err := b.Decide(t.Context(), id, lost.ApprovalID, lee, false, ""); now.ApprovalID == lost.ApprovalID || !errors.Is(err, ErrOtherApproval) {
		t.Errorf("a decision on the lost one, %q, while %q waits: %v", lost.ApprovalID, now.ApprovalID, err)
	}
	if _, err := b.Decide(t.Context(), id, now.ApprovalID, lee, true, ""); err != nil {
		t.Error(err)
	}
	await.Until(t, "the task to end", func() bool { return b.get(id)["status"] == string(Completed) })
}

// keep copies keys of Redis; back puts the copy in the place of what is there by then.
func keep(t *testing.T, db *goredis.Client, patterns ...string) (back func()) {
	t.Helper()
	all := func() (keys []string) {
		for _, pattern := range patterns {
			found, err := db.Keys(t.Context(), pattern).Result()
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, found...)
		}
		return keys
	}
	kept := map[string]string{}
	for _, key := range all() {
		kept[key] = db.Dump(t.Context(), key).Val()
	}
	if len(kept) == 0 {
		t.Fatalf("Redis has no keys %s", patterns)
	}
	return func() {
		if err := db.Del(t.Context(), all()...).Err(); err != nil {
			t.Fatal(err)
		}
		for key, value := range kept {
			if err := db.RestoreReplace(t.Context(), key, 0, value).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// approvalKey returns the key of the question for the approval that a task waits for. It is empty if it waits for none.
func (r *replica) approvalKey(id string) string {
	r.w.t.Helper()
	s, err := r.store.Load(r.w.t.Context(), id, false)
	if err != nil {
		r.w.t.Fatal(err)
	}
	v, err := r.read(r.w.t.Context(), nil, s.Session, nil)
	if err != nil {
		r.w.t.Fatal(err)
	}
	if v.approval == nil {
		return ""
	}
	return v.approval.Key
}
