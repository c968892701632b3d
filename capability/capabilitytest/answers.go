package capabilitytest

import (
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/capability"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Accepted returns the answer of a user who completes a form with content, a JSON object, or agrees
// to open a URL, with empty content.
func Accepted(content string) *capability.InputResponse {
	return elicited(mcpedgev1.ElicitAction_ELICIT_ACTION_ACCEPT, content)
}

// Declined returns the answer of a user who declines.
func Declined() *capability.InputResponse {
	return elicited(mcpedgev1.ElicitAction_ELICIT_ACTION_DECLINE, "")
}

// Dismissed returns the answer of a user who dismisses the question.
func Dismissed() *capability.InputResponse {
	return elicited(mcpedgev1.ElicitAction_ELICIT_ACTION_CANCEL, "")
}

// Answers returns a function for Client.Answer that answers each question by its key. A question
// without one stays unanswered.
func Answers(byKey map[string]*capability.InputResponse) func(*capability.InputRequest) *capability.InputResponse {
	return func(r *capability.InputRequest) *capability.InputResponse { return byKey[r.GetKey()] }
}

// Sampled returns the answer of a client's model, with the given text.
func Sampled(text string) *capability.InputResponse {
	return &capability.InputResponse{Response: &mcpedgev1.InputResponse_CreateMessage{CreateMessage: &mcpedgev1.CreateMessageResult{
		Role: capability.Assistant, Model: "test", StopReason: "endTurn",
		Content: capability.SamplingText(capability.Assistant, text).GetContent()}}}
}

// Roots returns the answer of a client with these roots.
func Roots(roots ...*capability.Root) *capability.InputResponse {
	return &capability.InputResponse{Response: &mcpedgev1.InputResponse_ListRoots{
		ListRoots: &mcpedgev1.ListRootsResult{Roots: roots}}}
}

func elicited(action mcpedgev1.ElicitAction, content string) *capability.InputResponse {
	return &capability.InputResponse{Response: &mcpedgev1.InputResponse_Elicit{
		Elicit: &mcpedgev1.ElicitResult{Action: action, ContentJson: content}}}
}

// answers returns the client's answers to one round.
func (c *Client) answers(requests []*mcpedgev1.InputRequest) []*mcpedgev1.InputResponse {
	var all []*mcpedgev1.InputResponse
	for _, r := range requests {
		if a := c.Answer(r); a != nil {
			a = proto.CloneOf(a)
			a.Key = r.GetKey()
			all = append(all, a)
		}
	}
	return all
}

// context returns the request context of a round.
func (c *Client) context(round int) *mcpedgev1.RequestContext {
	rc := c.Context
	if rc == nil {
		rc = &mcpedgev1.RequestContext{CallId: "test", Attempt: 1, ProgressWanted: true, LogLevel: capability.LevelDebug,
			ClientCapabilities: &mcpedgev1.ClientCapabilities{
				Elicitation: &mcpedgev1.ElicitationCapability{Form: true, Url: true},
				Sampling:    &mcpedgev1.SamplingCapability{Context: true, Tools: true},
				Roots:       &mcpedgev1.RootsCapability{}}}
	}
	rc = proto.CloneOf(rc)
	if c.Principal != nil {
		rc.Principal = c.Principal
	}
	rc.Round = uint32(round) // #nosec G115 -- rounds of a test
	return rc
}
