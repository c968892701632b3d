package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// confirmKey is the key of the question for a confirmation.
const confirmKey = mcp.OwnKeys + "confirm"

// confirmForm requests a boolean.
const confirmForm = `{"type":"object","properties":{"confirm":{"type":"boolean","title":"Confirm","description":"Run it as shown"}},"required":["confirm"]}`

// confirm asks the user for the confirmations that the round requires. It returns nil, nil if the call may run.
func (r *round) confirm(ctx context.Context, args json.RawMessage) (*mcp.InputRequired, error) {
	switch r.consent {
	case notRequired, lapsed:
		return nil, nil
	case answered:
		if why := refusalOf(r.answer); why != "" {
			return nil, r.unconfirmed(ctx, why)
		}
		r.confirmed = true
		return nil, nil
	}
	known, err := r.knowsAll(ctx)
	if err != nil {
		return nil, err
	}
	if known {
		r.confirmed = true
		return nil, nil
	}
	return r.ask(ctx, args)
}

// knowsAll reports whether all confirmations that the round requires are remembered for the caller.
func (r *round) knowsAll(ctx context.Context) (bool, error) {
	if r.call.Principal.Anonymous() {
		return false, nil
	}
	for i := range r.obligations {
		if r.obligations[i].Remember == 0 {
			return false, nil
		}
	}
	for i := range r.obligations {
		known, err := r.d.opts.Confirmations.Spent(ctx, r.call.Principal.Key(), r.remembered(&r.obligations[i]))
		if err != nil {
			return false, unspent(err)
		}
		if !known {
			return false, nil
		}
	}
	return true, nil
}

// ask returns the question, or refuses the call of a client that cannot be asked.
func (r *round) ask(ctx context.Context, args json.RawMessage) (*mcp.InputRequired, error) {
	text := r.question(r.obligations, args)
	in := &pb.InputRequired{Requests: []*pb.InputRequest{{Key: confirmKey, Request: &pb.InputRequest_ElicitForm{
		ElicitForm: &pb.ElicitForm{Message: text, RequestedSchemaJson: confirmForm},
	}}}}
	if missing := translate.MissingCapability(r.rules, r.call.Client.Capabilities, in); missing != nil {
		refused := &mcp.Error{Kind: mcp.KindForbidden, Data: missing.Data,
			Message: fmt.Sprintf("the user must confirm this call (%s) and cannot be asked: %s", r.confirmations(), missing.Message)}
		if r.rules.Stateless {
			refused.Kind = mcp.KindMissingCapability
		}
		return nil, r.refuse(ctx, refused)
	}
	out, err := translate.OwnInput(r.rules, in)
	if err != nil {
		return nil, err
	}
	asked := consent{Call: r.digest(args), Asked: true, Rounds: r.before.Rounds + 1}
	r.issue(&asked)
	if !asked.keep(r.call.Responses) {
		return nil, r.refuse(ctx, mcp.Errorf(mcp.KindForbidden, "the user must confirm this call (%s) and cannot be asked: "+
			"answers that the tool does not have yet are larger than %d bytes; call again without requestState", r.confirmations(), mcp.MaxState))
	}
	out.State = asked.seal(r.misfits.seal(r.call.State))
	if binder, ok := r.sink.(mcp.Binder); ok {
		binder.Bind(r.named.Tool.Owner.Name())
	}
	return out, nil
}

// unconfirmed refuses a call that the user did not confirm. The question is not answered again: unless that is
// recorded, the client has to send the answer once more.
func (r *round) unconfirmed(ctx context.Context, why string) error {
	if err := r.use(ctx); err != nil {
		return r.chargeUnused(ctx, err)
	}
	refused := mcp.Errorf(mcp.KindForbidden, "the call was not run: %s (%s)", why, r.confirmations())
	return r.refuse(ctx, refused)
}

// refuse records that the call is refused for lack of its first confirmation.
func (r *round) refuse(ctx context.Context, err *mcp.Error) error {
	return r.allowed.Refuse(ctx, r.call, r.obligations[0].Name, err)
}

// confirmations names the confirmations that the round requires.
func (r *round) confirmations() string {
	names := make([]string, len(r.obligations))
	for i := range r.obligations {
		names[i] = strconv.Quote(r.obligations[i].Name)
	}
	return "confirmation " + strings.Join(names, ", ")
}

// refusalOf returns why an answer does not confirm. Empty means that it does. The names of members are compared exactly.
func refusalOf(answer *mcp.InputResponse) string {
	const (
		declined = "the user declined to confirm it"
		unknown  = "the client's answer is no confirmation"
	)
	if _, ok := translate.Answered(mcp.MethodElicit, answer.Result); !ok {
		return unknown
	}
	member, _ := jsonrpc.Member(answer.Result, "action")
	switch action, _ := jsonrpc.Unquote(member); action {
	case "accept":
	case "decline":
		return declined
	case "cancel":
		return "the user dismissed the question for confirmation"
	default:
		return unknown
	}
	content, _ := jsonrpc.Member(answer.Result, "content")
	confirm, given := jsonrpc.Member(content, "confirm")
	switch {
	case string(confirm) == "true":
		return ""
	case given && string(confirm) != "false", len(content) > 0 && jsonrpc.TypeOf(content) != jsonrpc.Object:
		return unknown
	}
	return declined
}
