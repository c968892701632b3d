package tasks

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// The random part of ids is that of Options.Text, and ids sort by their creation.
func TestIDsHaveTheTextOfTheOptions(t *testing.T) {
	w := newWorld(t, func(h medium.Hooks) medium.Store { return media["memory"](t, limits(nil))(h) })
	w.backend.tools["gate"] = w.backend.gated(atOnce, true)
	texts := []string{"Z", "A"}
	r := w.replica(func(o *Options) {
		o.Text = func() string {
			text := texts[0]
			texts = texts[1:]
			return text
		}
	})
	first, second := r.begin("gate", "a"), r.begin("gate", "b")
	if !strings.HasSuffix(first, "Z") || !strings.HasSuffix(second, "A") || first >= second {
		t.Errorf("the ids are %q and %q, want them to end with Z and A, in order", first, second)
	}
}
