package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
)

// subject is one backend that is checked, and its report. Its methods are for one goroutine at a time.
type subject struct {
	findings
	cfg    backend.Config
	timing *timing
	// b is nil if the configuration cannot be used.
	b *backend.Inspection
	// survey is nil if the backend could not be read; err then is why.
	survey *backend.Survey
	// calls are arguments by the tools that are to be called with them.
	calls map[string][]string
	err   error
}

// open connects a backend and reads it. The caller must close the subject.
func open(ctx context.Context, cfg backend.Config, timing *timing) *subject {
	s := &subject{cfg: cfg, timing: timing}
	if s.b, s.err = backend.Inspect(cfg, backend.Options{}); s.err != nil {
		return s
	}
	fmt.Fprintf(&s.text, "backend %q at %s\n", cfg.Name, cfg.Target)
	if err := s.reach(ctx); err != nil {
		s.unreachable(err)
		return s
	}
	survey, err := s.b.Read(ctx)
	if err != nil {
		fmt.Fprintf(&s.text, "  Describe fails: %v\n", err)
		s.err = fmt.Errorf("backend %q: Describe fails: %w", cfg.Name, err)
		return s
	}
	s.survey = survey
	return s
}

// close ends the connections.
func (s *subject) close() {
	if s.b != nil {
		s.b.Close()
	}
}

// reach waits until the backend is connected, for timing.reach, and longer while what it serves is being learned: that has its
// own bound.
func (s *subject) reach(ctx context.Context) error {
	for began := time.Now(); ; {
		before := s.b.Status().Progress
		once, cancel := context.WithTimeout(ctx, s.timing.reach)
		err := s.b.Connect(once, s.timing.again)
		cancel()
		if err == nil || before+s.b.Status().Progress == "" || time.Since(began) > s.timing.learn || ctx.Err() != nil {
			return err
		}
	}
}

// noPreface is what gRPC says of a server that accepts a connection and does not begin HTTP/2.
const noPreface = "error reading server preface"

// unreachable reports why the backend could not be connected.
func (s *subject) unreachable(err error) {
	if s.cfg.Credentials == nil && strings.Contains(err.Error(), noPreface) {
		err = fmt.Errorf("%w: what answers there speaks no gRPC without TLS: if the backend speaks TLS, give it tls: {} in the configuration file", err)
	}
	what := "cannot be reached"
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		what = "cannot be described" // by a file that its settings name
	}
	fmt.Fprintf(&s.text, "  %s: %v\n", what, err)
	s.err = fmt.Errorf("backend %q at %s %s: %w", s.cfg.Name, s.cfg.Target, what, err)
}

// overview reports what was read, and takes what is to be tried. trial may be nil.
func (s *subject) overview(trial *Trial, calls map[string][]string) {
	s.calls, s.work, s.backend = calls, s.timing.reach, s.b.Timeout()
	if trial != nil && trial.Timeout > 0 {
		s.work = trial.Timeout
	}
	s.findings.overview(s.survey, s.cfg, trial != nil && trial.Schemas)
	if trial != nil && trial.Pages != nil {
		for _, text := range trial.Pages(s.b.Backend, s.survey.Catalog) {
			s.note("%s", text)
		}
	}
}

// probe calls every RPC of a backend that was read.
func (s *subject) probe(ctx context.Context, trial *Trial) {
	if s.survey == nil {
		return
	}
	p := &prober{b: s.b, survey: s.survey, findings: &s.findings, trial: trial, calls: s.calls, prefix: s.cfg.Prefix, timing: s.timing}
	p.all(ctx)
	s.conclude()
	switch {
	case s.mistake != "":
		s.err = fmt.Errorf("backend %q: %s", s.cfg.Name, s.mistake)
	case s.breaches > 0:
		s.err = fmt.Errorf("backend %q breaks the contract in %s: %s", s.cfg.Name, count(s.breaches, "place"), s.first)
	}
}
