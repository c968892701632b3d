package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const (
	// chart is the chart's folder in the repository.
	chart = "deploy/chart"
	// copies is the folder in it of files that stand elsewhere in the repository.
	copies = "files"
)

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
	for name, from := range map[string]string{"alerts.yml": "deploy/prometheus/alerts.yml"} {
		text, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			return nil, err
		}
		made[filepath.Join(copies, name)] = text
	}
	boards, err := filepath.Glob(filepath.Join(root, "deploy/grafana/dashboards/*.json"))
	if err != nil || len(boards) == 0 {
		return nil, fmt.Errorf("no dashboards in deploy/grafana: %w", err)
	}
	for _, board := range boards {
		text, err := os.ReadFile(board)
		if err != nil {
			return nil, err
		}
		made[filepath.Join(copies, "dashboards", filepath.Base(board))] = text
	}
	if made["values.schema.json"], err = schema(root); err != nil {
		return nil, fmt.Errorf("values.schema.json: %w", err)
	}
	if made["README.md"], err = readme(root); err != nil {
		return nil, fmt.Errorf("README.md: %w", err)
	}
	return made, nil
}
