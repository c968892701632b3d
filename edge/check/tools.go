package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/check/vet"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/schema"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// maxRounds bounds the rounds of one call of a tool.
const maxRounds = 5

// tools calls an unknown tool, and the tools that are read-only or were requested.
func (p *prober) tools(ctx context.Context, listed []*pb.Tool) {
	p.try(func() string {
		const what = "CallTool, an unknown tool"
		return checkUnknown(p.findings, what, p.callTool(ctx, what, &pb.CallToolRequest{
			Name: unknownName, ArgumentsJson: "{}", Context: p.request(newCall(), 1)}))
	})
	tried, skipped := 0, skippedTools{findings: p.findings}
	defer skipped.report()
	for _, t := range listed {
		calls := p.calls[t.Name]
		curated := p.trial.curated(p.b.Name(), t)
		readOnly := t.GetAnnotations().GetReadOnly() && !curated.Unsafe
		what, shown := fmt.Sprintf("CallTool %q", t.Name), cmp.Or(curated.Name, p.prefix+t.Name)
		switch {
		case curated.Hidden:
			skipped.add(t.Name, "", "since the catalog hides it")
			continue
		case len(calls) > 0:
		case !readOnly && t.GetAnnotations().GetReadOnly():
			skipped.add(t.Name, shown, "since the catalog marks it as not read-only or as destructive")
			continue
		case !readOnly:
			skipped.add(t.Name, shown, "since it is not marked read_only")
			continue
		case needsArguments(t) && curated.Sent == nil:
			skipped.add(t.Name, shown, needsMore)
			continue
		case tried == maxTried:
			p.note("%d read-only tools were called, the others were not", maxTried)
			return
		default:
			calls = []string{"{}"}
			tried++
		}
		sent := make([]string, 0, len(calls))
		for _, arguments := range calls {
			call := what
			if len(calls) > 1 {
				call = fmt.Sprintf("%s with %.80s", what, arguments)
			}
			if curated.Sent != nil {
				var err error
				if arguments, err = curated.Sent(arguments); err != nil {
					p.note("%s: not called: %v", call, err)
					continue
				}
			}
			if sent = append(sent, arguments); schemaViolation(t, arguments) != nil && len(p.calls[t.Name]) == 0 {
				skipped.add(t.Name, shown, needsMore)
				continue
			}
			p.try(func() string { return p.callThrough(ctx, call, t, arguments) })
		}
		if readOnly && len(sent) > 0 && schemaViolation(t, sent[0]) == nil {
			p.try(func() string { return p.abandonTool(ctx, what, t, sent[0]) })
		}
		if p.unresponsive {
			return
		}
	}
}

func needsArguments(t *pb.Tool) bool {
	var schema struct{ Required []string }
	return t.InputSchemaJson != "" && (json.Unmarshal([]byte(t.InputSchemaJson), &schema) != nil || len(schema.Required) > 0)
}

func (p *prober) callTool(ctx context.Context, what string, r *pb.CallToolRequest) outcome[pb.CallToolResult] {
	ctx, cancel := p.working(ctx)
	defer cancel()
	stream, err := p.b.Tools().CallTool(p.shown(ctx, r.Context), r)
	if err != nil {
		p.status(ctx, what, err)
		return outcome[pb.CallToolResult]{err: err}
	}
	return drain(ctx, p.findings, what, stream.Recv, (*pb.CallToolResponse).GetResult)
}

// callThrough calls a tool in all its rounds, and answers or declines its questions.
func (p *prober) callThrough(ctx context.Context, what string, t *pb.Tool, arguments string) (ok string) {
	if err := schemaViolation(t, arguments); err != nil {
		p.cannotTry("%s: not called, since its schema refuses the arguments: %v", what, err)
		return ""
	}
	r := &pb.CallToolRequest{Name: t.Name, ArgumentsJson: arguments}
	id := newCall()
	var asks []string
	given := answered{}
	for round := uint32(1); round <= maxRounds; round++ {
		r.Context = p.request(id, round)
		o := p.callTool(ctx, what, r)
		switch {
		case o.result != nil:
			p.toolResult(what, t, o.result)
			how := "a result"
			if o.result.GetIsError() {
				how = "a result that is an error"
			}
			well := fmt.Sprintf("%s: %s after %s and %s%s", what, how, count(int(round), "round"), count(o.events, "event"), strings.Join(asks, ""))
			if len(p.calls[t.Name]) > 0 {
				well += ": " + shorten(o.result)
			}
			return well
		case o.failure != nil:
			return fmt.Sprintf("%s: a failure, %s: %.120s%s", what, o.failure.GetReason(), o.failure.GetMessage(), strings.Join(asks, ""))
		case o.required == nil:
			if o.err != nil && status.Code(o.err) != codes.DeadlineExceeded { // that is noted already
				return fmt.Sprintf("%s: %s", what, statusText(o.err))
			}
			return ""
		}
		r.State, r.InputResponses = o.required.State, nil
		for _, q := range o.required.Requests {
			a, how, err := p.answer(q)
			if err == nil && how == answeredBy {
				err = given.fits(q, a, o.required.State)
			}
			if err != nil {
				p.cannotTry("%s: %v", what, err)
				return ""
			}
			asks = append(asks, fmt.Sprintf("; asked %q, %s", q.GetKey(), how))
			r.InputResponses = append(r.InputResponses, a)
		}
	}
	return fmt.Sprintf("%s: still asks after %d rounds%s", what, maxRounds, strings.Join(asks, ""))
}

