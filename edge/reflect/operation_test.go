package reflect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// asTask makes a round one of a call that may become a task, with the state of the round before.
func asTask(before *answer) func(*pb.CallToolRequest) {
	return func(r *pb.CallToolRequest) {
		r.Context.Task = &pb.TaskContext{}
		if before != nil {
			r.Context.Task.Id = "a task"
			r.State = before.input.GetState()
		}
	}
}

// repeats fails unless a round asks to be called again, with state alone.
func repeats(t *testing.T, a *answer) {
	t.Helper()
	if a.err != nil || len(a.input.GetRequests()) > 0 || len(a.input.GetState()) == 0 || !a.input.GetRepeatable() || a.input.GetRetryAfter().AsDuration() <= 0 {
		t.Fatalf("the round gave %v, %v, %v", a.input, a.result, a.err)
	}
}

// Tools whose methods begin operations may become tasks and give what operation_info names, though no file of the service
// imports it; those of the service of operations itself are as they are.
func TestOperationTools(t *testing.T) {
	h := reflecttest.NewHarvest()
	e := newEdge(t, h.Serve(t, reflecttest.Options{}).Addr, reflect.Options{})
	tools := e.list()
	for _, name := range []string{"harvest_pick", "harvest_clear", "harvest_walk"} {
		if got := tools[name].GetTaskSupport(); got.GetMode() != pb.TaskMode_TASK_MODE_OPTIONAL || got.GetStart() != pb.TaskStart_TASK_START_UNSPECIFIED {
			t.Errorf("%s has %v", name, got)
		}
	}
	if got := tools["operations_get_operation"]; got == nil || got.GetTaskSupport() != nil || tools["operations_wait_operation"].GetTaskSupport() != nil {
		t.Errorf("the operations' own tools: %v", got)
	}
	if err := fits(t, tools["harvest_pick"].GetOutputSchemaJson(), `{"field":"a","kilos":1}`); err != nil {
		t.Errorf("what picking gives: %v", err)
	}
	if err := fits(t, tools["harvest_pick"].GetOutputSchemaJson(), `{"name":"operations/a","done":true}`); err == nil {
		t.Error("an operation fits what picking gives")
	}
	if got := tools["harvest_walk"].GetOutputSchemaJson(); got != "" {
		t.Errorf("walking has the schema %s", got)
	}
}

// A target that does not serve the operations gives them as results, as any other message; and a note says so.
func TestOperationsNotServed(t *testing.T) {
	h := reflecttest.NewHarvest()
	for _, fd := range h.Set.GetFile() {
		if fd.GetName() == "google/longrunning/operations.proto" {
			fd.Service = nil
		}
	}
	h.Finish("a", 3)
	e := newEdge(t, h.Serve(t, reflecttest.Options{}).Addr, reflect.Options{})
	if got := e.list()["harvest_pick"]; got.GetTaskSupport() != nil || fits(t, got.GetOutputSchemaJson(), `{"name":"","done":true}`) != nil {
		t.Errorf("listed: %v", got)
	}
	if got := e.call("harvest_pick", `{"field":"a"}`).result.GetStructuredContentJson(); !strings.Contains(got, `"name":"operations/a"`) {
		t.Errorf("it gave %s", got)
	}
	if !slices.ContainsFunc(e.adapter.Notes(), func(n string) bool { return strings.Contains(n, "does not serve google.longrunning.Operations") }) {
		t.Errorf("notes: %q", e.adapter.Notes())
	}
}

// A call that may become a task asks about its operation in rounds of its own, which need nothing but the state: any edge has them.
func TestOperationRounds(t *testing.T) {
	h := reflecttest.NewHarvest()
	addr := h.Serve(t, reflecttest.Options{}).Addr
	here, elsewhere := newEdge(t, addr, reflect.Options{}), newEdge(t, addr, reflect.Options{})
	elsewhere.list()

	h.Rows("a", 2)
	first := here.call("harvest_pick", `{"field":"a"}`, asTask(nil))
	repeats(t, first)
	second := elsewhere.call("harvest_pick", `{"field":"a"}`, asTask(first))
	repeats(t, second)
	for _, a := range []*answer{first, second} { // before the task existed it may have reached no client
		if !slices.Equal(a.progress, []string{`{"field":"a","rows":2}`}) {
			t.Errorf("progress %q", a.progress)
		}
	}
	if second.input.GetRetryAfter().AsDuration() <= first.input.GetRetryAfter().AsDuration() {
		t.Errorf("the pause does not grow: %v, %v", first.input.GetRetryAfter(), second.input.GetRetryAfter())
	}
	h.Rows("a", 5)
	third := elsewhere.call("harvest_pick", `{"field":"a"}`, asTask(second))
	repeats(t, third)
	if again := here.call("harvest_pick", `{"field":"a"}`, asTask(third)); len(again.progress) > 0 {
		t.Errorf("unchanged progress is repeated: %q", again.progress)
	}
	if !slices.Equal(third.progress, []string{`{"field":"a","rows":5}`}) {
		t.Errorf("progress %q", third.progress)
	}
	h.Away(true)
	fourth := here.call("harvest_pick", `{"field":"a"}`, asTask(third))
	repeats(t, fourth)
	for range 9 {
		fourth = here.call("harvest_pick", `{"field":"a"}`, asTask(fourth))
		repeats(t, fourth)
	}
	if gone := here.call("harvest_pick", `{"field":"a"}`, asTask(fourth)); gone.err != nil || !gone.result.GetIsError() ||
		!strings.Contains(gone.text(), "was begun as the operation operations/a, state unknown") || !strings.Contains(gone.text(), "UNAVAILABLE") {
		t.Errorf("one that cannot be asked about again and again: %v, %v, %s", gone.input, gone.err, gone.text())
	}
	h.Away(false)
	h.Finish("a", 7)
	last := elsewhere.call("harvest_pick", `{"field":"a"}`, asTask(fourth))
	if got := last.result.GetStructuredContentJson(); got != `{"field":"a","kilos":7}` || fits(t, elsewhere.list()["harvest_pick"].GetOutputSchemaJson(), got) != nil {
		t.Errorf("it ended with %s, %v", got, last.err)
	}
	if len(h.Began) != 1 {
		t.Errorf("%d operations were begun", len(h.Began))
	}
}

