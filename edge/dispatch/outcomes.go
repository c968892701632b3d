package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/dispatch/shorten"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/translate"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// The kinds of outcomes. Those with one pointer cost no allocation.
var (
	_ interface {
		checked
		shortenable
	} = toolResult{}
	_ checked = resourceResult{}
	_ checked = promptResult{}
	_ checked = suggestions{}
	_ checked = failure{}
	_ outcome = skillResult{}
	_ outcome = directoryResult{}
)

// toolResult is the result of a tool, which fits its output schema until secrets are replaced.
type toolResult struct{ *pb.CallToolResult }

func (o toolResult) message() *hookv1.Outcome {
	return &hookv1.Outcome{Outcome: &hookv1.Outcome_Tool{Tool: o.CallToolResult}}
}

func (o toolResult) replaced(r *round, with *hookv1.Outcome) (checked, error) {
	now := with.GetTool()
	if now == nil {
		return nil, errOtherKind
	}
	if err := r.checkOutputSchema(now); err != nil {
		return nil, fmt.Errorf("its result does not fit the tool: %w", err)
	}
	_, err := translate.ToolResult(r.rules, r.server(), mcp.Envelope{}, now)
	return toolResult{now}, err
}

func (o toolResult) redact(v *redact.View) outcome {
	v.Message(o.CallToolResult)
	return o
}

func (o toolResult) shorten(r *round) outcome {
	t := r.named.Tool
	if t.MaxTokens <= 0 {
		return o
	}
	short, cut := shorten.Result(o.CallToolResult, t.MaxTokens, t.Shown.GetInputSchemaJson(), t.Check.Ready().HasOutput)
	if cut {
		r.d.opts.Telemetry.Hit(telemetry.BoundToolResult)
	}
	return toolResult{short}
}

func (o toolResult) render(r *round) (mcp.Reply, error) {
	return r.rendered(translate.ToolResult(r.rules, r.server(), r.call.Envelope, o.CallToolResult))
}

// checkOutputSchema returns an error if the structured content of a result does not match the output
// schema of the round's tool.
func (r *round) checkOutputSchema(res *pb.CallToolResult) error {
	check := r.named.Tool.Check.Ready()
	if !check.HasOutput || res.GetIsError() {
		return nil
	}
	promise, err := check.Promised(res.GetStructuredContentJson())
	if err != nil {
		return err
	}
	return catalog.Misfit(r.checkResult(&promise))
}

// resourceResult is the contents of a resource, with the URIs that the client sees.
type resourceResult struct{ *pb.ReadResourceResult }

func (o resourceResult) message() *hookv1.Outcome {
	return &hookv1.Outcome{Outcome: &hookv1.Outcome_Resource{Resource: o.ReadResourceResult}}
}

func (o resourceResult) replaced(r *round, with *hookv1.Outcome) (checked, error) {
	now := with.GetResource()
	if now == nil {
		return nil, errOtherKind
	}
	if len(now.GetContents()) != len(o.GetContents()) {
		return nil, fmt.Errorf("it replaces %d contents by %d", len(o.GetContents()), len(now.GetContents()))
	}
	for i, c := range now.GetContents() {
		if c.GetUri() != o.GetContents()[i].GetUri() {
			return nil, errors.New("its contents have other URIs")
		}
	}
	now.Cache = o.GetCache()
	_, err := translate.ReadResult(r.rules, r.server(), mcp.Envelope{}, now)
	return resourceResult{now}, err
}

func (o resourceResult) redact(v *redact.View) outcome {
	v.Message(o.ReadResourceResult)
	return o
}

func (o resourceResult) render(r *round) (mcp.Reply, error) {
	if r.call.Params.Wrapped != nil {
		return r.rendered(translate.ReadToolResult(r.rules, r.server(), r.call.Envelope, r.call.Params.Target, o.ReadResourceResult))
	}
	return r.rendered(translate.ReadResult(r.rules, r.server(), r.call.Envelope, o.ReadResourceResult))
}

// promptResult is the messages of a prompt.
type promptResult struct{ *pb.GetPromptResult }

func (o promptResult) message() *hookv1.Outcome {
	return &hookv1.Outcome{Outcome: &hookv1.Outcome_Prompt{Prompt: o.GetPromptResult}}
}

func (o promptResult) replaced(r *round, with *hookv1.Outcome) (checked, error) {
	now := with.GetPrompt()
	if now == nil {
		return nil, errOtherKind
	}
	_, err := translate.PromptResult(r.rules, r.server(), now)
	return promptResult{now}, err
}

func (o promptResult) redact(v *redact.View) outcome {
	v.Message(o.GetPromptResult)
	return o
}

