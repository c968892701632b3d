package capability

import (
	"context"
	"strings"
	"testing"
)

// saying calls f and returns the text of its panic.
func saying(f func()) (said string) {
	defer func() { said, _ = recover().(string) }()
	f()
	return ""
}

func none[In, Out any](context.Context, *Call, In) (out Out, err error) { return out, nil }

// The panic about an invalid definition names the tool or form.
func TestPanicsNameTheTool(t *testing.T) {
	s := New("panics", "1")
	for want, f := range map[string]func(){
		`capability: tool "lend": field D: the tag default:"x" must be`: func() {
			AddTool(s, "lend", "", none[struct {
				D int `default:"x"`
			}, string])
		},
		`capability: tool "lend": struct { C chan int }.C: a chan int makes no JSON`: func() {
			AddTool(s, "lend", "", none[struct{ C chan int }, string])
		},
		`capability: tool "lend": struct { C func() }.C: a func() makes no JSON`: func() {
			AddTool(s, "lend", "", none[struct{}, struct{ C func() }])
		},
		`capability: tool "lend": field N: the tag minmum is not read: write minimum`: func() {
			AddTool(s, "lend", "", none[struct {
				N int `json:"n" db:"a\"b" minmum:"1"`
			}, string])
		},
		`capability: tool "lend": field N: the tag min is not read: write minimum`: func() {
			AddTool(s, "lend", "", none[struct {
				N int `min:"1"`
			}, string])
		},
		`capability: tool "lend": field N: the tag Description is not read: write description`: func() {
			AddTool(s, "lend", "", none[struct {
				N int `Description:"How many"`
			}, string])
		},
		`capability: tool "lend": struct { name string }: no field of struct { name string } is exported`: func() {
			AddTool(s, "lend", "", none[struct{ name string }, string])
		},
		`capability: tool "lend" returns a []uint8`: func() { AddTool(s, "lend", "", none[struct{}, []byte]) },
		`capability: the form struct { N int "minimum:\"x\"" }: field N: the tag minimum:"x"`: func() {
			formOf[struct {
				N int `minimum:"x"`
			}]()
		},
	} {
		if said := saying(f); !strings.HasPrefix(said, want) {
			t.Errorf("panic %q, want %q", said, want)
		}
	}
}

// A function that is missing is refused when it is added, not by a call.
func TestNilHandlers(t *testing.T) {
	s := New("nil", "1")
	for want, f := range map[string]func(){
		`capability: tool "lend": its handler is nil`:      func() { AddTool[struct{}, string](s, "lend", "", nil) },
		`capability: tool "raw": its handler is nil`:       func() { AddRawTool(s, &Tool{Name: "raw"}, nil) },
		`capability: resource "x://a": its handler is nil`: func() { AddResource[string](s, &Resource{Uri: "x://a", Name: "a"}, nil) },
		`capability: template "x://{a}": its handler is nil`: func() {
			AddTemplate[string](s, &ResourceTemplate{UriTemplate: "x://{a}", Name: "a"}, nil)
		},
		`capability: prompt "ask": its handler is nil`:  func() { AddPrompt[string](s, &Prompt{Name: "ask"}, nil) },
		`capability: the completer of "mood" is nil`:    func() { Complete("mood", nil) },
		`capability: the provider of "skill://" is nil`: func() { s.Provide("skill://", nil) },
	} {
		if said := saying(f); said != want {
			t.Errorf("panic %q, want %q", said, want)
		}
	}
}

// Tags of other packages are not looked at.
func TestTagsOfOthers(t *testing.T) {
	s := New("tags", "1")
	AddTool(s, "lend", "", none[struct {
		N int `json:"n" yaml:"n" validate:"min=1" form:"n" minimum:"1" binding:"required"`
	}, string])
}
