// Command generate writes what of deploy/chart is made from elsewhere: the schema of its values, from values.yaml and the
// edge's settings; and its README, from the comments of values.yaml. Run it with: go -C tests/suites/chart run ./generate
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
	for name, text := range made {
		if err := os.WriteFile(filepath.Join(root, chart, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
