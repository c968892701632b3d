package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/hook"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
)

// hookState is the state of a round's hooks.
type hookState struct {
	chain *hook.Chain
	// ctx is that of the round without the deadline of the backend.
	ctx context.Context
	// checked is true once the hooks have checked the outcome of the backend.
	checked bool
}

// startHooks keeps the hooks in force, if there are any for the round, to its end.
func (r *round) startHooks(ctx context.Context) error {
	if r.named.Backend == nil || r.named.Policy == nil || r.target.Misused != nil || !checksMethod(r.call.Method) {
		return nil
	}
	chain, err := r.d.acquireHooks()
	if err == nil && chain != nil {
		r.hooks = &hookState{chain: chain, ctx: ctx}
	}
	return err
}

// release ends the use of the hooks of a round. h may be nil.
func (h *hookState) release() {
	if h != nil {
		h.chain.Release()
	}
}

// checksMethod reports whether hooks check requests of a method.
func checksMethod(m mcp.Method) bool {
	switch m {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.MethodResourcesRead, mcp.MethodComplete:
		return true
	}
	return false
}

// replacesRequests reports whether hooks may replace arguments.
func (d *Dispatch) replacesRequests() bool {
	if d.opts.Hooks == nil {
		return false
	}
	chain := d.opts.Hooks()
	return chain != nil && slices.ContainsFunc(chain.Hooks(), func(h *hook.Hook) bool { return h.On(hook.Request) && !h.IsAudit() })
}

// acquireHooks returns the hooks in force, or nil if there are none. The caller must release them.
func (d *Dispatch) acquireHooks() (*hook.Chain, error) {
	if d.opts.Hooks == nil {
		return nil, nil
	}
	for chain := d.opts.Hooks(); chain != nil; {
		if chain.Acquire() {
			return chain, nil
		}
		next := d.opts.Hooks()
		if next == chain {
			return nil, mcp.ShuttingDown()
		}
		chain = next
	}
	return nil, nil
}

// runHooks calls ask for each hook that checks the round at a point, until one refuses, and records the
// decisions. ask returns the hook's decision, or the error that ends the round.
func (r *round) runHooks(p hook.Point, ask func(*hook.Hook) (hook.Decision, error)) error {
	var made []hook.Decision
	var refused error
	before := r.call
	for _, h := range r.hooks.chain.Hooks() {
		if !h.On(p) || !h.Matches(&r.call.Principal, r.named.Policy, r.policyArguments()) {
			continue
		}
		d, err := ask(h)
		if err != nil {
			return err
		}
		if effect := d.Trial(); effect != "" {
			r.d.opts.Telemetry.RecordTrial(r.hooks.ctx, mcp.Trial{Effect: effect, By: "hook", Rule: d.Name})
		}
		if made = append(made, d); d.Refuses() {
			refused = r.refusedBy(&d)
			break
		}
	}
	if !slices.ContainsFunc(made, func(d hook.Decision) bool { return d.Outcome != hook.Passed && !d.Would }) {
		return nil
	}
	return r.allowed.RecordHooks(r.hooks.ctx, before, made, refused)
}

// refusedBy returns the error of a round that a hook refuses.
func (r *round) refusedBy(d *hook.Decision) *mcp.Error {
	what := ""
	if d.On == hook.Result {
		what = "the result is withheld: "
		if r.effects {
			what = "the tool ran, and its result is withheld: "
		}
	}
	e := &mcp.Error{Kind: mcp.KindForbidden}
	switch {
	case d.Outcome == hook.Denied && d.Reason != "":
		e.Message = fmt.Sprintf("%sforbidden by the hook %q: %s", what, d.Name, d.Reason)
	case d.Outcome == hook.Denied:
		e.Message = fmt.Sprintf("%sforbidden by the hook %q", what, d.Name)
	case d.Outcome == hook.Busy && d.On != hook.Result:
		e.Kind = mcp.KindLimit
		e.Message = fmt.Sprintf("the hook %q, which checks this request, is busy; try again later", d.Name)
	case d.Outcome == hook.Busy:
		e.Message = fmt.Sprintf("%sthe hook %q, which checks it, is busy", what, d.Name)
	default:
		e.Message = fmt.Sprintf("%sforbidden: the hook %q, which must check it, failed", what, d.Name)
		if d.On != hook.Result {
			e.Message += "; try again later"
		}
	}
	if d.Outcome != hook.Denied {
		e.Reason = fmt.Sprintf("hook %q: %s", d.Name, d.Reason)
		if d.On == hook.Result && r.effects {
			e.Message += "; check whether it took effect before you call it again"
		}
	}
	return e
}

// hookRequest makes the hooks check the request and the client's answers. If one replaces the
// arguments, rules, scopes and confirmations are decided again.
func (r *round) hookRequest() error {
	if r.hooks == nil {
		return nil
	}
	switch r.call.Method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet: // The others have no arguments, whatever the client sent.
		if _, err := r.arguments(); err != nil {
			return err
		}
	}
	replaced := false
	err := r.runHooks(hook.Request, func(h *hook.Hook) (hook.Decision, error) {
		req := &hookv1.CheckRequestRequest{Call: r.hookCall(h)}
		release, err := r.holdFor(req)
		if err != nil {
			return r.hookWithoutMemory(h, hook.Request, err)
		}
		defer release()
		return h.CheckRequest(r.hooks.ctx, req, r.named.Backend.MaxMessageBytes(), func(with *hookv1.RequestReplacement) error {
			changed, err := r.replaceBy(with)
			if err != nil || h.IsAudit() {
				return err
			}
			r.call, replaced = changed, true
			return nil
		})
	})
	if err == nil && len(r.call.Responses) > 0 {
		err = r.hookAnswers()
	}
	if err != nil || !replaced {
		return err
	}
	return r.applyRules(r.hooks.ctx)
}

