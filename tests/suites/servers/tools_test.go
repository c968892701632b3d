//go:build servers

package servers

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/protobuf/proto"
)

// bed is arguments of garden_plant, and its result: every field is set and in the form that results have.
const bed = `{
	"name": "north",
	"shootsByLabel": {"a": {"kind": "pea", "shoots": [{"kind": "leaf", "shoots": [], "seenAt": "2026-03-01T10:00:00Z"}]}, "": {"kind": "", "shoots": []}},
	"rowPlaces": {"-1": {"name": "gate", "latitude": 52.5, "longitude": -13.25}},
	"plantedAt": "2026-02-28T23:59:59.000000001Z",
	"remarks": {"soil": {"layers": [1, "clay", null, true, []]}},
	"mood": [{"calm": null}],
	"place": {"name": "hill", "latitude": -0.5, "longitude": 180},
	"season": "SEASON_AUTUMN",
	"layout": {"parts": {"left": {"parts": {"deep": {"parts": {}, "cells": []}}, "cells": [{"column": 4294967295}]}}, "cells": []},
	"rank": 0,
	"club": {"name": "friends"},
	"seeds": "9007199254740993",
	"stamp": "AP8Q",
	"rest": "-1.500s",
	"nickname": "",
	"shown": "name,place.latitude",
	"acidity": [6.5, 7, "NaN"],
	"extra": {"@type": "type.googleapis.com/garden.v1.Club", "name": "guests"}
}`

// Every method that takes one message is a tool, with the same schemas as by a complete descriptor set.
func TestTools(t *testing.T) {
	eachLanguage(t, func(t *testing.T, l language) {
		s := serve(t, l, serving)
		set, err := proto.Marshal(compile(t, "garden/v1/garden.proto", "garden/common/v1/place.proto"))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "garden.binpb")
		if err := os.WriteFile(file, set, 0o600); err != nil {
			t.Fatal(err)
		}
		e := startEdge(t, s.reflected(),
			fmt.Sprintf("{name: described, prefix: described_, kind: reflect, descriptor-set: %q, target: %q}", file, s.addr))
		tools := e.tools()
		names := []string{"garden_grow", "garden_locate", "garden_plant", "garden_tick"}
		all := slices.Clone(names)
		for _, name := range names {
			all = append(all, "described_"+name)
		}
		if got := slices.Sorted(maps.Keys(tools)); !slices.Equal(got, slices.Sorted(slices.Values(all))) {
			t.Fatalf("tools %q", got)
		}
		for _, name := range names {
			got, want := tools[name], tools["described_"+name]
			if commented := got.Description == want.Description; commented != l.commented {
				t.Errorf("%s is described by %q, in the proto file by %q", name, got.Description, want.Description)
			}
			for _, schema := range []func(*mcp.Tool) any{
				func(tool *mcp.Tool) any { return tool.InputSchema },
				func(tool *mcp.Tool) any { return tool.OutputSchema },
			} {
				got, want := schema(got), schema(want)
				if !l.commented {
					got, want = undescribed(got), undescribed(want)
				}
				if got, want := marshal(t, got), marshal(t, want); got != want {
					t.Errorf("%s has the schema\n%s\nwant\n%s", name, got, want)
				}
			}
		}
	})
}

// undescribed takes the descriptions out of a schema.
func undescribed(schema any) any {
	switch s := schema.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range s {
			if _, isText := value.(string); !isText || key != "description" {
				out[key] = undescribed(value)
			}
		}
		return out
	case []any:
		out := make([]any, len(s))
		for i := range s {
			out[i] = undescribed(s[i])
		}
		return out
	}
	return schema
}

// Calls have results, whether the health service is SERVING or knows nothing of "".
func TestCalls(t *testing.T) {
	eachLanguage(t, func(t *testing.T, l language) {
		for _, health := range []string{unset, serving} {
			t.Run(health, func(t *testing.T) {
				s := serve(t, l, health)
				e := startEdge(t, s.reflected())
				for _, c := range []struct{ tool, arguments, want string }{
					{"garden_plant", bed, bed},
					{"garden_locate", `{"name": "hill", "latitude": -0.5, "longitude": 180}`, `{"name": "hill", "latitude": -0.5, "longitude": 180}`},
					{"garden_grow", `{"kind": "pea", "steps": 3}`, `{"step": 3, "shoot": {"kind": "pea", "shoots": []}}`},
					{"garden_tick", `{"id": "one", "wait": 5}`, `{"id": "one"}`},
				} {
					if got, want := e.call(c.tool, c.arguments), canonical(t, c.want); got != want {
						t.Errorf("%s answers\n%s\nwant\n%s", c.tool, got, want)
					}
				}
				if n := s.watches(); n != 1 {
					t.Errorf("%d health watches were opened", n)
				}
				log, err := os.ReadFile(e.log)
				if err != nil {
					t.Fatal(err)
				}
				if noted := strings.Contains(string(log), "the target has no health service"); noted != (health == unset) {
					t.Errorf("the log has a note of it: %v", noted)
				}
			})
		}
	})
}

// What a tool cannot express is noted, and nothing else.
func TestNotes(t *testing.T) {
	eachLanguage(t, func(t *testing.T, l language) {
		s := serve(t, l, serving)
		want := []string{"method garden.v1.GardenService/Sow takes a stream of messages, and is not a tool", `openai-strict: at 8 places not all arguments can be given`}
		if !l.commented {
			want = slices.Insert(want, 1, "no method has a comment")
		}
		got := slices.DeleteFunc(notes(t, s.reflected()), func(note string) bool { return strings.HasPrefix(note, "CallTool ") })
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("notes:\n%s\nwant those that begin with:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// An unknown type in an Any fails the call, by an error with its name, and does not disturb later calls, although tonic ends the reflection
// stream at an unknown symbol.
func TestUnknownTypes(t *testing.T) {
	eachLanguage(t, func(t *testing.T, l language) {
		s := serve(t, l, serving)
		e := startEdge(t, s.reflected())
		for _, extra := range []string{"nowhere.v1.Nothing", "garden.v1.Nothing", "google.type.Nothing"} {
			r, err := e.session.CallTool(t.Context(), &mcp.CallToolParams{
				Name: "garden_plant", Arguments: json.RawMessage(fmt.Sprintf(`{"extra": {"@type": "type.googleapis.com/%s"}}`, extra)),
			})
			if err != nil || !r.IsError || !strings.Contains(said(r), extra) {
				t.Errorf("%s: %v, %s", extra, err, said(r))
			}
			if got, want := e.call("garden_plant", bed), canonical(t, bed); got != want {
				t.Errorf("after %s the answer is\n%s", extra, got)
			}
		}
	})
}
