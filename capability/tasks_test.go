package capability_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

type jobIn struct {
	Steps int `json:"steps"`
}

// TestTaskSupport: the list of tools has their task support.
func TestTaskSupport(t *testing.T) {
	s := capability.New("t", "1")
	capability.AddTool(s, "job", "Has tasks", func(context.Context, *capability.Call, jobIn) (string, error) { return "", nil },
		capability.Tasks(capability.TaskOptional), capability.TasksStart(capability.TaskAtOnce))
	list, err := capabilitytest.Start(t, s).Tools.ListTools(t.Context(), &mcpedgev1.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got := list.GetTools()[0].GetTaskSupport(); got.GetMode() != capability.TaskOptional || got.GetStart() != capability.TaskAtOnce {
		t.Errorf("listed %v", got)
	}
}

// TestCheckpoint: a handler that runs again gets the state of its last checkpoint, and the answers
// so far.
func TestCheckpoint(t *testing.T) {
	s := capability.New("t", "1")
	var ran []string
	capability.AddTool(s, "job", "Has checkpoints", func(_ context.Context, c *capability.Call, in jobIn) (string, error) {
		name := c.AskForm("name", "Your name?", `{"type":"object","properties":{"name":{"type":"string"}}}`)
		ran = append(ran, string(c.State())+string(name.Content))
		for i := len(c.State()); i < in.Steps; i++ {
			if err := c.Checkpoint([]byte(strings.Repeat("x", i+1))); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	tools := capabilitytest.Start(t, s).Tools
	call := func(checkpoints bool, state []byte, answers ...*mcpedgev1.InputResponse) (out []*mcpedgev1.CallToolResponse) {
		t.Helper()
		stream, err := tools.CallTool(t.Context(), &mcpedgev1.CallToolRequest{
			Name: "job", ArgumentsJson: `{"steps":2}`, State: state, InputResponses: answers, Context: &mcpedgev1.RequestContext{Checkpoints: checkpoints},
		})
		if err != nil {
			t.Fatal(err)
		}
		for {
			m, err := stream.Recv()
			if err != nil {
				return out
			}
			out = append(out, m)
		}
	}
	asked := call(true, nil)
	answer := &mcpedgev1.InputResponse{Key: "name", Response: &mcpedgev1.InputResponse_Elicit{
		Elicit: &mcpedgev1.ElicitResult{Action: mcpedgev1.ElicitAction_ELICIT_ACTION_ACCEPT, ContentJson: `{"name":"Ada"}`}}}
	events := call(true, asked[0].GetInputRequired().GetState(), answer)
	if len(events) != 3 || events[0].GetCheckpoint() == nil || events[1].GetCheckpoint() == nil || events[2].GetResult() == nil {
		t.Fatalf("got %v", events)
	}
	events = call(true, events[0].GetCheckpoint().GetState())
	if want := []string{`{"name":"Ada"}`, `x{"name":"Ada"}`}; strings.Join(ran, " ") != strings.Join(want, " ") || len(events) != 2 {
		t.Errorf("the handler saw %q, want %q; then %v", ran, want, events)
	}
	if events = call(false, asked[0].GetInputRequired().GetState(), answer); len(events) != 1 {
		t.Errorf("an edge that knows no checkpoints was sent %v", events)
	}
}

// TestOnCancel: the function gets the state of the last round. A tool without one does nothing.
func TestOnCancel(t *testing.T) {
	s := capability.New("t", "1")
	cancelled := make(chan string, 1)
	s.OnCancel("job", func(_ context.Context, c *capability.Call) error {
		cancelled <- c.ID() + " " + string(c.State())
		return nil
	})
	capability.AddTool(s, "job", "Has a job", func(context.Context, *capability.Call, jobIn) (string, error) {
		return "", &capability.InputRequired{State: []byte("handle"), Repeatable: true}
	})
	tools := capabilitytest.Start(t, s).Tools
	stream, err := tools.CallTool(t.Context(), &mcpedgev1.CallToolRequest{Name: "job", ArgumentsJson: `{"steps":1}`})
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.Recv()
	if err != nil || !m.GetInputRequired().GetRepeatable() {
		t.Fatalf("%v, %v", m, err)
	}
	req := &mcpedgev1.CancelCallRequest{Name: "job", Context: &mcpedgev1.RequestContext{CallId: "id"}, State: m.GetInputRequired().GetState()}
	if _, err := tools.CancelCall(t.Context(), req); err != nil || <-cancelled != "id handle" {
		t.Errorf("%v", err)
	}
	req.Name = "other"
	if _, err := tools.CancelCall(t.Context(), req); err != nil {
		t.Errorf("a tool without OnCancel: %v", err)
	}
	req.Name, req.State = "job", []byte("of another version")
	if _, err := tools.CancelCall(t.Context(), req); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a state of another version: %v", err)
	}
}
