package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The page for operators names every flag with its default and its meaning.
func TestDocumentationIsComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	cfg, file := Default(), ""
	flags("serve", &cfg, &file).VisitAll(func(f *flag.Flag) {
		_, usage := flag.UnquoteUsage(f)
		def := f.DefValue
		if def == "" {
			def = "–"
		}
		row := fmt.Sprintf("| `--%s` | %s | %s |", f.Name, def, usage)
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/configuration.md lacks the row\n%s", row)
		}
	})
}
