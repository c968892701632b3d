package reflect

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

	optionspb "github.com/mcpedge/mcpedge/gen/mcpedge/options/v1"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// confirmKey names the question and the answer.
const confirmKey = "confirm"

// confirmForm asks for a yes or no.
const confirmForm = `{"type":"object","properties":{"confirm":{"type":"boolean","title":"Confirm","description":"Run it as shown"}},"required":["confirm"]}`

// maxShown bounds the arguments shown in the question.
const maxShown = 2 << 10

// confirm asks the user before the call. It is done when the call goes no further: the question was sent,
// or the answer was no. An answer counts only together with the state that this very question, about these
// arguments, was asked with; what a client volunteers does not.
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

// question identifies what is asked about.
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
