package once_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
)

// A use is recorded until it expires. The memory is bounded: a full Memory refuses new entries, and
// one caller cannot fill it.
func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := once.NewMemory(3)
		spend := func(caller, id string) (bool, error) { return p.Spend(t.Context(), caller, id, time.Minute, 2) }
		for _, id := range []string{"a", "b"} {
			if fresh, err := spend("ann", id); !fresh || err != nil {
				t.Errorf("%s: %t, %v", id, fresh, err)
			}
		}
		if fresh, err := spend("ann", "a"); fresh || err != nil {
			t.Errorf("the same again: %t, %v", fresh, err)
		}
		for caller, want := range map[string]bool{"ann": true, "bob": false} {
			if spent, err := p.Spent(t.Context(), caller, "a"); spent != want || err != nil {
				t.Errorf("%s's: %t, %v", caller, spent, err)
			}
		}
		if fresh, err := spend("ann", "c"); fresh || mcp.AsError(err).Kind != mcp.KindLimit {
			t.Errorf("a third of one who may have two: %t, %v", fresh, err)
		}
		if fresh, err := spend("bob", "c"); !fresh || err != nil {
			t.Errorf("another caller's: %t, %v", fresh, err)
		}
		if fresh, err := spend("bob", "d"); fresh || !errors.Is(err, once.ErrFull) {
			t.Errorf("a fourth, where three are remembered: %t, %v", fresh, err)
		}
		time.Sleep(time.Minute + 10*time.Second)
		if spent, err := p.Spent(t.Context(), "ann", "a"); spent || err != nil {
			t.Errorf("after its time: %t, %v", spent, err)
		}
		for _, id := range []string{"c", "d"} {
			if fresh, err := spend("ann", id); !fresh || err != nil {
				t.Errorf("later: %t, %v", fresh, err)
			}
		}
	})
}

// A use that one Memory has recorded is unknown to another one.
func TestMemoriesDiffer(t *testing.T) {
	if a, b := once.NewMemory(1), once.NewMemory(1); a.ID() == "" || a.ID() == b.ID() {
		t.Errorf("%q and %q", a.ID(), b.ID())
	}
}

// Two callers can use the same id.
func TestMemoryIsByCaller(t *testing.T) {
	p := once.NewMemory(4)
	for _, caller := range []string{"ann", "bob"} {
		if fresh, err := p.Spend(t.Context(), caller, "a", time.Minute, 2); !fresh || err != nil {
			t.Errorf("%s's: %t, %v", caller, fresh, err)
		}
	}
	for caller, want := range map[string]bool{"ann": true, "bob": true, "cid": false} {
		if spent, err := p.Spent(t.Context(), caller, "a"); spent != want || err != nil {
			t.Errorf("%s's: %t, %v, want %t", caller, spent, err, want)
		}
	}
	if fresh, err := p.Spend(t.Context(), "an", "na", time.Minute, 2); !fresh || err != nil { // without a separator, "an"+"na" equals "ann"+"a"
		t.Errorf("another caller's other one: %t, %v", fresh, err)
	}
}
