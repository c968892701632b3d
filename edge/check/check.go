// Package check judges a backend by the contract: it calls every RPC of mcpedge.v1 and reports, in plain words, what
// is served and what breaks the contract.
package check

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
)

// timing is what tests shorten.
type timing struct {
	// reach bounds the attempts to connect, and each call unless the backend's own timeout is shorter.
	reach time.Duration
	// again is how long attempts to connect are repeated that fail at once.
	again time.Duration
	// learn bounds the attempts to read a target that an adapter learns.
	learn time.Duration
	// settle is how long a feed may take to begin.
	settle time.Duration
	// brief is the first deadline of the calls that are abandoned on purpose.
	brief time.Duration
}

var defaultTiming = timing{
	reach: 10 * time.Second, again: 2 * time.Second, learn: 3 * time.Minute, settle: 3 * time.Second, brief: 20 * time.Millisecond,
}

// Run is All of one backend.
func Run(ctx context.Context, cfg backend.Config, trial *Trial, w io.Writer) error {
	return All(ctx, []backend.Config{cfg}, trial, w)
}

// All dials backends, calls every RPC of the contract, and writes to w what they serve and what
// breaks the contract, in plain words: lines that begin with ok, breaks or note. It makes no call that
// changes anything: of the tools it calls those marked read-only that need no arguments, and those named
// in trial, whose answers it gives; whatever else they ask, it declines.
//
// Backends are looked at side by side, no more than atOnce at a time, and reported in the order of cfgs.
//
// The error joins those of the backends: that one cannot be reached within 10 s, or failed to be for 2 s, or cannot be learned within
// 3 minutes, or before ctx ends, that a list cannot be read, or that the contract is broken. It also names the calls of trial that
// are of no tool, or of several. An error of w is ignored.
func All(ctx context.Context, cfgs []backend.Config, trial *Trial, w io.Writer) error {
	return all(ctx, cfgs, trial, w, &defaultTiming)
}

func all(ctx context.Context, cfgs []backend.Config, trial *Trial, w io.Writer, timing *timing) error {
	subjects := make([]*subject, len(cfgs))
	each(len(cfgs), func(i int) { subjects[i] = open(ctx, cfgs[i], timing) }, nil)
	calls, err := trial.assign(subjects)
	for i, s := range subjects {
		defer s.close()
		if s.survey != nil {
			s.overview(trial, calls[i])
		}
	}
	errs := make([]error, 0, len(cfgs)+1)
	each(len(subjects), func(i int) { subjects[i].probe(ctx, trial) }, func(i int) {
		_, _ = io.WriteString(w, subjects[i].text.String())
		errs = append(errs, subjects[i].err)
	})
	return errors.Join(append(errs, err)...)
}
