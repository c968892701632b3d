package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
)

// A pin of a member of a oneof of a reflected service is an error with file, line and entry, because the schema says which members exclude
// each other. That of an optional field, a oneof of its own, is none.
func TestPinsOfReflectedOneofs(t *testing.T) {
	s := reflecttest.Serve(t, reflecttest.Kinds(), reflecttest.Answer, reflecttest.Options{})
	file := filepath.Join(t.TempDir(), "edge.yaml")
	for pin, fault := range map[string]string{
		"kind_echo, arguments: {chosenText: {value: x}}":          `its argument "chosenText" cannot be taken out of its schema, which has the keyword "oneOf"`,
		"kind_echo, arguments: {chosenNumber: {value: '1'}}":      `its argument "chosenNumber" cannot be taken out of its schema, which has the keyword "oneOf"`,
		"kind_echo, arguments: {chosenLeaf: {value: {name: x}}}":  `its argument "chosenLeaf" cannot be taken out of its schema, which has the keyword "oneOf"`,
		"wipe, arguments: {days: {from: principal.claims.days}}":  `its argument "days" cannot be taken out of its schema, which has the keyword "oneOf"`,
		"kind_echo, arguments: {chosen_text: {value: x}}":         `it has no argument "chosen_text"`,
		"kind_echo, arguments: {stringField: {value: x}}":         "",
		"kind_echo, arguments: {optionalString: {value: x}}":      "",
		"kind_echo, arguments: {chosenText: {description: Some}}": "",
	} {
		settings := "backends: [{name: kinds, target: '" + s.Addr + "', kind: reflect}]\ncatalog:\n  tools:\n    - {backend: kinds, tool: \"*\", title: T}\n" +
			"    - {backend: kinds, tool: " + pin + "}\n"
		if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := Run(t.Context(), []string{"--config", file}, &out, &out)
		tool, _, _ := strings.Cut(pin, ",")
		want := fmt.Sprintf("edge.yaml:5: catalog.tools[1]: arguments: the tool %s is hidden", tool)
		if fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fault)) {
			t.Errorf("%s: %v, want %q and %q\n%s", pin, err, want, fault, &out)
		}
	}
}