func (o promptResult) render(r *round) (mcp.Reply, error) {
	result, err := translate.PromptResult(r.rules, r.server(), o.GetPromptResult)
	return r.rendered(mcp.Reply{Result: result}, err)
}

// suggestions are those of a completion.
type suggestions struct {
	values []string
	total  *int32
	more   bool
}

func (o suggestions) message() *hookv1.Outcome {
	return &hookv1.Outcome{Outcome: &hookv1.Outcome_Values{Values: &hookv1.Values{Values: o.values}}}
}

func (o suggestions) replaced(_ *round, with *hookv1.Outcome) (checked, error) {
	if with.GetValues() == nil {
		return nil, errOtherKind
	}
	o.values = with.GetValues().GetValues()
	return o, nil
}

func (o suggestions) redact(v *redact.View) outcome {
	o.values = slices.Clone(o.values)
	for i := range o.values {
		o.values[i] = v.Text(o.values[i])
	}
	return o
}

func (o suggestions) render(r *round) (mcp.Reply, error) {
	return mcp.Reply{Result: translate.CompleteResult(r.rules, r.server(), o.values, o.total, o.more)}, nil
}

// skillResult is a skill, which no hooks check.
type skillResult struct{ *pb.GetSkillResponse }

func (o skillResult) redact(v *redact.View) outcome {
	v.Message(o.GetSkillResponse)
	return o
}

func (o skillResult) render(r *round) (mcp.Reply, error) {
	return r.rendered(translate.SkillResult(r.rules, r.server(), r.call.Envelope, o.GetSkillResponse))
}

// directoryResult is a page of a directory, which no hooks check.
type directoryResult struct {
	children []*pb.Resource
	// next is the cursor of the next page. Empty means that there is none.
	next string
}

func (o directoryResult) redact(v *redact.View) outcome {
	for _, c := range o.children {
		v.Message(c)
	}
	return o
}

func (o directoryResult) render(r *round) (mcp.Reply, error) {
	return r.rendered(translate.DirectoryResult(r.rules, r.server(), r.call.Envelope, o.children, o.next))
}

// rendered returns the reply for a result. If the result cannot be rendered, the error names the
// backend as the cause.
func (r *round) rendered(reply mcp.Reply, err error) (mcp.Reply, error) {
	if err != nil {
		return mcp.Reply{}, r.nameBackend(err)
	}
	return reply, nil
}

// failure is an error with which the round ends.
type failure struct{ *mcp.Error }

// isOfBackend reports whether the backend may have a part in the text of the error.
func (o failure) isOfBackend() bool {
	switch o.Kind {
	case mcp.KindCancelled, mcp.KindUnknownOutcome, mcp.KindOverloaded, mcp.KindStateUnavailable, mcp.KindLimit, mcp.KindMissingCapability:
		return false
	}
	return true
}

func (o failure) message() *hookv1.Outcome {
	return &hookv1.Outcome{Outcome: &hookv1.Outcome_Error{Error: &hookv1.Error{Message: o.Message, DataJson: string(o.Data)}}}
}

func (o failure) replaced(_ *round, with *hookv1.Outcome) (checked, error) {
	now := with.GetError()
	switch {
	case now == nil:
		return nil, errOtherKind
	case now.GetMessage() == "":
		return nil, errors.New("its error has no message")
	case now.GetDataJson() != "" && !jsonrpc.Valid([]byte(now.GetDataJson())):
		return nil, errors.New("its data_json is not valid JSON")
	}
	changed := *o.Error
	changed.Message, changed.Data = mcp.ClipText(now.GetMessage()), nil
	changed.Err, changed.Reason = nil, "" // they would repeat the text that the hook has replaced
	if now.GetDataJson() != "" {
		changed.Data = jsonrpc.Compact(nil, json.RawMessage(now.GetDataJson()))
	}
	return failure{&changed}, nil
}

// redact replaces secrets in the parts of the error that clients see. It does not change the cause,
// which only logs have; logs replace secrets themselves.
func (o failure) redact(v *redact.View) outcome {
	masked := *o.Error
	masked.Message = v.Text(o.Message)
	if len(o.Data) > 0 {
		masked.Data = []byte(v.JSON(string(o.Data)))
	}
	return failure{&masked}
}

// render returns the error or, for the call of a tool, a result if a model can act on it.
func (o failure) render(r *round) (mcp.Reply, error) {
	if r.call.Method == mcp.MethodToolsCall {
		if result, ok := translate.ToolError(r.rules, r.server(), o.Error); ok {
			return mcp.Reply{Result: result, ToolError: true}, nil
		}
	}
	return mcp.Reply{}, o.Error
}
