package docs

import (
	"regexp"
	"strings"
	"testing"
)

var goSample = regexp.MustCompile("(?s)\n```go\n(.*?)```")

// The samples of the page for Go are parts of a program that is built and tested, but for its first one, which readers follow as it is.
func TestGoSamplesAreCompiled(t *testing.T) {
	program := read(t, "capability/example/guide/main.go") + read(t, "capability/example/guide/main_test.go")
	samples := goSample.FindAllStringSubmatch(read(t, "docs/backends/go.md"), -1)
	if len(samples) < 7 {
		t.Fatalf("docs/backends/go.md has %d samples", len(samples))
	}
	for _, sample := range samples[1:] {
		if !strings.Contains(program, sample[1]) {
			t.Errorf("capability/example/guide does not have this sample of docs/backends/go.md:\n%s", sample[1])
		}
	}
}
