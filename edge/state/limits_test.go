package state_test

import (
	"testing"

	"github.com/mcpedge/mcpedge/edge/state"
)

func TestOrDefaults(t *testing.T) {
	if got := (state.Limits{}).OrDefaults(); got != state.DefaultLimits() {
		t.Errorf("no limits are %+v, want the defaults", got)
	}
	l := state.DefaultLimits()
	l.LogEvents, l.Lease = 7, 8
	if got := (state.Limits{LogEvents: 7, Lease: 8}).OrDefaults(); got != l {
		t.Errorf("limits are %+v, want %+v", got, l)
	}
}
