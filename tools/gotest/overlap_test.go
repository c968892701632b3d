package main

import (
	"strings"
	"testing"
)

func TestOverlap(t *testing.T) {
	for args, want := range map[string]string{
		"-race ./...":           "-p=6 -parallel=12 -race ./...",
		"-p=1 -race ./...":      "-parallel=12 -p=1 -race ./...",
		"-parallel 2 ./...":     "-p=6 -parallel 2 ./...",
		"-p 1 -parallel=1 ./x":  "-p 1 -parallel=1 ./x",
		"-run X -args -redis":   "-p=6 -parallel=12 -run X -args -redis",
		"-parallelism=1 -pp ./": "-p=6 -parallel=12 -parallelism=1 -pp ./",
	} {
		if got := strings.Join(overlap(strings.Fields(args), 3), " "); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}
