package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/capability"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// fixture is a backend with what the services do not have: calls that wait, lists that change on
// demand, a URL to open, sampling with tools, and objects with everything set that can be set.
type fixture struct {
	*capability.Server
	// started gets a value when a call of the tool `gate` begins; ended when its context ends.
	started, ended chan struct{}
}

func newFixture(log *slog.Logger) *fixture {
	f := &fixture{Server: capability.New("matrix", "1.0.0", capability.WithLogger(log), capability.WithInstructions("Only a test."),
		capability.WithExtension("io.example/matrix", `{"deep":{"er":[1]}}`),
		capability.WithExtension("io.modelcontextprotocol/ui", `{"a":1}`),
		// None of these can be served by a backend, and the edge is not told that the last could be.
		capability.WithExtension("io.modelcontextprotocol/tasks", `{}`),
		capability.WithExtension("io.modelcontextprotocol/enterprise-managed-authorization", `{}`),
		capability.WithExtension("io.modelcontextprotocol/unheard-of", `{}`),
		capability.WithExtension("io.example/with-methods", `{}`)),
		started: make(chan struct{}, 1), ended: make(chan struct{}, 1)}
	f.addWork()
	f.addQuestions()
	f.addTalks()
	f.addRich()
	return f
}

type naming struct {
	Name string `json:"name"`
}

func (f *fixture) addWork() {
	s := f.Server
	capability.AddTool(s, "gate", "Waits until it is cancelled",
		func(ctx context.Context, c *capability.Call, _ struct{}) (string, error) {
			f.started <- struct{}{}
			<-ctx.Done()
			f.ended <- struct{}{}
			return "", ctx.Err()
		})
	capability.AddTool(s, "add_tool", "Makes the list of tools change",
		func(_ context.Context, _ *capability.Call, in naming) (string, error) {
			capability.AddTool(s, in.Name, "Came late",
				func(context.Context, *capability.Call, struct{}) (string, error) { return "late", nil })
			return "added", nil
		})
	capability.AddTool(s, "add_prompt", "Makes the list of prompts change",
		func(_ context.Context, _ *capability.Call, in naming) (string, error) {
			capability.AddPrompt(s, &capability.Prompt{Name: in.Name, Description: "Came late"},
				func(context.Context, *capability.Call, map[string]string) (string, error) { return "late", nil })
			return "added", nil
		})
	capability.AddTool(s, "add_resource", "Makes the list of resources change",
		func(_ context.Context, _ *capability.Call, in naming) (string, error) {
			capability.AddResource(s, &capability.Resource{Uri: "matrix://late/" + in.Name, Name: in.Name},
				func(context.Context, *capability.Call, string) (string, error) { return "late", nil })
			return "added", nil
		})
	capability.AddTool(s, "touch", "Says that a resource has changed",
		func(context.Context, *capability.Call, struct{}) (string, error) {
			f.ResourceUpdated("matrix://rich")
			return "touched", nil
		})
}

