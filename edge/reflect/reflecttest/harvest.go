package reflecttest

import (
	"context"
	"fmt"
	"io/fs"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	// What google/longrunning/operations.proto imports.
	_ "google.golang.org/genproto/googleapis/rpc/status"
	_ "google.golang.org/protobuf/types/known/anypb"
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/emptypb"
)

// Harvest is a service with google.longrunning.Operation: each call starts an operation named after
// its field, whose result the test sets. Safe for concurrent use.
type Harvest struct {
	Set   *descriptorpb.FileDescriptorSet
	files *protoregistry.Files
	// Began receives the field of each started operation, Cancelled that of each cancelled one,
	// once.
	Began, Cancelled chan string

	mu    sync.Mutex
	table map[string]*dynamicpb.Message
	asked map[string]int
	away  bool
	hang  bool
	// cancelled has the fields of cancelled operations.
	cancelled map[string]bool
	// hold delays the responses of methods that start operations until it is closed; nil does not.
	hold chan struct{}
}

// NewHarvest returns a Harvest. Serve its Set with its Handle.
func NewHarvest() *Harvest {
	text := func(name string) string {
		raw, err := fs.ReadFile(protos, "protos/"+name)
		if err != nil {
			panic(err)
		}
		return string(raw)
	}
	set := Compile(map[string]string{
		"google/longrunning/operations.proto": text("operations.proto"), "harvest.proto": text("harvest.proto"), "basket.proto": text("basket.proto"),
	})
	return &Harvest{
		Set: set, files: Files(set), Began: make(chan string, 100), Cancelled: make(chan string, 100),
		table: map[string]*dynamicpb.Message{}, asked: map[string]int{}, cancelled: map[string]bool{},
	}
}

// Serve serves it until the test ends.
func (h *Harvest) Serve(t testing.TB, opts Options) *Server { return Serve(t, h.Set, h.Handle, opts) }

// message returns a new message of a type of h.files, filled by set.
func (h *Harvest) message(name protoreflect.FullName, set func(m *dynamicpb.Message, fields protoreflect.FieldDescriptors)) *dynamicpb.Message {
	m := dynamicpb.NewMessage(Message(h.files, name))
	set(m, m.Descriptor().Fields())
	return m
}

// anything packs a message into the Any of a field.
func anything(m *dynamicpb.Message, field protoreflect.Name, of proto.Message) {
	into := m.Mutable(m.Descriptor().Fields().ByName(field)).Message()
	raw, err := proto.Marshal(of)
	if err != nil {
		panic(err)
	}
	fields := into.Descriptor().Fields()
	into.Set(fields.ByName("type_url"), protoreflect.ValueOfString("type.googleapis.com/"+string(of.ProtoReflect().Descriptor().FullName())))
	into.Set(fields.ByName("value"), protoreflect.ValueOfBytes(raw))
}

