package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fake is a client whose program is a shell script.
func fake(t *testing.T, script string) (*client, *world) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "main.sh")
	if err := os.WriteFile(program, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return &client{name: "fake", dir: dir, args: []string{"sh", program}}, &world{dir: dir, files: dir}
}

func TestRunClient(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		steps  int
		err    string
	}{
		"passes":         {"echo ok one; echo noise; echo 'ok two' >&2", 2, ""},
		"fails":          {"echo ok one; echo 'FAILED two: expected 2'; exit 1", 1, "FAILED two: expected 2"},
		"does nothing":   {"echo okay", 0, "it did no step"},
		"leaves a child": {"echo ok one; sleep 1000 & true", 1, "left a process running"},
	} {
		t.Run(name, func(t *testing.T) {
			c, w := fake(t, test.script)
			if name == "leaves a child" { // It ends no sooner if it has more time.
				defer func(d time.Duration) { endWithin = d }(endWithin)
				endWithin = time.Second
			}
			o := c.run(context.Background(), w, "stdio", t.TempDir(), false)
			if len(o.steps) != test.steps {
				t.Errorf("steps %q, want %d", o.steps, test.steps)
			}
			if (o.err == nil) != (test.err == "") || o.err != nil && !strings.Contains(o.err.Error(), test.err) {
				t.Errorf("error %v, want %q", o.err, test.err)
			}
		})
	}
}

func TestRunClientUntilCancelled(t *testing.T) {
	c, w := fake(t, "echo ok one; sleep 1000 & sleep 1000")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	o := c.run(ctx, w, "stdio", t.TempDir(), false)
	if o.err == nil || !strings.Contains(o.err.Error(), "stopped after") {
		t.Errorf("error %v", o.err)
	}
}

func TestReport(t *testing.T) {
	var b strings.Builder
	counts := filepath.Join(t.TempDir(), "counts")
	err := report(&b, []outcome{
		{client: "a", transport: "http", said: said{steps: []string{"a", "b", "c"}}},
		{client: "a", transport: "stdio", said: said{steps: []string{"a", "b"}}, err: errors.New("broken")},
	}, counts)
	if err == nil || !strings.HasSuffix(b.String(), "\n5 passed, 1 failed\n") || !strings.Contains(b.String(), "FAILED") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if got, err := os.ReadFile(counts); err != nil || string(got) != "5 1\n" {
		t.Errorf("counts %q, %v", got, err)
	}
	if err := report(&b, nil, ""); err != nil {
		t.Errorf("no failure: %v", err)
	}
}

func TestDiscover(t *testing.T) {
	found, err := discover(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range found {
		names = append(names, c.name+"/"+c.kind.program)
	}
	for _, want := range []string{"go-sdk/main.go", "inspector/main.mjs", "python/main.py", "typescript-v1/main.mjs", "typescript-v2/main.mjs"} {
		if !strings.Contains(strings.Join(names, " "), want) {
			t.Errorf("%s is not among %v", want, names)
		}
	}
	if _, err := discover(t.TempDir()); err == nil {
		t.Error("a folder without clients")
	}
}
