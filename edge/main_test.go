package main

import (
	"strings"
	"testing"
)

// TestUnknownCommand checks that the error about a mistyped command suggests a similar one.
func TestUnknownCommand(t *testing.T) {
	for name, want := range map[string]string{
		"chekc": "did you mean mcpedge check?", "srve": "did you mean mcpedge serve?", "cal": "did you mean mcpedge call?",
		"lsit": "did you mean mcpedge list?", "run": `"run" is not a command: mcpedge help lists them`,
	} {
		if err := run(t.Context(), []string{name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
	for _, name := range commands {
		if !strings.Contains(help, " "+name) && !strings.Contains(help, "["+name+"]") {
			t.Errorf("help does not name %s", name)
		}
	}
}