// set replaces an operation.
func (h *Harvest) set(field string, fill func(op *dynamicpb.Message, fields protoreflect.FieldDescriptors)) {
	op := h.message("google.longrunning.Operation", func(op *dynamicpb.Message, fields protoreflect.FieldDescriptors) {
		op.Set(fields.ByName("name"), protoreflect.ValueOfString("operations/"+field))
		fill(op, fields)
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.table["operations/"+field] = op
}

// Rows sets the progress of an operation, in its metadata.
func (h *Harvest) Rows(field string, rows int) {
	h.set(field, func(op *dynamicpb.Message, _ protoreflect.FieldDescriptors) {
		anything(op, "metadata", h.message("test.tea.v1.Picking", func(m *dynamicpb.Message, fields protoreflect.FieldDescriptors) {
			m.Set(fields.ByName("field"), protoreflect.ValueOfString(field))
			m.Set(fields.ByName("rows"), protoreflect.ValueOfInt32(int32(rows))) // #nosec G115 -- a test's number
		}))
	})
}

// Finish ends an operation with a Harvest of so many kilos; a negative number ends it with an
// Empty.
func (h *Harvest) Finish(field string, kilos int) {
	h.set(field, func(op *dynamicpb.Message, fields protoreflect.FieldDescriptors) {
		op.Set(fields.ByName("done"), protoreflect.ValueOfBool(true))
		if kilos < 0 {
			anything(op, "response", h.message("google.protobuf.Empty", func(*dynamicpb.Message, protoreflect.FieldDescriptors) {}))
			return
		}
		anything(op, "response", h.message("test.tea.v1.basket.Harvest", func(m *dynamicpb.Message, fields protoreflect.FieldDescriptors) {
			m.Set(fields.ByName("field"), protoreflect.ValueOfString(field))
			m.Set(fields.ByName("kilos"), protoreflect.ValueOfInt32(int32(kilos))) // #nosec G115 -- a test's number
		}))
	})
}

// Fail ends an operation with an error.
func (h *Harvest) Fail(field string, c code.Code, message string) {
	h.set(field, func(op *dynamicpb.Message, fields protoreflect.FieldDescriptors) {
		op.Set(fields.ByName("done"), protoreflect.ValueOfBool(true))
		failure := op.Mutable(fields.ByName("error")).Message()
		failure.Set(failure.Descriptor().Fields().ByName("code"), protoreflect.ValueOfInt32(int32(c)))
		failure.Set(failure.Descriptor().Fields().ByName("message"), protoreflect.ValueOfString(message))
	})
}

// Asked returns how often an operation was queried.
func (h *Harvest) Asked(field string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked["operations/"+field]
}

// Away makes queries of operations fail with UNAVAILABLE, or succeed again.
func (h *Harvest) Away(away bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.away = away
}

// Hang makes queries of operations block, or succeed again.
func (h *Harvest) Hang(hang bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hang = hang
}

// Hold delays the responses of methods that start operations until Release.
func (h *Harvest) Hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hold = make(chan struct{})
}

// Release ends Hold.
func (h *Harvest) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.hold)
	h.hold = nil
}

// Handle implements Handler.
func (h *Harvest) Handle(ctx context.Context, method protoreflect.MethodDescriptor, in *dynamicpb.Message, send func(*dynamicpb.Message) error) error {
	text := func(field protoreflect.Name) string { return in.Get(in.Descriptor().Fields().ByName(field)).String() }
	switch method.Name() {
	case "Pick", "Clear", "Walk":
		h.mu.Lock()
		op, hold := h.table["operations/"+text("field")], h.hold
		h.mu.Unlock()
		if op == nil { // the test has not set its state
			h.set(text("field"), func(*dynamicpb.Message, protoreflect.FieldDescriptors) {})
		}
		h.Began <- text("field")
		if hold != nil {
			<-hold
		}
		return h.send("operations/"+text("field"), send)
	case "GetOperation":
		h.mu.Lock()
		h.asked[text("name")]++
		away, hang := h.away, h.hang
		h.mu.Unlock()
		if hang {
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		}
		if away {
			return status.Error(codes.Unavailable, "the service is away")
		}
		return h.send(text("name"), send)
	case "CancelOperation":
		var field string
		if _, err := fmt.Sscanf(text("name"), "operations/%s", &field); err != nil {
			return status.Errorf(codes.NotFound, "there is no operation %q", text("name"))
		}
		if h.cancel(field) {
			h.Cancelled <- field
		}
		return send(dynamicpb.NewMessage(method.Output()))
	}
	return status.Errorf(codes.Unimplemented, "method %s", method.FullName())
}

// cancel ends an operation as cancelled. It reports false for one that was cancelled before.
func (h *Harvest) cancel(field string) bool {
	h.mu.Lock()
	before := h.cancelled[field]
	h.cancelled[field] = true
	h.mu.Unlock()
	if !before {
		h.Fail(field, code.Code_CANCELLED, "it was cancelled")
	}
	return !before
}

func (h *Harvest) send(name string, send func(*dynamicpb.Message) error) error {
	h.mu.Lock()
	op := h.table[name]
	h.mu.Unlock()
	if op == nil {
		return status.Errorf(codes.NotFound, "there is no operation %q", name)
	}
	return send(op)
}
