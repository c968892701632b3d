package snapshot

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/catalog/lock"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Definitions are read as they were written, and sorted. They do not count as differences, and make
// a lock. A file without definitions makes none.
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

// Each part that differs is a change with the old and the new text. Invisible characters are
// escaped, and the end of a long text is shown.
func TestCompareDefinitions(t *testing.T) {
	long := strings.Repeat("Finds much. ", 400)
	base := func() *pb.Tool {
		return &pb.Tool{Name: "f", Description: "Finds.", InputSchemaJson: `{"type":"object","properties":{"a":{"type":"number","description":"One.","maximum":1.50}}}`}
	}
	for name, c := range map[string]struct {
		edit func(*pb.Tool)
		want []string
	}{
		"nothing":     {func(*pb.Tool) {}, nil},
		"description": {func(x *pb.Tool) { x.Description += " Now." }, []string{"words tool crm/f: description has changed", `was "Finds."`, `is "Finds. Now."`}},
		"what cannot be seen": {func(x *pb.Tool) { x.Description = "Finds.\u200b\u202e\x1b[2J\n" + "\U000e0041" },
			[]string{"words tool crm/f: description has changed", `was "Finds."`, `is "Finds.\u200b\u202e\x1b[2J\n\U000e0041"`}},
		"the end of a long text": {func(x *pb.Tool) { x.Description = long + "SEND" },
			[]string{"words tool crm/f: description has changed", `was "Finds."`, "is … (more characters)"}},
		"an argument's text": {func(x *pb.Tool) { x.InputSchemaJson = strings.Replace(x.InputSchemaJson, "One", "Two", 1) },
			[]string{`words tool crm/f: description of the argument "a" has changed`, `was "One."`, `is "Two."`}},
		"a new argument": {func(x *pb.Tool) {
			x.InputSchemaJson = strings.Replace(x.InputSchemaJson, `"a":`, `"b":{"description":"The key."},"a":`, 1)
		}, []string{`widens tool crm/f: the argument "b" is new`, `is "{"description":"The key."}"`}},
		"a hint":        {func(x *pb.Tool) { x.Annotations = &pb.ToolAnnotations{ReadOnly: proto.Bool(true)} }, []string{"words tool crm/f: readOnlyHint was false and is true"}},
		"a hint's text": {func(x *pb.Tool) { x.Annotations = &pb.ToolAnnotations{Title: "T"} }, []string{"words tool crm/f: the title in annotations has changed", `is "T"`}},
		"digits": {func(x *pb.Tool) { x.InputSchemaJson = strings.Replace(x.InputSchemaJson, "1.50", "1.5", 1) },
			[]string{`words tool crm/f: the schema of the argument "a" is written otherwise, and means the same`}},
		"invalid JSON": {func(x *pb.Tool) { x.InputSchemaJson += "," }, []string{"words tool crm/f: input is written otherwise"}},
		"metadata":     {func(x *pb.Tool) { x.MetaJson = `{"k":1}` }, []string{"words tool crm/f: _meta has changed", `is "{"k":1}"`}},
		"tasks":        {func(x *pb.Tool) { x.TaskSupport = &pb.TaskSupport{Mode: pb.TaskMode_TASK_MODE_REQUIRED} }, []string{"words tool crm/f: taskSupport has changed", "TASK_MODE_REQUIRED"}},
		"another name": {func(x *pb.Tool) { x.Name = "g" }, []string{"breaks tool crm/f: its backend does not list it any more", "widens tool crm/g: it is not in the lock", "Finds."}},
	} {
		now := base()
		c.edit(now)
		got := CompareDefinitions(&Snapshot{Definitions: []lock.Definition{lock.Recorded("crm", base())}}, &Snapshot{Definitions: []lock.Definition{lock.Recorded("crm", now)}})
		var text strings.Builder
		for _, one := range got {
			text.WriteString(one.Kind.String() + " " + one.What + " " + one.Name + ": " + one.Text + "\nwas " + one.Was + "\nis " + one.Is + "\n")
		}
		if name == "the end of a long text" {
			if is := got[0].Is; !strings.Contains(is, "more characters)") || len(is) > 3*maxShown {
				t.Errorf("%s: %s", name, is)
			}
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, text.String())
			}
		}
		if c.want == nil && len(got) > 0 {
			t.Errorf("%s: %s", name, text.String())
		}
	}
	bare := &Snapshot{Definitions: []lock.Definition{lock.Of("crm", base())}}
	changed := base()
	changed.Title = "T"
	if got := CompareDefinitions(bare, &Snapshot{Definitions: []lock.Definition{lock.Recorded("crm", changed)}}); len(got) != 1 || got[0].Kind != Breaks || !strings.Contains(got[0].Is, "Finds.") {
		t.Errorf("without what was listed: %+v", got)
	}
}

// For long texts the part that differs is shown, rather than the equal beginning.
func TestQuotedShowsWhatDiffers(t *testing.T) {
	long := strings.Repeat("word ", 5000)
	was, is := quoted(long+"end", long+"send the files"+long)
	if !strings.Contains(was, `end"`) || !strings.Contains(is, "send the files") || len(was) > 200 || !strings.Contains(is, "more characters") {
		t.Errorf("%s\n%.300s", was, is)
	}
}
