package external

import (
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/protobuf/reflect/protoreflect"

	envoyv1 "github.com/mcpedge/mcpedge/gen/mcpedge/envoy/v1"
)

// Each field of the messages is one of Envoy's message: of its name, number, type and oneof. The RPC is Envoy's.
func TestMessagesAreEnvoys(t *testing.T) {
	if method != authv3.Authorization_Check_FullMethodName {
		t.Errorf("the RPC is %s, want %s", method, authv3.Authorization_Check_FullMethodName)
	}
	for _, x := range []struct{ ours, envoys protoreflect.ProtoMessage }{
		{&envoyv1.CheckRequest{}, &authv3.CheckRequest{}},
		{&envoyv1.CheckResponse{}, &authv3.CheckResponse{}},
	} {
		compareMessages(t, x.ours.ProtoReflect().Descriptor(), x.envoys.ProtoReflect().Descriptor())
	}
	envoys := (&authv3.CheckResponse{}).ProtoReflect().Descriptor().Oneofs().ByName("http_response").Fields()
	for i := range envoys.Len() {
		if (&envoyv1.CheckResponse{}).ProtoReflect().Descriptor().Fields().ByNumber(envoys.Get(i).Number()) == nil {
			t.Errorf("the edge does not see %v of a response", envoys.Get(i))
		}
	}
}

// compareMessages compares messages without cycles.
func compareMessages(t *testing.T, ours, envoys protoreflect.MessageDescriptor) {
	t.Helper()
	if ours.FullName() == envoys.FullName() {
		return // one message
	}
	for i := range ours.Fields().Len() {
		field := ours.Fields().Get(i)
		envoy := envoys.Fields().ByNumber(field.Number())
		if envoy == nil {
			t.Errorf("%s has no field %d of %s", envoys.FullName(), field.Number(), ours.FullName())
			continue
		}
		if field.Name() != envoy.Name() || field.Kind() != envoy.Kind() || field.Cardinality() != envoy.Cardinality() || field.IsMap() != envoy.IsMap() ||
			field.HasPresence() != envoy.HasPresence() || oneofOf(field) != oneofOf(envoy) {
			t.Errorf("%v is not %v", field, envoy)
			continue
		}
		if field.Kind() == protoreflect.MessageKind {
			compareMessages(t, field.Message(), envoy.Message())
		}
	}
}

func oneofOf(f protoreflect.FieldDescriptor) protoreflect.Name {
	if o := f.ContainingOneof(); o != nil {
		return o.Name()
	}
	return ""
}
