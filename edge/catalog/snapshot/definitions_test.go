package snapshot

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog/lock"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// The definitions of a snapshot are those that were written, sorted, are no differences, and are a lock; a file without any is none.
func TestDefinitions(t *testing.T) {
	find, keep := &pb.Tool{Name: "find", Description: "Finds."}, &pb.Tool{Name: "keep"}
	s := tools(`{"name":"find"}`)
	s.Definitions = []lock.Definition{lock.Of("erp", find), lock.Of("crm", keep), lock.Of("crm", find)}
	var out bytes.Buffer
	if err := s.Write(&out); err != nil {
		t.Fatal(err)
	}
	again, err := Read(strings.NewReader(out.String()))
	if err != nil || !slices.Equal(again.Definitions, []lock.Definition{s.Definitions[2], s.Definitions[1], s.Definitions[0]}) {
		t.Fatalf("%v, %+v", err, again)
	}
	if changes := Compare(tools(`{"name":"find"}`), again); len(changes) > 0 {
		t.Errorf("definitions are compared: %v", said(changes))
	}
	l, err := again.Lock(true)
	if err != nil || !l.Blocks() || l.Differences("crm", find) != nil || l.Differences("crm", keep) != nil || l.Differences("erp", keep) == nil {
		t.Errorf("the lock: %v", err)
	}
	for text, want := range map[string]string{`{"tools":[]}`: "make a new one", `{"definitions":null}`: "make a new one", `{"definitions":[]}`: ""} {
		old, err := Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := old.Lock(false); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{`{"tools":[]}{}`, `{"tools":[]} x`} {
		if _, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s is a snapshot", text)
		}
	}
}
