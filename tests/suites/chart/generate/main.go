// Command generate writes what of deploy/chart is made from elsewhere: the schema of its values, from values.yaml and the
// edge's settings; its README, from the comments of values.yaml; and copies of the dashboards and alerts, since a chart has
// nothing but its own folder. Run it with: go -C tests/suites/chart run ./generate
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := repository()
	if err != nil {
		return err
	}
	made, err := generate(root)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(root, chart, copies)); err != nil {
		return err
	}
	for name, text := range made {
		file := filepath.Join(root, chart, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
