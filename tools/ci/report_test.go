package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestConclusion(t *testing.T) {
	good := result{stage: stage{name: "lint"}, passed: 13, took: 90 * time.Second, used: 135 * time.Second, output: "ok gofmt\n"}
	var long strings.Builder
	for i := range 100 {
		fmt.Fprintf(&long, "--- FAIL: TestSome/%d (0.00s)\n", i)
	}
	bad := result{
		stage: stage{name: "test"}, passed: 5, failed: 100, why: "exit status 1", output: "--- FAIL: TestFirst (0.00s)\n    x_test.go:1: wrong\nok other\n" + long.String() + strings.Repeat("more\n", lastLines),
	}
	var out strings.Builder
	if !conclude(&out, []result{good, bad}) {
		t.Error("it did not fail")
	}
	for _, want := range []string{"=== failed: test", "--- FAIL: TestFirst", "and 61 lines more like these", "exit status 1", "lint", "13 passed, 0 failed, 90 s, 135 s of CPU (1.5 cores)", "90 s together, and 135 s of CPU"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not printed: %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "gofmt") || strings.Contains(out.String(), "ok other") {
		t.Errorf("repeated what did not fail:\n%s", out.String())
	}
	if !strings.HasSuffix(out.String(), "\n18 passed, 100 failed\n") {
		t.Errorf("the last line: %s", out.String())
	}
	out.Reset()
	if conclude(&out, []result{good}) || !strings.HasSuffix(out.String(), "\n13 passed, 0 failed\n") {
		t.Errorf("printed\n%s", out.String())
	}
}
