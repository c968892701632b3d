package check

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
)

// subject is a checked backend with its report. Its methods are for one goroutine at a time.
type subject struct {
	findings
	cfg    backend.Config
	timing *timing
	// b is nil if the configuration cannot be used.
	b *backend.Inspection
	// survey is nil if the backend could not be read; err is then the reason.
	survey *backend.Survey
	// calls are the arguments of the tools to call, by tool.
	calls map[string][]string
	// documents are those of the trial for the backend.
	documents []string
	err       error
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
	survey, err := s.read(ctx)
	if err != nil {
		s.undescribed(err)
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

// reach waits until the backend is connected, for timing.reach.
func (s *subject) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timing.reach)
	defer cancel()
	return s.b.Connect(ctx, s.timing.again)
}

// read reads the backend. It repeats that while an adapter is learning it, which has its own bound.
func (s *subject) read(ctx context.Context) (*backend.Survey, error) {
	for began := time.Now(); ; {
		before := s.b.Status().Progress
		survey, err := s.b.Read(ctx)
		if err == nil || before+s.b.Status().Progress == "" || time.Since(began) > s.timing.learn || ctx.Err() != nil {
			return survey, err
		}
	}
}

// unreachable reports why the backend could not be reached.
func (s *subject) unreachable(err error) {
	fmt.Fprintf(&s.text, "  cannot be reached: %v\n", err)
	s.err = fmt.Errorf("backend %q at %s cannot be reached: %w", s.cfg.Name, s.cfg.Target, err)
}

// undescribed reports why the backend could not be described.
func (s *subject) undescribed(err error) {
	what := "Describe fails"
	if s.b.Adapted() {
		what = "cannot be learned"
	}
	fmt.Fprintf(&s.text, "  %s: %v\n", what, err)
	s.err = fmt.Errorf("backend %q: %s: %w", s.cfg.Name, what, err)
}

// overview reports the objects of the backend, and stores the calls to try. trial may be nil.
func (s *subject) overview(trial *Trial, calls map[string][]string) {
	s.calls, s.work, s.backend = calls, s.timing.reach, s.b.Timeout()
	if trial != nil && trial.Timeout > 0 {
		s.work = trial.Timeout
	}
	s.findings.overview(s.survey, s.cfg, trial)
	if trial != nil && trial.Documents != nil {
		s.documents = trial.Documents(s.b.Backend, s.survey.Catalog)
	}
	if trial != nil && trial.Pages != nil {
		for _, text := range trial.Pages(s.b.Backend, s.survey.Catalog) {
			s.note("%s", text)
		}
	}
}

// probe calls every RPC of the backend.
func (s *subject) probe(ctx context.Context, trial *Trial) {
	if s.survey == nil {
		return
	}
	p := &prober{b: s.b, survey: s.survey, findings: &s.findings, trial: trial, calls: s.calls, documents: s.documents, prefix: s.cfg.Prefix, timing: s.timing}
	p.all(ctx)
	s.conclude()
	switch {
	case s.mistake != "":
		s.err = fmt.Errorf("backend %q: %s", s.cfg.Name, s.mistake)
	case s.breaches > 0:
		s.err = fmt.Errorf("backend %q breaks the contract in %s: %s", s.cfg.Name, count(s.breaches, "place"), s.first)
	}
}