// maxShown bounds the shown part of a result, in bytes.
const maxShown = 500

// shorten formats a result as one line: its texts, or else its structured content.
func shorten(r *pb.CallToolResult) string {
	var texts []string
	for _, b := range r.GetContent() {
		if text := b.GetText().GetText(); text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		texts = []string{r.GetStructuredContentJson()}
	}
	all := strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
	if all == "" {
		return "no text"
	}
	if len(all) > maxShown {
		all = strings.ToValidUTF8(all[:maxShown], "") + "…"
	}
	return all
}

// decline returns the minimal answer to a question.
func decline(q *pb.InputRequest) *pb.InputResponse {
	a := &pb.InputResponse{Key: q.GetKey()}
	switch {
	case q.GetListRoots() != nil:
		a.Response = &pb.InputResponse_ListRoots{ListRoots: &pb.ListRootsResult{}}
	case q.GetCreateMessage() != nil:
		a.Response = &pb.InputResponse_CreateMessage{CreateMessage: &pb.CreateMessageResult{
			Role: pb.Role_ROLE_ASSISTANT, Model: "none", StopReason: "endTurn",
			Content: []*pb.SamplingContent{{Content: &pb.SamplingContent_Text{Text: &pb.TextContent{}}}}}}
	case q.GetRawJson() != "":
		a.Response = &pb.InputResponse_RawJson{RawJson: `{"action":"decline"}`}
	default:
		a.Response = &pb.InputResponse_Elicit{Elicit: &pb.ElicitResult{Action: pb.ElicitAction_ELICIT_ACTION_DECLINE}}
	}
	return a
}

// toolResult checks a result against the contract and the tool's output schema.
func (p *prober) toolResult(what string, t *pb.Tool, r *pb.CallToolResult) {
	for i, block := range r.GetContent() {
		p.block(fmt.Sprintf("%s: content[%d]", what, i), block)
	}
	if err := vet.Meta(r.GetMetaJson()); err != nil {
		p.violation("%s: the result: %v", what, err)
	}
	text := r.GetStructuredContentJson()
	if text == "" {
		if t.OutputSchemaJson != "" && !r.GetIsError() {
			p.violation("%s: there is an output schema, but no structured content", what)
		}
		return
	}
	if !jsonrpc.Valid([]byte(text)) {
		p.violation("%s: structured_content_json is not JSON", what)
		return
	}
	if t.OutputSchemaJson == "" || r.GetIsError() {
		return
	}
	if s, err := schema.Compile(t.OutputSchemaJson); err == nil {
		switch err := s.Validate([]byte(text)); {
		case errors.Is(err, schema.ErrCost):
			p.note("%s: structured_content_json was not held against the output schema: %v", what, err)
		case err != nil:
			p.violation("%s: structured_content_json is not valid by the output schema: %v", what, err)
		}
	}
}

// block checks a content block.
func (p *prober) block(what string, b *pb.ContentBlock) {
	switch {
	case b.GetContent() == nil:
		p.violation("%s is empty: set one of its fields", what)
	case b.GetImage() != nil && b.GetImage().GetMimeType() == "", b.GetAudio() != nil && b.GetAudio().GetMimeType() == "":
		p.violation("%s has no mime_type: it is required", what)
	case b.GetResourceLink() != nil:
		if _, err := vet.Resource(b.GetResourceLink(), func(string) {}); err != nil {
			p.violation("%s, a resource_link: %v", what, err)
		}
	case b.GetResource() != nil:
		p.contents(what, b.GetResource())
	case b.GetRawJson() != "":
		if root, err := vet.Object("raw_json", b.GetRawJson()); err != nil {
			p.violation("%s: %v", what, err)
		} else if root["type"] == nil {
			p.violation("%s: raw_json has no type: it is required", what)
		}
	}
	if err := vet.Meta(b.GetMetaJson()); err != nil {
		p.violation("%s: %v", what, err)
	}
}

// abandonTool lets the deadline of many calls pass, and checks that the backend still answers. If
// the backend is too slow to begin all calls before the deadline, it repeats with a later one.
func (p *prober) abandonTool(ctx context.Context, what string, t *pb.Tool, arguments string) (ok string) {
	begun := 0
	for brief := p.timing.brief; begun < abandonedStreams && brief <= p.timing.settle; brief *= 2 {
		begun = p.abandonCalls(ctx, t, arguments, brief)
	}
	if !p.answers(ctx, backend.Tools) {
		p.violation("%s: after %d calls were left at their deadline, lists are not answered: a call must end when its caller leaves", what, begun)
		return ""
	}
	return fmt.Sprintf("%s: %d calls at a time, left at their deadline, and calls are still answered", what, begun)
}

// abandonCalls begins calls with a common deadline and waits for the deadline. begun is the number
// of calls that it could begin.
func (p *prober) abandonCalls(ctx context.Context, t *pb.Tool, arguments string, brief time.Duration) (begun int) {
	ctx, cancel := context.WithTimeout(ctx, brief)
	defer cancel()
	for ; begun < abandonedStreams; begun++ {
		about := p.request(newCall(), 1)
		if _, err := p.b.Tools().CallTool(p.shown(ctx, about), &pb.CallToolRequest{
			Name: t.Name, ArgumentsJson: arguments, Context: about}); err != nil {
			break // the deadline has passed
		}
	}
	<-ctx.Done()
	return begun
}
