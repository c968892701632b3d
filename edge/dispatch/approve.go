package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// maxEscaped is the most bytes of an escaped byte of a quoted text.
const maxEscaped = 6

// verdict returns the answer to the previous round's question for an approval, or nil if there is
// none. Only the record of a task has such an answer: clients cannot give one.
func (r *round) verdict() *mcp.ApprovalVerdict {
	if r.before.Awaits == nil || r.answer == nil || r.answer.Method != mcp.MethodApprove {
		return nil
	}
	v := new(mcp.ApprovalVerdict)
	if json.Unmarshal(r.answer.Result, v) != nil {
		return &mcp.ApprovalVerdict{End: mcp.ApprovalRevoked}
	}
	return v
}

// endUnapproved ends a call that waited for approvals, if the answer does not grant them.
func (r *round) endUnapproved(ctx context.Context) error {
	v := r.verdict()
	if v == nil || v.End == mcp.ApprovalGranted {
		return nil
	}
	names := r.before.awaited()
	why := map[mcp.ApprovalEnd]string{
		mcp.ApprovalRefused: "another person refused it", mcp.ApprovalExpired: "it was not decided on in time; call again to ask again",
	}[v.End]
	if why == "" {
		why = "the policy no longer allows it to the caller; call again with credentials that have the rights"
	}
	if v.Reason != "" {
		var reason excerpt
		reason.quoted(v.Reason, maxEscaped*len(v.Reason)+2)
		why += ": " + string(reason.text)
	}
	r.countConsents(string(v.End), names)
	return r.allowed.Unapproved(ctx, r.call, names[0], mcp.Errorf(mcp.KindForbidden, "the call was not run: it needs the %s, and %s", approvals(names), why))
}

// missingApprovals returns the approvals that the call still needs after the answer to the previous
// round's question. If it has all, it fails if the requester's credentials no longer hold.
func (r *round) missingApprovals(ctx context.Context, args json.RawMessage) ([]policy.Obligation, error) {
	if len(r.required.approvals) == 0 && r.before.Approved == nil && r.before.Awaits == nil {
		return nil, nil
	}
	if bytes.Equal(r.before.Call, r.digest(args)) {
		r.holds.Approved = slices.Clone(r.before.Approved)
		r.takeGrants()
	}
	missing := slices.DeleteFunc(slices.Clone(r.required.approvals), func(o policy.Obligation) bool {
		return slices.ContainsFunc(r.holds.Approved, func(a approved) bool { return bytes.Equal(a.Digest, o.Digest[:]) })
	})
	if len(missing) == 0 {
		return nil, r.stillValid(ctx)
	}
	return missing, nil
}

// takeGrants adds the granted approvals in the answer to the previous round's question. Approvals
// that the question did not name are ignored.
func (r *round) takeGrants() {
	v := r.verdict()
	if v == nil || !bytes.Equal(v.Call, r.before.Call) { // The store lost the question, and the round before asked another one by its key.
		return
	}
	for _, a := range r.before.Awaits {
		if slices.ContainsFunc(v.Granted, func(d []byte) bool { return bytes.Equal(d, a.Digest) }) {
			r.holds.Approved = append(r.holds.Approved, approved{Name: a.Name, Digest: a.Digest, By: v.By})
			r.countConsents(telemetry.ApprovalGranted, []string{a.Name})
		}
	}
}

// stillValid refuses the call if the requester's credentials expired, or were revoked, while it
// waited.
func (r *round) stillValid(ctx context.Context) error {
	if r.before.Awaits == nil {
		return nil
	}
	who := &r.call.Principal
	var why error
	if until := who.Until; !until.IsZero() && !time.Now().Before(until) {
		why = fmt.Errorf("the credentials with which it was made expired at %s", until.UTC().Format(time.RFC3339))
	} else if r.d.opts.Revoked != nil {
		why = r.d.opts.Revoked(who)
	}
	if why == nil {
		return nil
	}
	names := r.before.awaited()
	return r.allowed.Unapproved(ctx, r.call, names[0], mcp.Errorf(mcp.KindForbidden, "the call was not run: %w, before it had the %s; "+
		"call again with valid credentials, and poll the task with new ones before those expire", why, approvals(names)))
}

