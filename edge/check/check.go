// Package check tests a backend against the contract. It calls every RPC of mcpedge.v1, and reports
// the served objects and the violations of the contract.
package check

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
)

// timing has the durations that tests shorten.
type timing struct {
	// reach bounds the attempts to connect, and each call unless the backend's own timeout is
	// shorter.
	reach time.Duration
	// again is the time for which failed attempts to connect are repeated.
	again time.Duration
	// learn bounds the time to read a target that an adapter must learn.
	learn time.Duration
	// settle bounds the time in which a feed must begin.
	settle time.Duration
	// watched is the time for which a feed must stay open without a reason to end.
	watched time.Duration
	// brief is the first deadline of calls that are cancelled on purpose.
	brief time.Duration
}

var defaultTiming = timing{
	reach: 10 * time.Second, again: 2 * time.Second, learn: 3 * time.Minute, settle: 3 * time.Second,
	watched: 150 * time.Millisecond, brief: 20 * time.Millisecond,
}

// Run is All for one backend.
func Run(ctx context.Context, cfg backend.Config, trial *Trial, w io.Writer) error {
	return All(ctx, []backend.Config{cfg}, trial, w)
}

// All connects to backends, calls every RPC of the contract, and writes to w the served objects and
// the violations of the contract: lines that begin with ok, breaks or note. It calls only tools
// that are marked read-only and need no arguments, and the tools of trial, with the answers of
// trial. It declines every question that trial does not answer.
//
// Up to atOnce backends are checked concurrently, and reported in the order of cfgs.
//
// The error joins those of the backends: a backend cannot be reached within 10 s, attempts to
// connect failed for 2 s, its services cannot be read within 3 minutes or before ctx ends, a list
// cannot be read, or the contract is broken. It also names the calls of trial that match no tool,
// or several. Errors of w are ignored.
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
