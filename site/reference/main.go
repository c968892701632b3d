// Program reference writes the pages of the documentation that are made from the code: reference DIR writes settings.md,
// metrics.md, errors.md and values.md to DIR. It runs in the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: reference DIR")
		os.Exit(2)
	}
	if err := write(".", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// write makes all pages of the repository at root.
func write(root, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- pages are public
		return err
	}
	for name, page := range map[string]func(root string) (string, error){
		"settings.md": settingsPage, "metrics.md": metricsPage, "errors.md": errorsPage, "values.md": valuesPage,
	} {
		text, err := page(root)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil { // #nosec G306 -- pages are public
			return err
		}
	}
	return nil
}

// valuesPage is the chart's README, which is made from its values.
func valuesPage(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "deploy/chart/README.md")) // #nosec G304 -- of the repository
	return strings.ReplaceAll(string(text), "](../../docs/", "](../"), err
}

// cell is a text in a cell of a table: one line, without a bar, and without what Vue or HTML would read.
func cell(text string) string {
	return strings.NewReplacer("\n", " ", "|", "\\|", "<", "&lt;", "{{", "&#123;&#123;").Replace(text)
}

// code is a text as code; empty stays empty.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "|", "\\|") + "`"
}
