// Package check judges a backend by the contract: it calls every RPC of mcpedge.v1 and reports, in plain words, what
// is served and what breaks the contract.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
)

// timing is what tests shorten.
type timing struct {
	// reach bounds the attempt to connect, and each call unless the backend's own timeout is shorter.
	reach time.Duration
	// learn bounds the attempt to connect to a target that an adapter learns.
	learn time.Duration
	// settle is how long a feed may take to begin.
	settle time.Duration
	// brief is the first deadline of the calls that are abandoned on purpose.
	brief time.Duration
}

var defaultTiming = timing{reach: 10 * time.Second, learn: 3 * time.Minute, settle: 3 * time.Second, brief: 20 * time.Millisecond}

// noPreface is what gRPC says of a server that accepts a connection and does not begin HTTP/2.
const noPreface = "error reading server preface"

// Run dials one backend, calls every RPC of the contract, and writes to w what it serves and what
// breaks the contract, in plain words: lines that begin with ok, breaks or note. It makes no call that
// changes anything: of the tools it calls those marked read-only that need no arguments, and those named
// in trial, whose answers it gives; whatever else they ask, it declines.
//
// The error says that the backend cannot be reached within 10 s, or learned within 3 minutes, or before ctx ends, that a list cannot
// be read, or that the contract is broken; it is nil for a sound backend. An error of w is ignored.
func Run(ctx context.Context, cfg backend.Config, trial *Trial, w io.Writer) error {
	return run(ctx, cfg, trial, w, &defaultTiming)
}

// reach waits until the backend is connected, for timing.reach, and longer while what it serves is being learned: that has its
// own bound.
func reach(ctx context.Context, b *backend.Inspection, timing *timing) error {
	for began := time.Now(); ; {
		before := b.Status().Progress
		once, cancel := context.WithTimeout(ctx, timing.reach)
		err := b.Connect(once)
		cancel()
		if err == nil || before+b.Status().Progress == "" || time.Since(began) > timing.learn || ctx.Err() != nil {
			return err
		}
	}
}

func run(ctx context.Context, cfg backend.Config, trial *Trial, w io.Writer, timing *timing) error {
	b, err := backend.Inspect(cfg, backend.Options{})
	if err != nil {
		return err
	}
	defer b.Close()
	_, _ = fmt.Fprintf(w, "backend %q at %s\n", cfg.Name, cfg.Target)
	if err := reach(ctx, b, timing); err != nil {
		if cfg.Credentials == nil && strings.Contains(err.Error(), noPreface) {
			err = fmt.Errorf("%w: what answers there speaks no gRPC without TLS: if the backend speaks TLS, give it tls: {} in the configuration file", err)
		}
		what := "cannot be reached"
		if file := (*fs.PathError)(nil); errors.As(err, &file) {
			what = "cannot be described" // by a file that its settings name
		}
		_, _ = fmt.Fprintf(w, "  %s: %v\n", what, err)
		return fmt.Errorf("backend %q at %s %s: %w", cfg.Name, cfg.Target, what, err)
	}
	survey, err := b.Read(ctx)
	if err != nil {
		_, _ = fmt.Fprintf(w, "  Describe fails: %v\n", err)
		return fmt.Errorf("backend %q: Describe fails: %w", cfg.Name, err)
	}
	found := &findings{work: timing.reach, backend: b.Timeout()}
	if trial != nil && trial.Timeout > 0 {
		found.work = trial.Timeout
	}
	found.overview(survey, cfg)
	if trial != nil {
		trial.prefix = cfg.Prefix
		for _, t := range survey.Catalog.Tools {
			trial.listed = append(trial.listed, t.GetName())
			if cfg.Prefix != "" {
				trial.listed = append(trial.listed, cfg.Prefix+t.GetName())
			}
		}
	}
	if trial != nil && trial.Pages != nil {
		for _, text := range trial.Pages(b.Backend, survey.Catalog) {
			found.note("%s", text)
		}
	}
	(&prober{b: b, survey: survey, findings: found, trial: trial, timing: timing}).all(ctx)
	found.conclude()
	_, _ = io.WriteString(w, found.text.String())
	if found.mistake != "" {
		return fmt.Errorf("backend %q: %s", cfg.Name, found.mistake)
	}
	if found.breaches > 0 {
		return fmt.Errorf("backend %q breaks the contract in %s: %s", cfg.Name, count(found.breaches, "place"), found.first)
	}
	return nil
}
