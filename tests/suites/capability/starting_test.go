package capability

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program that cannot serve says why, in words and with the value that is wrong, and ends with a status that is not 0.
func TestCannotServe(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.pem")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"the address is taken":    {[]string{"--listen", shared.addr}, shared.addr},
		"there is no certificate": {[]string{"--listen", "127.0.0.1:0", "--tls-cert", missing, "--tls-key", missing}, missing},
	} {
		t.Run(name, func(t *testing.T) {
			words := strings.Fields(*command)
			out, err := exec.CommandContext(limit(t), words[0], append(words[1:], c.args...)...).CombinedOutput()
			said := string(out)
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() < 1 || !strings.Contains(said, c.says) {
				t.Fatalf("%v, want a status above 0 and %q in:\n%s", err, c.says, said)
			}
			// It is for who starts the program: neither where in the code it failed, nor how the error is made, nor that it serves.
			for _, word := range append(traces, "Custom {", "Os {", "serving", "serves on", "\tat ") {
				if strings.Contains(said, word) {
					t.Errorf("%q is in:\n%s", word, said)
				}
			}
		})
	}
}
