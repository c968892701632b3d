package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// report counts steps and says which failed. It is safe for concurrent use.
type report struct {
	mu             sync.Mutex
	passed, failed int
}

// step does one step, prints how it went and reports whether it succeeded.
func (r *report) step(example, name string, do func() error) bool {
	start := time.Now()
	err := do()
	took := time.Since(start).Seconds()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failed++
		fmt.Printf("FAIL  %-10s %6.1f s  %s: %s\n", example, took, name, strings.ReplaceAll(err.Error(), "\n", "\n      "))
		return false
	}
	r.passed++
	fmt.Printf("ok    %-10s %6.1f s  %s\n", example, took, name)
	return true
}

// write prints the totals and writes them to the file counts, if it is named. Failed steps are an error.
func (r *report) write(counts string, took time.Duration) error {
	fmt.Printf("%d passed, %d failed, %.0f s\n", r.passed, r.failed, took.Seconds())
	var err error
	if counts != "" {
		err = os.WriteFile(counts, fmt.Appendf(nil, "%d %d\n", r.passed, r.failed), 0o644)
	}
	if r.failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d steps failed", r.failed, r.passed+r.failed))
	}
	return err
}
