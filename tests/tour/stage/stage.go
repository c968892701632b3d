// Package stage sets up what a tour goes through: an edge on a free port with the bundled services
// behind it, in this process, over real sockets.
package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/services/demo"
)

// startWithin bounds the start.
const startWithin = 30 * time.Second

// Stage is a running edge with its services. Stop it once.
type Stage struct {
	// URL is the MCP endpoint.
	URL string
	// Dir is a directory of the stage's own, served as file resources; NoteFile in it is there from the
	// start. Who writes to it makes resources change.
	Dir string

	demo  *demo.Demo
	stop  context.CancelFunc
	ended chan error
}

// NoteFile is the name of a file in Dir, NoteText what it says at first.
const (
	NoteFile = "note.txt"
	NoteText = "first"
)

// Start sets a stage up. The log of edge and services goes to w. It returns when the edge serves; an
// error leaves nothing behind.
func Start(ctx context.Context, w io.Writer) (_ *Stage, err error) {
	log := slog.New(slog.NewTextHandler(w, nil))
	s := &Stage{ended: make(chan error, 1)}
	ctx, s.stop = context.WithCancel(ctx)
	if s.Dir, err = os.MkdirTemp("", "mcpedge-tour-"); err != nil {
		s.stop()
		return nil, err
	}
	defer func() {
		if err != nil {
			s.stop()
			s.clean()
		}
	}()
	if err := os.WriteFile(filepath.Join(s.Dir, NoteFile), []byte(NoteText), 0o600); err != nil {
		return nil, err
	}
	if s.demo, err = demo.Start(context.WithoutCancel(ctx), demo.Options{ResourcesDir: s.Dir, Logger: log}); err != nil {
		return nil, err
	}
	return s, s.serve(ctx, log)
}

// serve runs the edge until ctx ends.
func (s *Stage) serve(ctx context.Context, log *slog.Logger) error {
	cfg := config.Default()
	cfg.Listen, cfg.Admin = "127.0.0.1:0", "127.0.0.1:0"
	for _, t := range s.demo.Targets() {
		cfg.Backends = append(cfg.Backends, config.Backend{Name: t.Name, Target: t.Addr})
	}
	if err := cfg.Validate(); err != nil {
		return err
	}
	a, err := app.New(cfg, log)
	if err != nil {
		return err
	}
	serving := make(chan string, 1)
	go func() { s.ended <- a.Run(ctx, func(url string) { serving <- url }) }()
	select {
	case s.URL = <-serving:
		return nil
	case err := <-s.ended:
		return fmt.Errorf("the edge ended before it served: %w", err)
	case <-time.After(startWithin):
		s.stop()
		return errors.Join(fmt.Errorf("the edge did not serve within %s", startWithin), <-s.ended)
	}
}

// Stop drains the edge, stops the services and removes Dir. The error is the edge's.
func (s *Stage) Stop() error {
	s.stop()
	err := <-s.ended
	s.clean()
	return err
}

func (s *Stage) clean() {
	if s.demo != nil {
		s.demo.Stop()
	}
	_ = os.RemoveAll(s.Dir)
}