// What operations end with, whether at once or later, with a type that is named or not.
func TestOperationOutcomes(t *testing.T) {
	h := reflecttest.NewHarvest()
	e := newEdge(t, h.Serve(t, reflecttest.Options{}).Addr, reflect.Options{})
	h.Finish("soon", 1)
	h.Finish("empty", -1)
	h.Fail("refused", code.Code_FAILED_PRECONDITION, "no rain")
	h.Fail("broken", code.Code_INTERNAL, "a bug")
	for _, c := range []struct {
		tool, field, structured, text string
		failed                        bool
		code                          codes.Code
	}{
		{tool: "harvest_pick", field: "soon", structured: `{"field":"soon","kilos":1}`},
		{tool: "harvest_clear", field: "empty", structured: `{}`},
		{tool: "harvest_walk", field: "soon", structured: `{"@type":"type.googleapis.com/test.tea.v1.basket.Harvest","field":"soon","kilos":1}`},
		{tool: "harvest_clear", field: "soon", text: "its operation_info says google.protobuf.Empty", failed: true},
		{tool: "harvest_pick", field: "refused", text: "FAILED_PRECONDITION: no rain", failed: true},
		{tool: "harvest_pick", field: "broken", code: codes.Internal},
	} {
		for _, more := range [][]func(*pb.CallToolRequest){nil, {asTask(nil)}} {
			a := e.call(c.tool, `{"field":"`+c.field+`"}`, more...)
			if status.Code(a.err) != c.code || !strings.Contains(a.text(), c.text) || a.result.GetIsError() != c.failed ||
				c.structured != "" && !sameJSON(t, a.result.GetStructuredContentJson(), c.structured) {
				t.Errorf("%s of %s: %v, %v", c.tool, c.field, a.result, a.err)
			}
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := json.Marshal(members(t, a))
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(members(t, b))
	return err == nil && string(x) == string(y)
}

// A client that cannot have tasks waits for the outcome, within the call; when it leaves, the operation is cancelled.
func TestOperationInACall(t *testing.T) {
	h := reflecttest.NewHarvest()
	e := newEdge(t, h.Serve(t, reflecttest.Options{}).Addr, reflect.Options{})
	done := make(chan *answer, 1)
	h.Rows("a", 1)
	go func() { done <- e.call("harvest_pick", `{"field":"a"}`) }()
	await.Until(t, "the operation to be asked about", func() bool { return h.Asked("a") > 0 })
	h.Rows("a", 2)
	asked := h.Asked("a")
	await.Until(t, "it to be asked about again", func() bool { return h.Asked("a") > asked })
	h.Finish("a", 4)
	got := await.Receive(t, "the outcome", done)
	if got.result.GetStructuredContentJson() != `{"field":"a","kilos":4}` || !slices.Equal(got.progress, []string{`{"field":"a","rows":1}`, `{"field":"a","rows":2}`}) {
		t.Errorf("it gave %v, %v after %q", got.result, got.err, got.progress)
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() { done <- e.callBy(ctx, "harvest_pick", `{"field":"b"}`) }()
	await.Until(t, "the operation to be asked about", func() bool { return h.Asked("b") > 0 })
	leave()
	if got := await.Receive(t, "the cancellation", h.Cancelled); got != "b" {
		t.Errorf("%s was cancelled", got)
	}
	await.Receive(t, "the call to end", done)
}

// A call whose time is over gets the name of its operation, which is cancelled, also while a query of it hangs.
func TestOperationTakesTooLong(t *testing.T) {
	h := reflecttest.NewHarvest()
	e := newEdge(t, h.Serve(t, reflecttest.Options{}).Addr, reflect.Options{})
	for name, hang := range map[string]bool{"a": false, "b": true} {
		h.Hang(hang)
		// The operation must begin and be cancelled within the time of the call, for which a machine under load needs longer.
		for within := 2 * time.Second; ; within *= 4 {
			field := fmt.Sprint(name, within)
			ctx, cancel := context.WithTimeout(t.Context(), within)
			got := e.callBy(ctx, "harvest_pick", `{"field":"`+field+`"}`)
			cancel()
			want := "was begun as the operation operations/" + field + ", which has not ended within the time of a call. Its cancellation was requested"
			if got.err == nil && got.result.GetIsError() && strings.Contains(got.text(), want) {
				await.Until(t, "the cancellation", func() bool { return await.Receive(t, "a cancellation", h.Cancelled) == field })
				break
			}
			if within > await.Patience {
				t.Fatalf("a call whose time is over, with questions that hang %v: %v, %v", hang, got.result, got.err)
			}
		}
	}
}

// A round that is cancelled leaves the operation alone, since another edge may go on; CancelCall ends it.
func TestOperationCancelled(t *testing.T) {
	h := reflecttest.NewHarvest()
	e := newEdge(t, h.Serve(t, reflecttest.Options{}).Addr, reflect.Options{})
	first := e.call("harvest_walk", `{"field":"a"}`, asTask(nil))
	repeats(t, first)
	if len(first.progress) > 0 {
		t.Errorf("an operation without metadata has progress %q", first.progress)
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if a := e.callBy(ctx, "harvest_walk", `{"field":"a"}`, asTask(first)); status.Code(a.err) != codes.Canceled || len(h.Cancelled) > 0 {
		t.Errorf("a round that is cancelled: %v, and %d operations were", a.err, len(h.Cancelled))
	}
	for _, state := range [][]byte{nil, []byte("operation:{"), []byte(`operation:{"method":"other","operation":"operations/a"}`)} {
		if _, err := e.tools.CancelCall(t.Context(), &pb.CancelCallRequest{Name: "harvest_walk", State: state}); err != nil || len(h.Cancelled) > 0 {
			t.Errorf("a state of no operation: %v", err)
		}
		if state == nil {
			continue
		}
		if a := e.call("harvest_walk", `{"field":"a"}`, func(r *pb.CallToolRequest) { r.State = state }); status.Code(a.err) != codes.FailedPrecondition {
			t.Errorf("a round of the state %s: %v, %v", state, a.result, a.err)
		}
	}
	if _, err := e.tools.CancelCall(t.Context(), &pb.CancelCallRequest{Name: "harvest_walk", State: first.input.GetState()}); err != nil {
		t.Fatal(err)
	}
	if got := await.Receive(t, "the cancellation", h.Cancelled); got != "a" {
		t.Errorf("%s was cancelled", got)
	}
	if _, err := e.tools.CancelCall(t.Context(), &pb.CancelCallRequest{Name: "operations_get_operation"}); status.Code(err) != codes.Unimplemented {
		t.Errorf("a tool without operations: %v", err)
	}
}

// A call that is cancelled while its operation begins has cancelled that.
func TestOperationCancelledAsItBegins(t *testing.T) {
	h := reflecttest.NewHarvest()
	e := newEdge(t, h.Serve(t, reflecttest.Options{}).Addr, reflect.Options{})
	for field, more := range map[string][]func(*pb.CallToolRequest){"plain": nil, "task": {asTask(nil)}} {
		h.Hold()
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan *answer, 1)
		go func() { done <- e.callBy(ctx, "harvest_pick", `{"field":"`+field+`"}`, more...) }()
		await.Receive(t, "the operation to begin", h.Began)
		leave()
		await.Receive(t, "the call to end", done)
		h.Release()
		if got := await.Receive(t, "the cancellation", h.Cancelled); got != field {
			t.Errorf("%s was cancelled", got)
		}
	}
}

// A type that operation_info names and no file describes is noted, and the tool has no schema; a descriptor set serves as well as
// reflection.
func TestOperationTypeNotDescribed(t *testing.T) {
	h := reflecttest.NewHarvest()
	set := proto.CloneOf(h.Set)
	set.File = slices.DeleteFunc(set.File, func(fd *descriptorpb.FileDescriptorProto) bool { return fd.GetName() == "basket.proto" })
	raw, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	h.Finish("a", 1)
	e := newEdge(t, h.Serve(t, reflecttest.Options{Mute: true}).Addr, reflect.Options{DescriptorSet: func() ([]byte, error) { return raw, nil }})
	tools := e.list()
	if got := tools["harvest_pick"]; got.GetOutputSchemaJson() != "" || got.GetTaskSupport() == nil {
		t.Errorf("listed: %v", got)
	}
	if !slices.ContainsFunc(e.adapter.Notes(), func(n string) bool { return strings.Contains(n, "its operations give a basket.Harvest") }) {
		t.Errorf("notes: %q", e.adapter.Notes())
	}
	if a := e.call("harvest_pick", `{"field":"a"}`); a.result.GetIsError() || !strings.Contains(a.text(), "test.tea.v1.basket.Harvest, which is not described") {
		t.Errorf("it gave %v, %v", a.result, a.err)
	}
}
