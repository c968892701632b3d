package dispatch

import (
	"context"
	"encoding/json"
	"fmt"

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

// ask returns the question for obligations. It refuses the call if the client cannot be asked.
func (r *round) ask(ctx context.Context, obligations []policy.Obligation, args json.RawMessage) (*mcp.InputRequired, error) {
	names := namesOf(obligations)
	in := &pb.InputRequired{Requests: []*pb.InputRequest{{Key: confirmKey, Request: &pb.InputRequest_ElicitForm{
		ElicitForm: &pb.ElicitForm{Message: r.question(redact.Questions, obligations, args), RequestedSchemaJson: confirmForm},
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
	next, isKept := r.nextQuestion(args)
	if !isKept {
		return nil, r.allowed.Refuse(ctx, r.call, names[0], mcp.Errorf(mcp.KindForbidden, "the user must confirm this call (%s) and cannot be asked: "+
			"answers that the tool does not have yet are larger than %d bytes; call again without requestState", confirmations(names), mcp.MaxState))
	}
	if err := r.endAnswered(ctx); err != nil {
		return nil, err
	}
	r.countConsents(telemetry.ConfirmationAsked, names)
	next.Has, next.Asked = r.holds.Has, true
	out.State = r.stateAfter(next)
	return out, nil
}

// endUnconfirmed ends a call whose user was asked, if the answer does not confirm it.
func (r *round) endUnconfirmed(ctx context.Context) error {
	why, how := refusalOf(r.answer)
	if why == "" {
		return nil
	}
	if err := r.endQuestion(ctx, endedRefused); err != nil {
		return r.chargeUnused(ctx, err)
	}
	asked := r.before.asksFor()
	r.countConsents(how, asked)
	e := mcp.Errorf(mcp.KindForbidden, "the call was not run: %s", why)
	if len(asked) == 0 {
		return r.allowed.Refuse(ctx, r.call, "", e)
	}
	e.Message += " (" + confirmations(asked) + ")"
	return r.allowed.Refuse(ctx, r.call, asked[0], e)
}

// spendUnconfirmed spends the question of a call that the user did not confirm and that ends before
// endUnconfirmed runs.
func (r *round) spendUnconfirmed(ctx context.Context) {
	if len(r.call.State) == 0 {
		return
	}
	if r.setCall(r.call); r.state != consentAsks || r.answer == nil {
		return
	}
	if why, _ := refusalOf(r.answer); why != "" {
		_ = r.endQuestion(ctx, endedRefused) // The call has its error.
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