// awaitApproval returns the question for approvals, or refuses a call that cannot wait for them.
func (r *round) awaitApproval(ctx context.Context, missing []policy.Obligation, args json.RawMessage) (*mcp.InputRequired, error) {
	names := namesOf(missing)
	if refused := r.cannotWait(names); refused != nil {
		r.countConsents(telemetry.ApprovalDenied, names)
		return nil, r.allowed.Unapproved(ctx, r.call, names[0], refused)
	}
	next, isKept := r.nextQuestion(args)
	for i := range missing {
		next.Awaits = append(next.Awaits, agreement{Name: missing[i].Name, Digest: missing[i].Digest[:]})
	}
	if !isKept {
		return nil, r.allowed.Unapproved(ctx, r.call, names[0], mcp.Errorf(mcp.KindForbidden, "the call needs the %s and cannot wait for it: "+
			"answers that the tool does not have yet are larger than %d bytes", approvals(names), mcp.MaxState))
	}
	params, err := json.Marshal(r.approval(missing, args))
	if err != nil {
		return nil, err
	}
	if err := r.endAnswered(ctx); err != nil {
		return nil, err
	}
	if err := r.allowed.Await(ctx, r.call, names[0]); err != nil {
		return nil, err
	}
	r.countConsents(telemetry.ApprovalRequested, names)
	return &mcp.InputRequired{
		Requests: []mcp.InputRequest{{Key: mcp.ApprovalKey, Method: mcp.MethodApprove, Params: params}},
		State:    r.stateAfter(next),
	}, nil
}

// cannotWait returns why a call cannot wait for approvals; nil if it can.
func (r *round) cannotWait(names []string) *mcp.Error {
	refuse := func(format string, args ...any) *mcp.Error {
		return mcp.Errorf(mcp.KindForbidden, "the call needs the %s, and "+format, append([]any{approvals(names)}, args...)...)
	}
	owner := r.named.Tool.Owner
	switch {
	case r.call.Principal.Anonymous():
		return refuse("an anonymous caller cannot be compared with who approves: call with an access token")
	case owner.AsksToProve():
		return refuse("calls of the backend %q cannot wait for one: they need a token of the caller, which is not stored", owner.Name())
	case r.call.Task != nil && r.call.Task.ID != "":
		return nil
	case r.rules.Stateless && r.call.Client.Capabilities.Extension(mcp.ExtensionTasks): // The settings, or a hook, have changed meanwhile.
		return mcp.Errorf(mcp.KindForbidden, "the call was not run: it needs the %s, which only showed after it had begun, too late to become a task: "+
			"send it again", approvals(names))
	case r.rules.Stateless:
		e := refuse("waits for it as a task: send %q:{} in the extensions of %s with the request", mcp.ExtensionTasks, mcp.MetaCapabilities)
		e.Kind, e.Data = mcp.KindMissingCapability, []byte(`{"requiredCapabilities":{"extensions":{"`+mcp.ExtensionTasks+`":{}}}}`)
		return e
	case r.rules.Tasks:
		return refuse(`waits for it as a task: send "task":{} in the params`)
	}
	return refuse("waits for it as a task: protocol version %s and later have tasks", revision.Since(func(r *revision.Rules) bool { return r.Tasks }))
}

// approval returns the question for approvals.
func (r *round) approval(missing []policy.Obligation, args json.RawMessage) *mcp.Approval {
	t := r.named.Tool
	a := &mcp.Approval{
		Call: r.digest(args), Names: namesOf(missing), Requester: r.call.Principal, Tool: t.Target.Name, Shown: r.call.Params.Sent.Target, Backend: t.Owner.Name(), Set: r.call.Set,
		ReadOnly: t.Target.Hints.ReadOnly, Destructive: t.Target.Hints.Destructive, Idempotent: t.Target.Hints.Idempotent, OpenWorld: t.Target.Hints.OpenWorld,
		Arguments: args, Message: r.question(redact.Audit, missing, args),
	}
	wait := missing[0].Expires()
	for i := range missing {
		a.Digests = append(a.Digests, missing[i].Digest[:])
		wait = min(wait, missing[i].Expires())
	}
	a.Expires = time.Now().Add(wait)
	if until := r.call.Task.Until; until.Before(a.Expires) {
		a.Expires = until
	}
	return a
}
