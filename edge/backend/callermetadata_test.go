package backend

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// texts is a CallerValue with the texts of callers by their subjects, and an error for others.
type texts map[string]string

func (texts) String() string   { return "its text" }
func (texts) Claims() []string { return []string{"tenant"} }
func (t texts) Of(who *mcp.Principal) (string, error) {
	text, ok := t[who.Subject]
	if !ok {
		return "", errors.New("there is none")
	}
	return text, nil
}

// A backend receives a caller's values if metadata can represent them; otherwise the RPC is
// refused. No value is omitted or truncated.
func TestCallerPairs(t *testing.T) {
	b := &Backend{cfg: Config{Name: "b", Caller: []CallerMetadata{
		{Key: "x-first", Value: texts{"ann": "a", "": "", "inject": "a"}},
		{Key: "x-second", Value: texts{"ann": "one two", "inject": "a\r\nx-admin: yes", "nul": "\x00", "tab": "a\tb", "wide": "Zürich", "long": strings.Repeat("x", 100<<10), "space": " a", "empty": ""}},
	}}}
	if pairs, err := b.CallerPairs(&mcp.Principal{Subject: "ann"}); err != nil || !slices.Equal(pairs, []string{"x-first", "a", "x-second", "one two"}) {
		t.Errorf("%q, %v", pairs, err)
	}
	b.cfg.Caller[0].Value = b.cfg.Caller[1].Value
	for subject, want := range map[string]string{
		"inject": "characters other than", "nul": "characters other than", "tab": "characters other than", "wide": "characters other than",
		"long": "above 4 KiB", "space": "has spaces around it", "empty": "the caller does not have", "absent": "does not have: there is none",
	} {
		pairs, err := b.CallerPairs(&mcp.Principal{Subject: subject})
		if e := mcp.AsError(err); pairs != nil || e.Kind != mcp.KindForbidden || !strings.Contains(e.Message, `the backend "b" requires its text, which `) || !strings.Contains(e.Message, want) {
			t.Errorf("%s: %q, %v; want %q", subject, pairs, err, want)
		}
	}
	_, err := b.CallerPairs(&mcp.Principal{})
	if e := mcp.AsError(err); e.Kind != mcp.KindUnauthenticated || e.Challenge == nil || !e.Challenge.Anonymous {
		t.Errorf("an anonymous caller: %+v", e)
	}
	b.cfg.Caller = nil
	if pairs, err := b.CallerPairs(&mcp.Principal{}); pairs != nil || err != nil {
		t.Errorf("no metadata: %q, %v", pairs, err)
	}
}
