package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
)

// readme is the chart's README, which helm-docs makes of README.md.gotmpl and the comments of values.yaml.
func readme(root string) ([]byte, error) {
	dir := filepath.Join(root, "tests", "suites", "chart")
	// Built before: what the go command downloads it tells on standard error, as helm-docs does its problems.
	build := exec.Command("go", "tool", "helm-docs", "--help")
	build.Dir = dir
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("helm-docs: %w\n%s", err, said)
	}
	cmd := exec.Command("go", "tool", "helm-docs", "--dry-run", "--log-level=warning", "--sort-values-order=file", "--skip-version-footer",
		"--chart-search-root="+filepath.Join(root, chart))
	cmd.Dir = dir
	var problems bytes.Buffer
	cmd.Stderr = &problems
	text, err := cmd.Output()
	if err != nil || problems.Len() > 0 {
		return nil, fmt.Errorf("helm-docs: %v\n%s", err, problems.Bytes())
	}
	return append(bytes.TrimSpace(text), '\n'), nil
}
