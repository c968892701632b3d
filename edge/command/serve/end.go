package serve

import (
	"errors"
	"flag"

	"github.com/mcpedge/mcpedge/edge/command"
	"github.com/mcpedge/mcpedge/edge/config"
)

// inJSON reports whether the log on stderr is in JSON, so that stderr must have no other lines.
func inJSON(cfg *config.Config) bool { return cfg.Log.Format == "json" }

// unstarted logs the error of an edge that cannot start, if the log is JSON. Otherwise main prints
// the error.
func unstarted(cfg *config.Config, err error) error {
	if err == nil || !inJSON(cfg) || errors.Is(err, flag.ErrHelp) {
		return err
	}
	log, _ := newLogger(cfg.Log, cfg.ReplicaName())
	log.Error("the edge cannot start", "error", err)
	return &command.Reported{Err: err}
}

// stopped wraps err in command.Reported if the log is JSON: the edge has logged the error already, so main must not print it.
func stopped(cfg *config.Config, err error) error {
	if err == nil || !inJSON(cfg) {
		return err
	}
	return &command.Reported{Err: err}
}
