package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// chart is the chart's folder in the repository.
const chart = "deploy/chart"

// repository is the root of the repository that the working directory is in.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, chart, "Chart.yaml")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the working directory is in no clone of the repository")
		}
		dir = filepath.Dir(dir)
	}
}

// generate makes the generated files of the chart, by their names in its folder.
func generate(root string) (map[string][]byte, error) {
	made := map[string][]byte{}
	var err error
	if made["values.schema.json"], err = schema(root); err != nil {
		return nil, fmt.Errorf("values.schema.json: %w", err)
	}
	if made["README.md"], err = readme(root); err != nil {
		return nil, fmt.Errorf("README.md: %w", err)
	}
	return made, nil
}
