//go:build kubernetes && linux

package kubernetes

import (
	"fmt"
	"os"
	"testing"
)

// figure notes a figure of a run: in its log, and in the file that KUBERNETES_FIGURES names.
func figure(t *testing.T, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	t.Log(text)
	name := os.Getenv("KUBERNETES_FIGURES")
	if name == "" {
		return
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := fmt.Fprintf(file, "%s: %s\n", t.Name(), text); err != nil {
		t.Fatal(err)
	}
}
