package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The files of the chart that are made from elsewhere are what is made now.
func TestChartIsCurrent(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	made, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range made {
		if got, err := os.ReadFile(filepath.Join(root, chart, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s/%s is not what is made of its sources: run go -C tests/suites/chart run ./generate (%v)", chart, name, err)
		}
	}
}
