package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// confirmKey is the key of the question for a confirmation.
const confirmKey = mcp.OwnKeys + "confirm"

// confirmForm requests a boolean.
const confirmForm = `{"type":"object","properties":{"confirm":{"type":"boolean","title":"Confirm","description":"Run it as shown"}},"required":["confirm"]}`

// endUnconfirmed ends a call that the user did not confirm. The answer alone decides, because the
// settings in force may require fewer confirmations than the question did.
func (r *round) endUnconfirmed(ctx context.Context) error {
	why, how := r.refusal()
	if why == "" {
		return nil
	}
	r.consent = answered
	if err := r.endQuestion(ctx, endedRefused); err != nil {
		return r.chargeUnused(ctx, err)
	}
	asked := r.before.asksFor()
	r.observeConfirmations(how, asked)
	e := mcp.Errorf(mcp.KindForbidden, "the call was not run: %s", why)
	if len(asked) == 0 {
		return r.allowed.Refuse(ctx, r.call, "", e)
	}
	e.Message += " (" + confirmations(asked) + ")"
	return r.allowed.Refuse(ctx, r.call, asked[0], e)
}

// refusal returns the reason for which the answer to the previous round's question does not
// confirm, and its outcome in metrics. Both are empty if there is no such answer, or if it
// confirms.
func (r *round) refusal() (why, outcome string) {
	if !r.before.asked() || r.answer == nil {
		return "", ""
	}
	return refusalOf(r.answer)
}

// spendUnconfirmed spends the question of a call that the user did not confirm and that ends before
// endUnconfirmed runs.
func (r *round) spendUnconfirmed(ctx context.Context) {
	if len(r.call.State) == 0 {
		return
	}
	r.setCall(r.call)
	if why, _ := r.refusal(); why != "" {
		_ = r.endQuestion(ctx, endedRefused) // The call has its error.
	}
}

// confirm asks the user for the confirmations that the round requires. It returns nil, nil if the
// call may run.
func (r *round) confirm(ctx context.Context, args json.RawMessage) (*mcp.InputRequired, error) {
	switch r.consent {
	case notRequired, lapsed:
		return nil, nil
	case answered:
		if bytes.Equal(r.before.Call, r.digest(args)) { // If not, no confirmation is required.
			r.confirmed = true
			r.setHeld(r.before.Has, r.holds.Approved)
		}
		return nil, nil
	}
	missing, err := r.recall(ctx)
	if err != nil {
		return nil, err
	}
	if len(missing) == 0 {
		r.confirmed = true
		return nil, nil
	}
	return r.ask(ctx, missing, args)
}

// recall returns the obligations that the user still has to confirm: the others are remembered for
// the caller. It sets what the round has once these are confirmed.
func (r *round) recall(ctx context.Context) (missing []policy.Obligation, _ error) {
	has := make([]agreement, len(r.required.confirmations))
	r.setHeld(has, r.holds.Approved)
	for i := range r.required.confirmations {
		o := &r.required.confirmations[i]
		has[i] = agreement{Name: o.Name, Digest: o.Digest[:]}
		if o.Remember > 0 && !r.call.Principal.Anonymous() {
			known, err := r.d.opts.Confirmations.Spent(ctx, r.call.Principal.Key(), r.remembered(o))
			if err != nil {
				return nil, spendError(err)
			}
			has[i].Remembered = known
		}
		if !has[i].Remembered {
			missing = append(missing, *o)
		}
	}
	return missing, nil
}

