package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpedge/mcpedge/capability"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// addRounds adds the fixtures of the multi-round scenarios. The suite prescribes their keys.
func addRounds(s *capability.Server) {
	const prefix = "test_input_required_result_"
	capability.AddTool(s, prefix+"elicitation", "Asks the user for a name",
		func(_ context.Context, c *capability.Call, _ none) (string, error) {
			return greeting(c.AskForm("user_name", "What is your name?", nameForm)), nil
		}, plain()...)
	capability.AddTool(s, prefix+"sampling", "Asks the client's model for a capital",
		func(_ context.Context, c *capability.Call, _ none) (string, error) {
			return "Sampling result: " + sampledText(c.Sample("capital_question", capital())), nil
		}, plain()...)
	capability.AddTool(s, prefix+"list_roots", "Asks for the client's roots",
		func(_ context.Context, c *capability.Call, _ none) (string, error) {
			return rootsText(c.Roots("client_roots")), nil
		}, plain()...)
	capability.AddTool(s, prefix+"request_state", "Asks for a confirmation, and keeps a state meanwhile", confirmed("request-state:"), plain()...)
	capability.AddTool(s, prefix+"tampered_state", "Asks for a confirmation, and keeps a state that must not be changed", confirmed("tamper-proof:"), plain()...)
	capability.AddTool(s, prefix+"multiple_inputs", "Asks user, model and roots at once", askAllKinds, plain()...)
	capability.AddTool(s, prefix+"multi_round", "Asks the user twice, the second time knowing the first answer", askTwice, plain()...)
	capability.AddTool(s, prefix+"capabilities", "Asks whatever the client can answer", askSupported, plain()...)
}

// greeting returns a greeting for the name in the form.
func greeting(r capability.ElicitResult) string {
	if r.Action != capability.Accept {
		return fmt.Sprintf("No name was given (%s).", r.Action)
	}
	return fmt.Sprintf("Hello, %s!", member(r, "name"))
}

// member returns a string of the completed form.
func member(r capability.ElicitResult, name string) string {
	var members map[string]any
	if err := json.Unmarshal(r.Content, &members); err != nil {
		return ""
	}
	text, _ := members[name].(string)
	return text
}

func capital() *capability.SamplingRequest { return sampling("What is the capital of France?", 100) }

func rootsText(roots []*capability.Root) string {
	uris := make([]string, len(roots))
	for i, r := range roots {
		uris[i] = r.GetUri()
	}
	return fmt.Sprintf("Found %d root(s): %s", len(roots), strings.Join(uris, ", "))
}

// confirmed uses InputRequired directly: it ends when both the answer and its own state have
// arrived.
func confirmed(mark string) func(context.Context, *capability.Call, none) (string, error) {
	return func(_ context.Context, c *capability.Call, _ none) (string, error) {
		state := string(c.State())
		if state == "" {
			return "", &capability.InputRequired{State: []byte(mark + rand.Text()),
				Requests: []*capability.InputRequest{form("confirm", "Please confirm", confirmForm)}}
		}
		if !strings.HasPrefix(state, mark) {
			return "", capability.Errorf(capability.InvalidArgument, "the state is not the one this tool gave")
		}
		r := c.AskForm("confirm", "Please confirm", confirmForm)
		return fmt.Sprintf("state-ok: the state came back, %s", reactionText(r)), nil
	}
}

func form(key, message, schema string) *capability.InputRequest {
	return &capability.InputRequest{Key: key, Request: &mcpedgev1.InputRequest_ElicitForm{
		ElicitForm: &mcpedgev1.ElicitForm{Message: message, RequestedSchemaJson: schema}}}
}

func askAllKinds(_ context.Context, c *capability.Call, _ none) (string, error) {
	if c.State() == nil {
		c.SetState([]byte("multiple-inputs:" + rand.Text()))
	}
	name := capability.FormSchema("user_name", "What is your name?", nameForm)
	hello := capability.Sampling("greeting", sampling("Generate a greeting", 50))
	roots := capability.ListRoots("client_roots")
	c.AskAll(name, hello, roots)
	n, err := name.Answer(c)
	if err != nil {
		return "", err
	}
	h, err := hello.Answer(c)
	if err != nil {
		return "", err
	}
	r, err := roots.Answer(c)
	if err != nil {
		return "", err
	}
	return strings.Join([]string{greeting(n), sampledText(h), rootsText(r)}, "\n"), nil
}

func askTwice(_ context.Context, c *capability.Call, _ none) (string, error) {
	c.SetState([]byte("round-1:" + rand.Text()))
	first := c.AskForm("step1", "Step 1: What is your name?", nameForm)
	if first.Action != capability.Accept {
		return greeting(first), nil
	}
	c.SetState([]byte("round-2:" + rand.Text()))
	second := c.AskForm("step2", fmt.Sprintf("Step 2: What is your favorite color, %s?", member(first, "name")), colorForm)
	if second.Action != capability.Accept {
		return fmt.Sprintf("%s No color was given (%s).", greeting(first), second.Action), nil
	}
	return fmt.Sprintf("%s Your favorite color is %s.", greeting(first), member(second, "color")), nil
}

func askSupported(_ context.Context, c *capability.Call, _ none) (string, error) {
	can := c.ClientCapabilities()
	var (
		questions []capability.Asking
		texts     []func() string
	)
	if can.GetSampling() != nil {
		q := capability.Sampling("capital_question", capital())
		questions = append(questions, q)
		texts = append(texts, func() string { r, _ := q.Answer(c); return sampledText(r) })
	}
	if can.GetElicitation().GetForm() {
		q := capability.FormSchema("user_name", "What is your name?", nameForm)
		questions = append(questions, q)
		texts = append(texts, func() string { r, _ := q.Answer(c); return greeting(r) })
	}
	if can.GetRoots() != nil {
		q := capability.ListRoots("client_roots")
		questions = append(questions, q)
		texts = append(texts, func() string { r, _ := q.Answer(c); return rootsText(r) })
	}
	c.AskAll(questions...)
	result := []string{fmt.Sprintf("The client was asked %d question(s).", len(questions))}
	for _, text := range texts {
		result = append(result, text())
	}
	return strings.Join(result, "\n"), nil
}
