package reflect

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
)

var (
	kindFiles   = reflecttest.Files(reflecttest.Kinds())
	oracleFiles = reflecttest.Files(reflecttest.Oracle())
)

// What a client may write in several ways is given on in one, so that all who look at it see the same; protojson reads the same
// message from both.
func TestCanonical(t *testing.T) {
	const leafURL = `"type.googleapis.com/test.kinds.v1.Kinds"`
	for _, c := range []struct{ message, given, want string }{
		{"Kinds", `{"int32Field":5}`, `{"int32Field":5}`},
		{"Kinds", ` { "int32Field" : 5.0 } `, ` { "int32Field" : 5.0 } `},
		{"Kinds", `{"int32Field":null,"stringField":null,"leaves":null,"texts":null,"messageField":null}`, `{}`},
		{"Kinds", `{"int32_field":5,"calledOtherwise":"x"}`, `{"int32Field":5,"calledOtherwise":"x"}`},
		{"Kinds", `{"renamed":"x"}`, `{"calledOtherwise":"x"}`},
		{"Kinds", `{"chosen_text":null,"chosenNumber":"1"}`, `{"chosenNumber":1}`},
		{"Kinds", `{"int64Field":"-9","uint64s":["18446744073709551615",1],"fixed32Field":"7"}`, `{"int64Field":-9,"uint64s":[18446744073709551615,1],"fixed32Field":7}`},
		{"Kinds", `{"enumField":1,"colors":[0,"COLOR_BLUE",5],"byName":{"a":2}}`, `{"enumField":"COLOR_RED","colors":["COLOR_UNSPECIFIED","COLOR_BLUE","COLOR_BLUE"],"byName":{"a":"COLOR_GREEN"}}`},
		{"Kinds", `{"enumField":77}`, `{"enumField":77}`},
		{"Kinds", `{"leaves":[{"name":null},{}],"byInt32":{"1":{"name":"x"},"2":{"name":null}}}`, `{"leaves":[{},{}],"byInt32":{"1":{"name":"x"},"2":{}}}`},
		{"Tree", `{"left":{"left":{"label":null,"children":[{"label":"a"}]}}}`, `{"left":{"left":{"children":[{"label":"a"}]}}}`},
		{"Special", `{"value":null,"null":null,"struct":{"a":null},"values":[null],"boolValue":null,"int64Value":"5"}`,
			`{"value":null,"null":null,"struct":{"a":null},"values":[null],"int64Value":5}`},
		{"Special", `{"mask":"a_b.c_d,eF"}`, `{"mask":"aB.cD,eF"}`},
		{"Special", `{"any":{"value":"1s","@type":"type.googleapis.com/google.protobuf.Duration"}}`, `{"any":{"value":"1s","@type":"type.googleapis.com/google.protobuf.Duration"}}`},
		{"Special", `{"any":{"int32_field":1,"@type":` + leafURL + `,"stringField":null}}`, `{"any":{"int32Field":1,"@type":` + leafURL + `}}`},
		{"test.legacy.v1.Old", `{"name":"x","[test.legacy.v1.more]":"z"}`, `{"name":"x","[test.legacy.v1.more]":"z"}`},
		{"google.protobuf.Int64Value", `{"value":"7"}`, `{"value":7}`},
	} {
		md := descriptor(t, kindFiles, c.message)
		types := resolver{dynamicpb.NewTypes(kindFiles)}
		got, err := newCanon(types, []byte(c.given)).root(md)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s\nbecame %s, %v\nwant   %s", c.message, c.given, got, err, c.want)
		}
		if md.FullName() == "google.protobuf.Int64Value" {
			continue
		}
		given, canonical := dynamicpb.NewMessage(md), dynamicpb.NewMessage(md)
		if err := (protojson.UnmarshalOptions{Resolver: types}).Unmarshal(got, canonical); err != nil {
			t.Errorf("%s: %s: %v", c.message, got, err)
		}
		if strings.Contains(c.given, "_b") { // a mask that protojson reads only as it became
			continue
		}
		if err := (protojson.UnmarshalOptions{Resolver: types}).Unmarshal([]byte(c.given), given); err != nil || !proto.Equal(given, canonical) {
			t.Errorf("%s: %s is %v, and %s is %v: %v", c.message, c.given, given, got, canonical, err)
		}
	}
}

func descriptor(t *testing.T, files *protoregistry.Files, name string) protoreflect.MessageDescriptor {
	t.Helper()
	if !strings.Contains(name, ".") {
		name = "test.kinds.v1." + name
	}
	return reflecttest.Message(files, protoreflect.FullName(name))
}

// Two members that are one field are refused: which one counts is everybody's own choice.
func TestTwiceTheSameField(t *testing.T) {
	for _, given := range []string{
		`{"int32Field":1,"int32_field":2}`, `{"int32_field":null,"int32Field":2}`, `{"int32Field":1,"int32Field":null}`,
		`{"leaves":[{"name":"a","name":"b"}]}`,
	} {
		if _, err := newCanon(resolver{dynamicpb.NewTypes(kindFiles)}, []byte(given)).root(descriptor(t, kindFiles, "Kinds")); err == nil {
			t.Errorf("%s is taken", given)
		}
	}
}

// Services get the paths of masks in snake case, and asterisks as they are.
func TestMasksReachTheService(t *testing.T) {
	types := resolver{dynamicpb.NewTypes(oracleFiles)}
	for given, want := range map[string]string{
		"": "[]", "displayName": "[display_name]", "display_name": "[display_name]", "*": "[*]", "size_2,displayName": "[size_2 display_name]",
		"place.*,places": "[place.* places]", "displayName.*": "[display_name.*]",
	} {
		in := dynamicpb.NewMessage(descriptor(t, oracleFiles, "test.oracle.v1.UpdateRequest"))
		text, err := newCanon(types, []byte(fmt.Sprintf(`{"thing":{"name":"x"},"update_mask":%q}`, given))).root(in.Descriptor())
		if err == nil {
			err = readMessage(types, text, in)
		}
		if err != nil {
			t.Errorf("%q: %v", given, err)
			continue
		}
		mask := in.Get(in.Descriptor().Fields().ByName("update_mask")).Message()
		list := mask.Get(mask.Descriptor().Fields().ByName("paths")).List()
		got := []string{}
		for i := range list.Len() {
			got = append(got, list.Get(i).String())
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%q became %q, want %s", given, got, want)
		}
	}
	in := dynamicpb.NewMessage(descriptor(t, oracleFiles, "test.oracle.v1.UpdateRequest"))
	if err := readMessage(types, []byte(`{"updateMask":"a_b","nothing":1}`), in); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("another fault is %v", err)
	}
}

// A message in an Any of a type that the policy could not know must be in the one form that all see alike.
func TestSameForAll(t *testing.T) {
	types := resolver{dynamicpb.NewTypes(kindFiles)}
	for given, want := range map[string]bool{
		`{"any":{"@type":"x/test.kinds.v1.Kinds","int32Field":1}}`:    true,
		`{"any":{"@type":"x/test.kinds.v1.Kinds","int32_field":1}}`:   false,
		`{"any":{"\u0040type":"x/test.kinds.v1.Leaf","name":null}}`:   false,
		`{"any":{"int64Field":"1","@type":"x/test.kinds.v1.Kinds"}}`:  false,
		`{"any":{"@type":"x/google.protobuf.Duration","value":"1s"}}`: true,
	} {
		if err := sameForAll(types, []byte(given), descriptor(t, kindFiles, "Special")); (err == nil) != want {
			t.Errorf("%s: %v", given, err)
		}
	}
}
