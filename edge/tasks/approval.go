package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// A task that waits for the approval of another person has a question for it, like one for its
// client, but no client sees or answers this question: the status of the task is working. So the
// wait is in the task's record, any replica can take the decision, once, and the replica that does
// continues the task.

// Waiting is a task that waits for an approval.
type Waiting struct {
	ID string
	// ApprovalID identifies the approval among those that the task ever waits for: 16 hexadecimal
	// digits. A decision names it.
	ApprovalID string
	mcp.Approval
	// Since is when it began to wait.
	Since time.Time

	// key is that of its question.
	key string
}

// ErrNotWaiting means that a task does not wait for an approval: it has ended, the approval was
// granted or refused, or the store does not have the question yet.
var ErrNotWaiting = errors.New("the task waits for no approval")

// ErrOtherApproval means that a task waits for an approval, but not for the one that a decision
// names.
var ErrOtherApproval = errors.New("the task waits for another approval")

// waitsFor returns the status message of a task with a question for an approval.
func waitsFor(e *entry) string {
	const text = "waits for the approval of another person"
	a, err := approvalOf(e)
	if err != nil || len(a.Names) == 0 { // a brief has no params
		return text
	}
	quoted := make([]string, len(a.Names))
	for i, name := range a.Names {
		quoted[i] = strconv.Quote(name)
	}
	return text + ": " + strings.Join(quoted, ", ")
}

func approvalOf(e *entry) (*mcp.Approval, error) {
	a := new(mcp.Approval)
	return a, json.Unmarshal(e.Params, a)
}

// waiting returns the approvals that a task waits for, or ErrNotWaiting.
func (v *view) waiting() (*Waiting, error) {
	if v.approval == nil {
		return nil, ErrNotWaiting
	}
	a, err := approvalOf(v.approval)
	if err != nil {
		return nil, err
	}
	if mcp.Outlasts(v.Principal.Until, a.Requester.Until) {
		a.Requester.Until = v.Principal.Until // The requester has renewed its credentials: see renew.
	}
	return &Waiting{ID: v.ID, ApprovalID: approvalID(v.approval.Key), Approval: *a, Since: v.approval.At, key: v.approval.Key}, nil
}

// approvalID returns the id of an approval with the key of its question, which is random.
func approvalID(key string) string {
	digest := sha256.Sum256([]byte(key))
	return hex.EncodeToString(digest[:8])
}

// Approvals returns the tasks of a page of at most most tasks that wait for an approval, and the
// cursor of the next page, as Inspected does. An empty page may not be the last one.
func (t *Tasks) Approvals(ctx context.Context, cursor string, most int) (page []*Waiting, next string, err error) {
	views, next, err := t.pageOf(ctx, cursor, most)
	if err != nil {
		return nil, "", err
	}
	for _, v := range views {
		if v.approval == nil {
			continue
		}
		w, err := t.waitingOf(ctx, v.Session)
		switch {
		case err == nil:
			page = append(page, w)
		case !errors.Is(err, ErrNotWaiting) && !errors.Is(err, state.ErrNotFound):
			return nil, "", err
		}
	}
	return page, next, nil
}

// Approval returns the approvals that a task waits for. The errors are ErrNotWaiting and those of
// the medium.
func (t *Tasks) Approval(ctx context.Context, id string) (*Waiting, error) {
	s, err := t.store.Load(ctx, id, false)
	if err != nil {
		return nil, err
	}
	return t.waitingOf(ctx, s.Session)
}

// waitingOf returns the approvals that a task waits for, or ErrNotWaiting. It ends a wait that has
// expired.
func (t *Tasks) waitingOf(ctx context.Context, s *state.Session) (*Waiting, error) {
	v, err := t.read(ctx, nil, s, nil)
	if err != nil {
		return nil, mediumError(err)
	}
	w, err := v.waiting()
	if err == nil && t.isOver(w) {
		return nil, cmp.Or(t.conclude(ctx, w, &mcp.ApprovalVerdict{End: mcp.ApprovalExpired}), ErrNotWaiting)
	}
	return w, err
}

// isOver reports whether the time has passed in which an approval can be given.
func (t *Tasks) isOver(w *Waiting) bool { return !time.Now().Before(w.Expires) }

// MayDecide returns the approvals that a task waits for. It returns an error if a principal may not
// decide now on those with the id approval. It makes no decision, but ends a wait that has expired.
// The errors are those of Decide.
func (t *Tasks) MayDecide(ctx context.Context, id, approval string, by *mcp.Principal) (*Waiting, error) {
	w, _, err := t.approvable(ctx, id, approval, by)
	return w, err
}

// approvable is MayDecide, and returns the digests of the approvals that the principal may give.
func (t *Tasks) approvable(ctx context.Context, id, approval string, by *mcp.Principal) (w *Waiting, digests [][]byte, err error) {
	if w, err = t.Approval(ctx, id); err != nil {
		return nil, nil, err
	}
	if w.ApprovalID != approval {
		return nil, nil, ErrOtherApproval
	}
	if t.o.Approvable == nil {
		return w, nil, mcp.Errorf(mcp.KindForbidden, "there is no policy by which anybody approves")
	}
	digests, err = t.o.Approvable(by, &w.Approval)
	return w, digests, err
}

