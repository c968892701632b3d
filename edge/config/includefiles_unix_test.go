//go:build unix

package config

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// A named pipe in the place of a file does not hold up the edge.
func TestNamedPipes(t *testing.T) {
	d := newTeams(t, granted, "teams/pay.yaml", goodPay, "teams/crm/keep.txt", "")
	if err := syscall.Mkfifo(d.path("teams/crm/a.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := d.load()
	if wantStates(t, "a pipe", &cfg, OwnerHidden, OwnerInForce); !strings.Contains(fmt.Sprint(cfg.Owners()[0].Err), "it is not a regular file") {
		t.Errorf("%v", cfg.Owners()[0].Err)
	}
}
