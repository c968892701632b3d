package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// approver is a person other than a task's client who decides on an approval, once it is among those that wait, as they are listed.
type approver struct {
	k           *taskClient
	ask, reason string
	grant       bool
	// decided: its decision was taken.
	decided bool
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
		w.at(w.delay()*8, taskSends, a.look)
	}
}

// look lists what waits, until the approval is there, and then decides on it. It looks again after whatever failed.
func (a *approver) look() {
	k, w := a.k, a.k.w
	if k.done || k.cancelled || a.decided {
		return
	}
	began, again := w.now, func() { w.at(time.Second, taskSends, a.look) }
	list := func(ctx context.Context, t *tasks.Tasks) ([]*tasks.Waiting, error) {
		page, _, err := t.Approvals(ctx, "", 16) // The sessions of a history are fewer.
		return page, err
	}
	send(k, "the list of approvals", list, func(page []*tasks.Waiting, err error) {
		if err != nil {
			w.judge.refused(k, "the list of approvals", err)
		}
		w.judge.approvals(page, began)
		i := slices.IndexFunc(page, func(o *tasks.Waiting) bool { return o.Message == a.ask })
		if i < 0 {
			again()
			return
		}
		w.at(w.delay()*8, taskSends, func() { a.decide(page[i], again) })
	})
}

// decide sends the decision on what was listed.
func (a *approver) decide(what *tasks.Waiting, again func()) {
	k, w := a.k, a.k.w
	end := mcp.ApprovalRefused
	if a.grant {
		end = mcp.ApprovalGranted
	}
	g := k.note("", fmt.Sprintf("%s: %s", end, a.reason)) // Another question may be open when the decision arrives.
	decide := func(ctx context.Context, t *tasks.Tasks) (*tasks.Waiting, error) {
		return t.Decide(ctx, what.ID, what.ApprovalID, &mcp.Principal{Subject: "bob", Issuer: "test"}, a.grant, a.reason)
	}
	send(k, "the decision of "+a.reason, decide, func(on *tasks.Waiting, err error) {
		if err != nil {
			if !errors.Is(err, tasks.ErrNotWaiting) && !errors.Is(err, tasks.ErrOtherApproval) { // Another person may have been first.
				w.judge.refused(k, "a decision", err)
			}
			again()
			return
		}
		a.decided = true
		if on.Message != a.ask {
			w.judge.fail("%s: a decision on %s is taken for %s", k.id, a.ask, on.Message)
		}
		if g.ask = on.Message; g.taken == 0 {
			g.taken = w.now
		}
		for text, o := range k.given {
			if o != g && o.ask == g.ask && o.taken > 0 && w.judge.calm() {
				w.judge.fail("%s: a decision on %s is taken, though %q was", k.id, g.ask, text)
			}
		}
	})
}

// approvals judges a list of what waits for approvals: a backend has asked for each, and nobody has decided on it before the list began.
func (j *judge) approvals(page []*tasks.Waiting, began time.Duration) {
	for _, o := range page {
		asked := false
		for _, k := range j.w.tasks {
			asked = asked || k.approvals[o.Message]
			for text, g := range k.given {
				if g.ask == o.Message && g.taken > 0 && g.taken < began && j.calm() {
					j.fail("%s waits for the approval %s, though %q was taken", k.id, o.Message, text)
				}
			}
		}
		if !asked {
			j.fail("the approval %q waits, which no backend has asked for", o.Message)
		}
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