const everyFieldForm = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{` +
	`"name":{"type":"string","title":"Name","description":"What to call you","minLength":1,"maxLength":50,"default":"Ada"},` +
	`"mail":{"type":"string","format":"email"},` +
	`"age":{"type":"integer","minimum":0,"maximum":150,"default":36},` +
	`"share":{"type":"number","minimum":0,"maximum":1,"default":0.5},` +
	`"plain":{"type":"string","enum":["a","b"],"default":"a"},` +
	`"titled":{"type":"string","oneOf":[{"const":"a","title":"Alpha"},{"const":"b","title":"Beta"}],"default":"a"},` +
	`"agree":{"type":"boolean","default":true}},"required":["name"]}`

func (f *fixture) addQuestions() {
	s := f.Server
	capability.AddTool(s, "count_rounds", "Counts anew in each round",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			c.Progress(1, 2, "before")
			roots := c.Roots("roots")
			c.Progress(2, 2, "after")
			return fmt.Sprintf("%d roots", len(roots)), nil
		})
	capability.AddTool(s, "ask_form", "Asks by a form with every kind of field but multiple choice",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			r := c.AskForm("form", "Tell me.", everyFieldForm)
			return string(r.Action) + " " + string(r.Content), nil
		})
	capability.AddTool(s, "ask_url", "Sends the user to a page",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			return "url: " + string(c.AskURL("login", "Please log in.", "https://login.example/start").Action), nil
		})
	capability.AddTool(s, "ask_tools", "Lets the client's model use tools",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			r := c.Sample("model", &capability.SamplingRequest{
				Messages: []*capability.SamplingMessage{capability.SamplingText(capability.User, "What is the weather?")},
				Tools:    []*capability.Tool{{Name: "weather", Description: "Tells the weather", InputSchemaJson: `{"type":"object"}`}}, ToolChoiceMode: "auto",
				SystemPrompt: "Be brief.", MaxTokens: 100, StopSequences: []string{"stop"}, IncludeContext: "none", Temperature: proto.Float64(0.5),
				ModelPreferences: &mcpedgev1.ModelPreferences{Hints: []string{"small"}, CostPriority: proto.Float64(1), SpeedPriority: proto.Float64(0.25)},
				MetadataJson:     `{"any":[1,2]}`,
			})
			return fmt.Sprintf("%d blocks, stopped by %s", len(r.GetContent()), r.GetStopReason()), nil
		})
}

// addTalks adds tools that send the client's model more than a text.
func (f *fixture) addTalks() {
	talk := func(name string, messages ...*capability.SamplingMessage) {
		capability.AddTool(f.Server, name, "Talks with the client's model",
			func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
				r := c.Sample("model", &capability.SamplingRequest{Messages: messages, MaxTokens: 10})
				return "The model is " + r.GetModel(), nil
			})
	}
	say := func(role capability.Role, content ...*capability.SamplingContent) *capability.SamplingMessage {
		return &capability.SamplingMessage{Role: role, Content: content, MetaJson: richMeta}
	}
	image := &capability.SamplingContent{Content: &mcpedgev1.SamplingContent_Image{Image: &mcpedgev1.ImageContent{Data: []byte("image"), MimeType: "image/png"}},
		Annotations: richAnnotations(), MetaJson: richMeta}
	audio := &capability.SamplingContent{Content: &mcpedgev1.SamplingContent_Audio{Audio: &mcpedgev1.AudioContent{Data: []byte("sound"), MimeType: "audio/wav"}},
		Annotations: richAnnotations(), MetaJson: richMeta}
	use := &capability.SamplingContent{Content: &mcpedgev1.SamplingContent_ToolUse{ToolUse: &mcpedgev1.ToolUse{Id: "1", Name: "weather", InputJson: `{"in":"Rome"}`}}, MetaJson: richMeta}
	used := &capability.SamplingContent{Content: &mcpedgev1.SamplingContent_ToolResult{ToolResult: &mcpedgev1.ToolResult{
		ToolUseId: "1", Content: richContent(), StructuredContentJson: `[1]`, IsError: true}}, MetaJson: richMeta}
	talk("talk_image", say(capability.User, image))
	talk("talk_audio", say(capability.User, audio))
	talk("talk_blocks", say(capability.User, image, audio))
	talk("talk_tools", capability.SamplingText(capability.User, "Weather?"), say(capability.Assistant, use), say(capability.User, used))
}

// Raw blocks: of no revision, and of some.
const (
	hologram = `{"type":"hologram","depth":3}`
	rawLink  = `{"type":"resource_link","uri":"matrix://raw","name":"raw"}`
)

const richMeta = `{"io.example/ui":{"resourceUri":"ui://x"}}`

func richAnnotations() *capability.Annotations {
	return &capability.Annotations{Audience: []capability.Role{capability.User, capability.Assistant},
		Priority: proto.Float64(0.5), LastModified: "2025-01-12T15:00:58Z"}
}

func richIcons() []*capability.Icon {
	return []*capability.Icon{{Src: "https://example.com/icon.png", MimeType: "image/png", Sizes: []string{"48x48"}, Theme: "dark"}}
}

func richResource(uri string) *capability.Resource {
	return &capability.Resource{Uri: uri, Name: "rich", Title: "Rich", Description: "Everything set", MimeType: "text/plain",
		Size: proto.Int64(5), Annotations: richAnnotations(), Icons: richIcons(), MetaJson: richMeta}
}

// richContent is one block of each kind, with all that a block can have.
func richContent() []*capability.Content {
	audio := capability.Audio([]byte("sound"), "audio/wav")
	link := capability.Link(richResource("matrix://linked"))
	embedded := capability.TextContents("matrix://inside", "text/plain", "inside")
	embedded.MetaJson = richMeta
	blocks := []*capability.Content{
		capability.Text("a \"text\"\nof two lines"),
		capability.Image([]byte("image"), "image/png"),
		audio, link,
		capability.Embed(embedded),
		capability.Embed(capability.BlobContents("matrix://blob", "application/octet-stream", []byte{0, 255})),
	}
	for _, b := range blocks {
		b.Annotations, b.MetaJson = richAnnotations(), richMeta
	}
	return blocks
}

func (f *fixture) addRich() {
	s := f.Server
	answer := func(structured any, content ...*capability.Content) func(context.Context, *capability.Call, json.RawMessage) (*capability.Result, error) {
		return func(context.Context, *capability.Call, json.RawMessage) (*capability.Result, error) {
			return &capability.Result{Content: content, Structured: structured, Meta: json.RawMessage(richMeta)}, nil
		}
	}
	capability.AddRawTool(s, &capability.Tool{
		Name: "rich", Title: "Rich", Description: "Everything set",
		InputSchemaJson: `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
			`"properties":{"any":true,"none":false,"n":{"type":"integer","x-mcp-header":"N"}},"allOf":[{"required":[]}],"additionalProperties":false}`,
		OutputSchemaJson: `{"type":"array","items":{"type":"integer"}}`,
		Annotations: &capability.ToolAnnotations{ReadOnly: proto.Bool(true), Destructive: proto.Bool(false),
			Idempotent: proto.Bool(true), OpenWorld: proto.Bool(false)},
		Icons: richIcons(), MetaJson: richMeta,
	}, answer([]int{1, 2, 3}, richContent()...))
	capability.AddRawTool(s, &capability.Tool{Name: "structured", Description: "Only an object",
		OutputSchemaJson: `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`},
		answer(map[string]int{"n": 1}))
	capability.AddRawTool(s, &capability.Tool{Name: "raw", Description: "Blocks that the contract does not know"}, answer(nil,
		capability.RawContent(json.RawMessage(hologram)), capability.RawContent(json.RawMessage(rawLink))))
	capability.AddRawTool(s, &capability.Tool{Name: "scalar", Description: "Only a number"}, answer(7))
	capability.AddResource(s, richResource("matrix://rich"), func(_ context.Context, c *capability.Call, uri string) ([]*capability.ResourceContents, error) {
		c.SetMeta(json.RawMessage(richMeta))
		text := capability.TextContents(uri, "text/plain", "hello")
		text.MetaJson = richMeta
		return []*capability.ResourceContents{text, capability.BlobContents(uri, "image/png", []byte{0, 255})}, nil
	})
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "matrix://rich/{id}", Name: "rich", Title: "Rich", Description: "Everything set",
		MimeType: "text/plain", Annotations: richAnnotations(), Icons: richIcons(), MetaJson: richMeta},
		func(_ context.Context, _ *capability.Call, _ string, vars map[string]string) (string, error) {
			return vars["id"], nil
		},
		capability.Complete("id", func(_ context.Context, _ *capability.Call, _ string, chosen map[string]string) ([]string, error) {
			return []string{"chosen " + chosen["region"]}, nil
		}))
	capability.AddPrompt(s, &capability.Prompt{Name: "rich", Title: "Rich", Description: "Everything set", Icons: richIcons(), MetaJson: richMeta,
		Arguments: []*capability.PromptArgument{{Name: "a", Title: "A", Description: "An argument", Required: true}, {Name: "b"}}},
		func(_ context.Context, c *capability.Call, _ map[string]string) (*capability.PromptResult, error) {
			r := &capability.PromptResult{Description: "Filled in", MetaJson: richMeta}
			for _, block := range richContent() {
				r.Messages = append(r.Messages, capability.Message(capability.User, block))
			}
			return r, nil
		})
}