// ask returns the question for obligations. It refuses the call if the client cannot be asked. The
// previous question is spent with its answer.
func (r *round) ask(ctx context.Context, obligations []policy.Obligation, args json.RawMessage) (*mcp.InputRequired, error) {
	names := namesOf(obligations)
	text := r.question(redact.Questions, obligations, args)
	in := &pb.InputRequired{Requests: []*pb.InputRequest{{Key: confirmKey, Request: &pb.InputRequest_ElicitForm{
		ElicitForm: &pb.ElicitForm{Message: text, RequestedSchemaJson: confirmForm},
	}}}}
	if missing := translate.MissingCapability(r.rules, r.call.Client.Capabilities, in); missing != nil {
		refused := &mcp.Error{Kind: mcp.KindForbidden, Data: missing.Data,
			Message: fmt.Sprintf("the user must confirm this call (%s) and cannot be asked: %s", confirmations(names), missing.Message)}
		if r.rules.Stateless {
			refused.Kind = mcp.KindMissingCapability
		}
		return nil, r.allowed.Refuse(ctx, r.call, names[0], refused)
	}
	out, err := translate.OwnInput(r.rules, in)
	if err != nil {
		return nil, err
	}
	asked := consent{Call: r.digest(args), Has: r.holds.Has, Asked: true, Approved: r.holds.Approved, Rounds: r.before.Rounds + 1}
	r.issueNonce(&asked)
	if !asked.keep(r.call.Responses) {
		return nil, r.allowed.Refuse(ctx, r.call, names[0], mcp.Errorf(mcp.KindForbidden, "the user must confirm this call (%s) and cannot be asked: "+
			"answers that the tool does not have yet are larger than %d bytes; call again without requestState", confirmations(names), mcp.MaxState))
	}
	if err := r.endAnswered(ctx); err != nil {
		return nil, err
	}
	r.observeConfirmations(telemetry.ConfirmationAsked, names)
	out.State = asked.prepend(r.misfits.prepend(r.call.State))
	if binder, ok := r.sink.(mcp.Binder); ok {
		binder.Bind(r.named.Tool.Owner.Name())
	}
	return out, nil
}

// endAnswered spends the previous round's question if it was answered and another question follows.
func (r *round) endAnswered(ctx context.Context) error {
	if r.answer == nil {
		return nil
	}
	if err := r.endQuestion(ctx, endedAsked); err != nil {
		return err
	}
	if r.before.asked() {
		r.observeConfirmations(telemetry.ConfirmationAccepted, r.before.asksFor())
	}
	return nil
}

func namesOf(obligations []policy.Obligation) []string {
	names := make([]string, len(obligations))
	for i := range obligations {
		names[i] = obligations[i].Name
	}
	return names
}

// asksFor returns the names of the confirmations that a question was about.
func (c *consent) asksFor() (names []string) {
	for i := range c.Has {
		if !c.Has[i].Remembered {
			names = append(names, c.Has[i].Name)
		}
	}
	return names
}

// confirmations names confirmations in an error.
func confirmations(names []string) string {
	quoted := make([]string, len(names))
	for i := range names {
		quoted[i] = strconv.Quote(names[i])
	}
	return "confirmation " + strings.Join(quoted, ", ")
}

// observeConfirmations counts an outcome of each of confirmations.
func (r *round) observeConfirmations(outcome string, names []string) {
	for _, name := range names {
		r.d.opts.Telemetry.Confirmation(name, outcome)
	}
}

// refusalOf returns the reason for which an answer does not confirm, and its outcome in metrics.
// Both are empty if it does. Names of members are compared exactly.
func refusalOf(answer *mcp.InputResponse) (why, outcome string) {
	const (
		declined = "the user declined to confirm it"
		unknown  = "the client's answer is not a confirmation"
	)
	if _, ok := translate.Answered(mcp.MethodElicit, answer.Result); !ok {
		return unknown, telemetry.ConfirmationInvalid
	}
	member, _ := jsonrpc.Member(answer.Result, "action")
	switch action, _ := jsonrpc.Unquote(member); action {
	case "accept":
	case "decline":
		return declined, telemetry.ConfirmationDeclined
	case "cancel":
		return "the user dismissed the question for confirmation", telemetry.ConfirmationDismissed
	default:
		return unknown, telemetry.ConfirmationInvalid
	}
	content, _ := jsonrpc.Member(answer.Result, "content")
	confirm, given := jsonrpc.Member(content, "confirm")
	switch {
	case string(confirm) == "true":
		return "", ""
	case string(confirm) == "false":
		return declined, telemetry.ConfirmationDeclined
	case given, len(content) > 0 && jsonrpc.TypeOf(content) != jsonrpc.Object:
		return unknown, telemetry.ConfirmationInvalid
	}
	return "the client's answer is incomplete: its content has no confirm", telemetry.ConfirmationInvalid
}