// replaceBy returns the call with the arguments that a hook returned, in the form that the backend
// reads. An error means that they cannot be used.
func (r *round) replaceBy(with *hookv1.RequestReplacement) (*mcp.Call, error) {
	t, p := r.named.Tool, r.named.Prompt
	args := json.RawMessage(with.GetArgumentsJson())
	switch {
	case len(with.GetAnswers()) > 0:
		return nil, errors.New("it replaces answers in the check of a request")
	case r.named.Completion != nil || t == nil && p == nil:
		return nil, fmt.Errorf("it replaces arguments of %s, which has none to replace", r.call.Method)
	case jsonrpc.TypeOf(args) != jsonrpc.Object:
		return nil, errors.New("its arguments_json is not a JSON object")
	}
	if found, ok := jsonrpc.SurveyOf(args, r.d.opts.ArgumentValues); !ok || found.TooMany || found.Repeated {
		return nil, errors.New("its arguments_json is not valid JSON, has a name twice, or has too many values")
	}
	was, err := r.arguments()
	if err != nil {
		return nil, err
	}
	pins := r.argumentChanges()
	other := *r // replaced arguments are read as those of a round
	call := *r.call
	other.call = &call
	call.Params.Arguments = jsonrpc.Compact(nil, args)
	if t != nil {
		other.forTool(t)
	} else if err := onlyTexts(args); err != nil {
		return nil, err
	}
	now, err := other.arguments()
	if err != nil {
		return nil, err
	}
	for _, one := range []json.RawMessage{args, now} {
		if !samePins(pins, was, one) {
			return nil, errors.New("it changes, adds or removes an argument that the edge pins")
		}
	}
	call.Params.SetAdded(stillAdded(call.Params.Added(), pins, was, now))
	return other.call, nil
}

// argumentChanges returns the changes of the catalog to the arguments of the round's tool or prompt.
func (r *round) argumentChanges() []overlay.Argument {
	if r.named.Tool != nil {
		return r.named.Tool.Arguments
	}
	return r.named.Prompt.Arguments
}

// onlyTexts returns an error for arguments of a prompt that are not strings.
func onlyTexts(args json.RawMessage) error {
	return jsonrpc.Members(args, func(name string, value json.RawMessage) error {
		if jsonrpc.TypeOf(value) != jsonrpc.String {
			return fmt.Errorf("its argument %.80q of a prompt is not a string", name)
		}
		return nil
	})
}

// hookAnswers asks the hooks about the client's answers to the questions of the round before.
func (r *round) hookAnswers() error {
	return r.runHooks(hook.Answer, func(h *hook.Hook) (hook.Decision, error) {
		req := &hookv1.CheckRequestRequest{Call: r.hookCall(h)}
		for i := range r.call.Responses {
			a := &r.call.Responses[i]
			req.Answers = append(req.Answers, &hookv1.Answer{Key: a.Key, Method: string(a.Method), ResultJson: string(a.Result)})
		}
		release, err := r.holdFor(req)
		if err != nil {
			return r.hookWithoutMemory(h, hook.Answer, err)
		}
		defer release()
		return h.CheckRequest(r.hooks.ctx, req, r.named.Backend.MaxMessageBytes(), func(with *hookv1.RequestReplacement) error {
			answers, err := r.answersOf(with)
			if err != nil || h.IsAudit() {
				return err
			}
			call := *r.call
			call.Responses = answers
			r.call = &call
			return nil
		})
	})
}

// answersOf returns the answers that a hook returned. An error means that they cannot be used.
func (r *round) answersOf(with *hookv1.RequestReplacement) ([]mcp.InputResponse, error) {
	given := r.call.Responses
	if with.GetArgumentsJson() != "" || len(with.GetAnswers()) != len(given) {
		return nil, fmt.Errorf("it received %d answers and replaces %d, or it replaces arguments", len(given), len(with.GetAnswers()))
	}
	out := slices.Clone(given)
	for i, a := range with.GetAnswers() {
		raw := json.RawMessage(a.GetResultJson())
		if a.GetKey() != given[i].Key {
			return nil, errors.New("the keys of its answers, or their order, differ from those that it received")
		}
		if found, ok := jsonrpc.SurveyOf(raw, r.d.opts.ArgumentValues); !ok || found.TooMany || found.Repeated || jsonrpc.TypeOf(raw) != jsonrpc.Object {
			return nil, errors.New("its result_json of an answer is not a JSON object, has a name twice, or has too many values")
		}
		out[i].Result = jsonrpc.Compact(nil, raw)
	}
	return out, nil
}

// hookWithoutMemory handles a hook that could not be consulted for lack of memory. err is the error of the
// budget. For a hook in audit mode it returns a decision without effect, and otherwise err.
func (r *round) hookWithoutMemory(h *hook.Hook, p hook.Point, err error) (hook.Decision, error) {
	if !h.IsAudit() {
		return hook.Decision{}, err
	}
	return h.Skip(r.hooks.ctx, p, err.Error()), nil
}

// holdFor charges the memory of a message to a hook and of the hook's response until release is
// called. Small messages are part of the charge of the request.
func (r *round) holdFor(req proto.Message) (release func(), _ error) {
	n := proto.Size(req)
	if n <= smallCheck {
		return func() {}, nil
	}
	bytes := int64(n + hook.Limit(n, r.named.Backend.MaxMessageBytes()))
	if err := r.call.Memory.Grow(budget.Checks, bytes); err != nil {
		return nil, mcp.Overloaded(err)
	}
	memory := r.call.Memory
	return func() { memory.Shrink(budget.Checks, bytes) }, nil
}