// Decide records the decision of a principal on the approvals that a task waits for: a grant, or a
// refusal with a reason. approval is the Waiting.ApprovalID that the principal was shown. The task
// continues with the rights of its requester, and without the principal's credentials. The errors
// are ErrNotWaiting, including for a second decision, ErrOtherApproval, a *mcp.Error if the
// principal may not decide, and those of the medium.
func (t *Tasks) Decide(ctx context.Context, id, approval string, by *mcp.Principal, grant bool, reason string) (*Waiting, error) {
	if !t.work.Enter() {
		return nil, mcp.ShuttingDown()
	}
	defer t.work.Leave()
	w, digests, err := t.approvable(ctx, id, approval, by)
	if err != nil {
		return nil, err
	}
	verdict := &mcp.ApprovalVerdict{End: mcp.ApprovalRefused, By: mcp.ApproverOf(by), Reason: reason}
	if grant {
		verdict.End, verdict.Granted = mcp.ApprovalGranted, digests
	}
	return w, t.conclude(ctx, w, verdict)
}

// conclude stores the end of a task's wait for an approval, which continues the task. The error is
// ErrNotWaiting if the wait has already ended, also if the task waits for another approval since
// the task was read: the store compares the keys of the questions.
func (t *Tasks) conclude(ctx context.Context, w *Waiting, verdict *mcp.ApprovalVerdict) error {
	if !t.work.Enter() { // A request that waits is idle, but now this replica may become the task's owner.
		return mcp.ShuttingDown()
	}
	defer t.work.Leave()
	verdict.Call = w.Call
	raw, err := json.Marshal(verdict)
	if err != nil {
		return err
	}
	t.expiries.stop(w.ID)                 // Before the answer, with which the next round may begin to wait.
	ctx = mcp.WithToken(ctx, mcp.Token{}) // The backend gets nothing of the approver.
	status, release, err := t.calls.AnswerNow(ctx, w.ID, w.key, state.Answer{Result: raw, Token: t.o.Text(), By: w.Requester}, w.Requester)
	if err != nil {
		return err
	}
	if release != nil {
		release()
	}
	if status == state.AnswerUnknown || status == state.AnswerDuplicate {
		return ErrNotWaiting
	}
	return nil
}

// lapse ends the wait of a task whose approval was not given in time, and returns the task after
// that.
func (t *Tasks) lapse(ctx context.Context, memory *budget.Reservation, v *view, who *mcp.Principal) (*view, error) {
	w, err := v.waiting()
	if err != nil || !t.isOver(w) {
		return v, nil
	}
	err = t.conclude(ctx, w, &mcp.ApprovalVerdict{End: mcp.ApprovalExpired})
	if over := (*mcp.Error)(nil); errors.As(err, &over) { // This replica shuts down.
		return nil, over
	}
	if err != nil && !errors.Is(err, ErrNotWaiting) {
		return nil, t.storeError(v.ID, err)
	}
	return t.load(ctx, memory, v.ID, who)
}

// expireLater ends the wait of a task when its time has passed. If this replica is lost, the next
// request that reads the task ends it.
func (t *Tasks) expireLater(id string, e *entry) {
	a, err := approvalOf(e)
	if err != nil {
		return
	}
	t.expiries.set(id, time.Until(a.Expires), func() {
		if !t.work.Enter() {
			return
		}
		defer t.work.Leave()
		ctx, cancel := state.Bounded(context.Background())
		defer cancel()
		if _, err := t.Approval(ctx, id); err != nil && !errors.Is(err, ErrNotWaiting) && !errors.Is(err, state.ErrNotFound) {
			t.o.Logger.Warn("the wait for an approval could not be ended; the next request for the task does", "error", err)
		}
	})
}

// renew records the credentials with which the creator of a task reads it at the endpoint of its
// set, while it waits for an approval. If they have the same rights and expire later, the call may
// run until then. withheld is the error with which the policy denies them the tool: it ends the
// wait, unless other scopes help, or the policy server made no decision. nil means that the policy
// allows the tool.
func (t *Tasks) renew(ctx context.Context, v *view, who *mcp.Principal, withheld error) {
	w, err := v.waiting()
	if err != nil {
		return
	}
	if withheld != nil {
		if e := mcp.AsError(withheld); e.Kind != mcp.KindForbidden || e.Challenge != nil || errors.Is(e, mcp.ErrUndecided) {
			return
		}
		err = t.conclude(ctx, w, &mcp.ApprovalVerdict{End: mcp.ApprovalRevoked})
	} else if mcp.Outlasts(who.Until, v.Principal.Until) && w.Requester.GivesSameRights(who) {
		sctx, cancel := state.Bounded(ctx)
		defer cancel()
		_, err = t.store.Update(sctx, v.ID, state.Patch{Until: &who.Until})
	}
	if err != nil && !errors.Is(err, ErrNotWaiting) {
		t.o.Logger.Warn("what the requester of a task that waits for an approval may do now could not be stored", "error", err)
	}
}
