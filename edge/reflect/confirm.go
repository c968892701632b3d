package reflect

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

	optionspb "github.com/mcpedge/mcpedge/gen/mcpedge/options/v1"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// confirmKey is the key of the elicitation and of its answer.
const confirmKey = "confirm"

// confirmForm requests a boolean.
const confirmForm = `{"type":"object","properties":{"confirm":{"type":"boolean","title":"Confirm","description":"Run it as shown"}},"required":["confirm"]}`

// maxShown bounds the arguments shown in the question.
const maxShown = 2 << 10

// confirm asks the user before the call. done means that the call ends: the question was sent, or
// the answer was no. An answer counts only together with the state that was sent with this question
// about these arguments; an unsolicited answer is ignored.
func (c *call) confirm(ask *optionspb.Confirmation) (done bool, err error) {
	asked := c.question()
	if !bytes.Equal(c.req.GetState(), asked) {
		return true, c.ask(ask, asked)
	}
	for _, r := range c.req.GetInputResponses() {
		if r.GetKey() != confirmKey {
			continue
		}
		var content struct{ Confirm bool }
		e := r.GetElicit()
		if e.GetAction() == pb.ElicitAction_ELICIT_ACTION_ACCEPT &&
			json.Unmarshal([]byte(e.GetContentJson()), &content) == nil && content.Confirm {
			return false, nil
		}
		return true, c.refuse("The user did not confirm, so " + c.method.tool.Name + " was not called.")
	}
	return true, c.ask(ask, asked)
}

// question returns a digest of the question's subject.
func (c *call) question() []byte {
	h := sha256.New()
	h.Write([]byte(c.method.full))
	h.Write([]byte{0})
	h.Write([]byte(c.req.GetArgumentsJson()))
	return append([]byte("confirm:"), h.Sum(nil)...)
}

func (c *call) ask(ask *optionspb.Confirmation, state []byte) error {
	message := ask.GetMessage()
	if message == "" {
		message = "Run “" + c.method.tool.Title + "”?"
	}
	if args := c.req.GetArgumentsJson(); args != "" && args != "{}" {
		message += "\n\nArguments: " + cut([]byte(args), maxShown)
	}
	return c.events.send(&pb.CallToolResponse{Message: &pb.CallToolResponse_InputRequired{InputRequired: &pb.InputRequired{
		Requests: []*pb.InputRequest{{Key: confirmKey, Request: &pb.InputRequest_ElicitForm{
			ElicitForm: &pb.ElicitForm{Message: message, RequestedSchemaJson: confirmForm},
		}}},
		State: state,
	}}})
}
