package await

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// late are tests whose last goroutine ends when goleak alone would not look any more.
type late struct{}

func (late) Run() int {
	end := time.After(time.Second)
	go func() { <-end }()
	return 0
}

func TestLeaks(t *testing.T) {
	others := goleak.IgnoreCurrent()
	if code := Leaks(late{}).Run(); code != 0 {
		t.Errorf("code %d", code)
	}
	if err := goleak.Find(others); err != nil {
		t.Error(err)
	}
}
