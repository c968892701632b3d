package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/hook"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/translate"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// hookOutcome asks the hooks about what the backend has returned, and returns what they leave of it. accept returns why a replacement
// cannot be used. It is called once in a round, with the rest of which it shares no deadline: the backend has returned.
func (r *round) hookOutcome(out *hookv1.Outcome, accept func(*hookv1.Outcome) error) (*hookv1.Outcome, error) {
	r.hooks.checked = true
	err := r.at(hook.Result, func(h *hook.Hook) (hook.Decision, error) {
		req := &hookv1.CheckResultRequest{Call: r.hookCall(h), Outcome: out}
		most := r.named.Backend.MaxMessageBytes()
		if n := proto.Size(req); n > smallCheck { // The outcome is in memory already.
			bytes := int64(n + hook.Limit(n, most))
			r.call.Memory.Force(budget.Checks, bytes)
			defer r.call.Memory.Shrink(budget.Checks, bytes)
		}
		return h.CheckResult(r.hooks.ctx, req, most, func(with *hookv1.Outcome) error {
			if err := accept(with); err != nil {
				return err
			}
			if !h.IsAudit() {
				out = with
			}
			return nil
		})
	})
	return out, err
}

var errOtherKind = errors.New("its outcome is of another kind than the one that it was asked about")

// hookTool is hookOutcome for the result of a tool, which fits its schema.
func (r *round) hookTool(check *catalog.ToolCheck, res *pb.CallToolResult) (*pb.CallToolResult, error) {
	if r.hooks == nil {
		return res, nil
	}
	out, err := r.hookOutcome(&hookv1.Outcome{Outcome: &hookv1.Outcome_Tool{Tool: res}}, func(with *hookv1.Outcome) error {
		now := with.GetTool()
		if now == nil {
			return errOtherKind
		}
		if check.HasOutput && !now.GetIsError() {
			promise, err := check.Promised(now.GetStructuredContentJson())
			if err == nil {
				err = catalog.Misfit(r.checkResult(&promise))
			}
			if err != nil {
				return fmt.Errorf("its result does not fit the tool: %w", err)
			}
		}
		_, err := translate.ToolResult(r.rules, r.server(), mcp.Envelope{}, now)
		return err
	})
	return out.GetTool(), err
}

// hookResource is hookOutcome for contents.
func (r *round) hookResource(res *pb.ReadResourceResult) (*pb.ReadResourceResult, error) {
	if r.hooks == nil {
		return res, nil
	}
	out, err := r.hookOutcome(&hookv1.Outcome{Outcome: &hookv1.Outcome_Resource{Resource: res}}, func(with *hookv1.Outcome) error {
		now := with.GetResource()
		if now == nil {
			return errOtherKind
		}
		if len(now.GetContents()) != len(res.GetContents()) {
			return fmt.Errorf("it replaces %d contents by %d", len(res.GetContents()), len(now.GetContents()))
		}
		for i, c := range now.GetContents() {
			if c.GetUri() != res.GetContents()[i].GetUri() {
				return errors.New("its contents have other URIs")
			}
		}
		now.Cache = res.GetCache()
		_, err := translate.ReadResult(r.rules, r.server(), mcp.Envelope{}, now)
		return err
	})
	return out.GetResource(), err
}

// hookPrompt is hookOutcome for the messages of a prompt.
func (r *round) hookPrompt(res *pb.GetPromptResult) (*pb.GetPromptResult, error) {
	if r.hooks == nil {
		return res, nil
	}
	out, err := r.hookOutcome(&hookv1.Outcome{Outcome: &hookv1.Outcome_Prompt{Prompt: res}}, func(with *hookv1.Outcome) error {
		now := with.GetPrompt()
		if now == nil {
			return errOtherKind
		}
		_, err := translate.PromptResult(r.rules, r.server(), now)
		return err
	})
	return out.GetPrompt(), err
}

// hookValues is hookOutcome for suggestions.
func (r *round) hookValues(values []string) ([]string, error) {
	if r.hooks == nil {
		return values, nil
	}
	out, err := r.hookOutcome(&hookv1.Outcome{Outcome: &hookv1.Outcome_Values{Values: &hookv1.Values{Values: values}}}, func(with *hookv1.Outcome) error {
		if with.GetValues() == nil {
			return errOtherKind
		}
		return nil
	})
	return out.GetValues().GetValues(), err
}

// hookError is hookOutcome for an error of the backend. Errors whose texts are the edge's alone are not checked.
func (r *round) hookError(err error) error {
	e := mcp.AsError(err)
	if r.hooks == nil || r.hooks.checked {
		return err
	}
	switch e.Kind {
	case mcp.KindCancelled, mcp.KindUnknownOutcome, mcp.KindOverloaded, mcp.KindStateUnavailable, mcp.KindLimit, mcp.KindMissingCapability:
		return err
	}
	was := &hookv1.Error{Message: e.Message, DataJson: string(e.Data)}
	out, refused := r.hookOutcome(&hookv1.Outcome{Outcome: &hookv1.Outcome_Error{Error: was}}, func(with *hookv1.Outcome) error {
		now := with.GetError()
		switch {
		case now == nil:
			return errOtherKind
		case now.GetMessage() == "":
			return errors.New("its error has no message")
		case now.GetDataJson() != "" && !jsonrpc.Valid([]byte(now.GetDataJson())):
			return errors.New("its data_json is no valid JSON")
		}
		return nil
	})
	if refused != nil {
		return refused
	}
	now := out.GetError()
	if now == was {
		return err
	}
	changed := *e
	changed.Message, changed.Data = mcp.ClipText(now.GetMessage()), nil
	changed.Err, changed.Reason = nil, "" // They repeat what the hook has replaced.
	if now.GetDataJson() != "" {
		changed.Data = jsonrpc.Compact(nil, json.RawMessage(now.GetDataJson()))
	}
	return &changed
}
