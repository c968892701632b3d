package config

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestVariablesThatReplaceKeysOfTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "edge.yaml")
	if err := os.WriteFile(file, []byte("backends:\n- {name: crm, target: 'crm:443'}\nlog:\n  level: info\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		env  map[string]string
		args []string
		want []string
	}{
		{name: "none"},
		{name: "a list", env: map[string]string{"MCPEDGE_BACKENDS": "other=other:443"}, want: []string{
			"backends: line 1 of " + file + " has no effect: MCPEDGE_BACKENDS sets the key: unset the variable, or take the key out of the file",
		}},
		{name: "a value", env: map[string]string{"MCPEDGE_LOG_LEVEL": "warn"}, want: []string{
			"log.level: line 4 of " + file + " has no effect: MCPEDGE_LOG_LEVEL sets the key: unset the variable, or take the key out of the file",
		}},
		{name: "a key that the file has not", env: map[string]string{"MCPEDGE_LOG_FORMAT": "text"}},
		{name: "a flag", args: []string{"--log-level", "warn"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			lookup := func(name string) (string, bool) { v, ok := test.env[name]; return v, ok }
			c, err := Load("serve", append([]string{"--config", file}, test.args...), lookup, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.superseded(); !slices.Equal(got, test.want) {
				t.Errorf("got %q\nwant %q", got, test.want)
			}
			if notes := c.Ineffective(); len(test.want) > 0 && !slices.Contains(notes, test.want[0]) {
				t.Errorf("notes without it: %q", notes)
			}
		})
	}
}
