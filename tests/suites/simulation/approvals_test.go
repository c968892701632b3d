package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/tasks"
)

// approvalOf is the params of the question for the approval of a task's call.
func approvalOf(ask string, c *mcp.Call, wait time.Duration) json.RawMessage {
	raw, _ := json.Marshal(&mcp.Approval{
		Call: []byte(ask), Names: []string{"a"}, Digests: [][]byte{{1}}, Requester: c.Principal, Message: ask, Expires: time.Now().Add(wait),
	})
	return raw
}

// verdictIn is the text of the decision on an approval that a round is run with; empty if the answer is none.
func verdictIn(result json.RawMessage) string {
	var v mcp.ApprovalVerdict
	_ = json.Unmarshal(result, &v)
	switch v.End {
	case "":
		return ""
	case mcp.ApprovalExpired:
		return lateApproval(string(v.Call))
	}
	return fmt.Sprintf("%s: %s", v.End, v.Reason)
}

// lateApproval is the decision on an approval that was not given in time.
func lateApproval(ask string) string { return "expired to " + ask }

// approver decides on the approvals of a task, as another person than its client.
type approver struct {
	k      *taskClient
	ask    string
	reason string
	grant  bool
}

// waitsForApproval has people decide on what a task waits for: one, two who differ, or nobody.
func (k *taskClient) waitsForApproval(ask string, wait time.Duration) {
	w := k.w
	k.approvals[ask] = true
	k.given[lateApproval(ask)] = &given{ask: ask, sent: w.now + wait}
	if wait < lifetime && w.maybe(1) {
		return
	}
	for i := range 1 + w.pick(2) {
		a := &approver{k: k, ask: ask, grant: w.maybe(1), reason: fmt.Sprintf("person %d to %s", i, ask)}
		w.at(w.delay()*8, taskSends, func() { a.decide(0) })
	}
}

// decide sends a decision to any replica, again if it is unknown whether it was taken.
func (a *approver) decide(tries int) {
	k, w := a.k, a.k.w
	r := w.anyReplica()
	if k.done || k.cancelled || tries > 12 {
		return
	}
	if k.task == "" || r == nil {
		w.at(time.Second, taskSends, func() { a.decide(tries) })
		return
	}
	end := mcp.ApprovalRefused
	if a.grant {
		end = mcp.ApprovalGranted
	}
	text := fmt.Sprintf("%s: %s", end, a.reason)
	g := k.note("", text) // Another question may be open when the decision arrives.
	w.seq++
	n, replied := uint64(w.seq), false // #nosec G115 -- not negative
	r.soon(taskSends, func() {
		r.spawn(func() {
			by := mcp.Principal{Subject: "bob", Issuer: "test"}
			on, err := r.tasks.Decide(context.WithValue(context.Background(), caller{}, n), k.task, &by, a.grant, a.reason)
			r.arrive(arrival{what: taskReplies, name: k.id, n: n, do: func() {
				replied = true
				a.decided(g, on, err, tries)
			}})
		})
	})
	w.at(4*opTimeout, taskSends, func() {
		if !replied { // The replica died.
			a.decide(tries + 1)
		}
	})
}

// decided takes the reply to a decision.
func (a *approver) decided(g *given, on *tasks.Waiting, err error, tries int) {
	k, w := a.k, a.k.w
	w.logf("the decision %q on %s: %v", a.reason, k.id, err)
	switch {
	case err == nil:
		if g.ask = on.Message; g.taken == 0 {
			g.taken = w.now
		}
		for text, o := range k.given {
			if o != g && o.ask == g.ask && o.taken > 0 && w.judge.calm() {
				w.judge.fail("%s: a decision on %s is taken, though %q was", k.id, g.ask, text)
			}
		}
	case errors.Is(err, tasks.ErrNotWaiting), strings.Contains(err.Error(), "not found"):
		if tries < 4 { // The question may not be in the store yet.
			w.at(time.Second, taskSends, func() { a.decide(tries + 1) })
		}
	default:
		w.judge.refused(k, "a decision", err)
		w.at(time.Second, taskSends, func() { a.decide(tries + 1) })
	}
}

// hidden judges the questions that a task shows its client: none is for an approval.
func (j *judge) hidden(k *taskClient, key string) {
	for ask := range k.approvals {
		if strings.Contains(key, ask) {
			j.fail("%s shows its client the question %s for an approval", k.id, key)
		}
	}
}

// expired judges that a round is run because nobody has decided: not before the time.
func (j *judge) expired(c *request, text string) {
	if strings.HasPrefix(text, lateApproval("")) && c.given[text] != nil && j.w.now < c.given[text].sent {
		j.fail("%s is run with %q, %v before the time", c.id, text, c.given[text].sent-j.w.now)
	}
}
