package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpedge/mcpedge/capability"
)

const (
	contactForm = `{"type":"object","properties":{
		"username":{"type":"string","description":"User's response"},
		"email":{"type":"string","description":"User's email address"}},
		"required":["username","email"]}`

	defaultsForm = `{"type":"object","properties":{
		"name":{"type":"string","description":"User name","default":"John Doe"},
		"age":{"type":"integer","description":"User age","default":30},
		"score":{"type":"number","description":"User score","default":95.5},
		"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
		"verified":{"type":"boolean","description":"Verification status","default":true}},
		"required":[]}`

	enumsForm = `{"type":"object","properties":{
		"untitledSingle":{"type":"string","description":"Select one option","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","description":"Select one option with titles","oneOf":[
			{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
		"legacyEnum":{"type":"string","description":"Select one option (legacy)","enum":["opt1","opt2","opt3"],
			"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","description":"Select multiple options","minItems":1,"maxItems":3,
			"items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","description":"Select multiple options with titles","minItems":1,"maxItems":3,
			"items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},
		"required":[]}`

	nameForm    = `{"type":"object","properties":{"name":{"type":"string","description":"Your name"}},"required":["name"]}`
	colorForm   = `{"type":"object","properties":{"color":{"type":"string","description":"A color"}},"required":["color"]}`
	confirmForm = `{"type":"object","properties":{"ok":{"type":"boolean","description":"Whether to go on"}},"required":["ok"]}`
	contextForm = `{"type":"object","properties":{"context":{"type":"string","description":"What it is about"}},"required":["context"]}`
)

type promptInput struct {
	Prompt string `json:"prompt" description:"The prompt to send to the model"`
}

type messageInput struct {
	Message string `json:"message" description:"The message to show the user"`
}

func addAsking(s *capability.Server) {
	capability.AddTool(s, "test_sampling", "Asks the client's model",
		func(_ context.Context, c *capability.Call, in promptInput) (string, error) {
			return "LLM response: " + sampledText(c.Sample("sampling", sampling(in.Prompt, 100))), nil
		}, plain()...)
	capability.AddTool(s, "test_elicitation", "Asks the user for a name and an address",
		func(_ context.Context, c *capability.Call, in messageInput) (string, error) {
			return "User response: " + reactionText(c.AskForm("contact", in.Message, contactForm)), nil
		}, plain()...)
	capability.AddTool(s, "test_elicitation_sep1034_defaults", "Asks the user by a form with default values",
		func(_ context.Context, c *capability.Call, _ none) (string, error) {
			return "Elicitation completed: " + reactionText(c.AskForm("defaults", "Please review and update the form fields with defaults", defaultsForm)), nil
		}, plain()...)
	capability.AddTool(s, "test_elicitation_sep1330_enums", "Asks the user by a form with every kind of choice",
		func(_ context.Context, c *capability.Call, _ none) (string, error) {
			return "Elicitation completed: " + reactionText(c.AskForm("enums", "Please select options from the enum fields", enumsForm)), nil
		}, plain()...)
	capability.AddTool(s, "test_streaming_elicitation", "Reports progress, then asks the user",
		func(_ context.Context, c *capability.Call, _ none) (string, error) {
			c.Progress(1, 2, "Before the question")
			text := reactionText(c.AskForm("user_name", "What is your name?", nameForm))
			c.Progress(2, 2, "After the answer")
			return "Elicitation completed: " + text, nil
		}, plain()...)
	capability.AddTool(s, "test_missing_capability", "Cannot do without the client's model",
		func(_ context.Context, c *capability.Call, _ none) (string, error) {
			return "The client's model said: " + sampledText(c.Sample("needed", sampling("Say something.", 100))), nil
		}, plain()...)
}

func sampling(prompt string, maxTokens int64) *capability.SamplingRequest {
	return &capability.SamplingRequest{Messages: []*capability.SamplingMessage{capability.SamplingText(capability.User, prompt)}, MaxTokens: maxTokens}
}

// sampledText returns the text of the response of the client's model.
func sampledText(r *capability.SamplingResult) string {
	var texts []string
	for _, content := range r.GetContent() {
		if t := content.GetText(); t != nil {
			texts = append(texts, t.GetText())
		}
	}
	if len(texts) == 0 {
		return "(no text)"
	}
	return strings.Join(texts, "\n")
}

// reactionText returns the user's reaction as text.
func reactionText(r capability.ElicitResult) string {
	content := string(r.Content)
	if content == "" {
		content = "{}"
	}
	return fmt.Sprintf("action=%s, content=%s", r.Action, content)
}
