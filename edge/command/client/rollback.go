package client

import (
	"context"
	"fmt"
	"io"
)

const rollbackUsage = `mcpedge catalog rollback [flags] URL

Puts the settings in force that were in force before: backends, catalog, sets, include, policy, hooks, quotas and redact,
on one replica: what came with them is taken back, hooks and rules that protect something too. URL is that of its admin address, as http://127.0.0.1:9090. They stay until the file of settings or a file that it
includes, or the file of catalog-lock, changes, or the process ends. Only one step back is possible.

`

// Rollback runs mcpedge catalog rollback. It rolls back the settings of an edge, and prints the
// settings in force to out and help to stderr. args are the arguments after rollback. It returns
// flag.ErrHelp if help was requested.
func Rollback(ctx context.Context, args []string, out, stderr io.Writer) error {
	s := &server{command: "catalog rollback"}
	flags := s.flagsOfHTTP(rollbackUsage, stderr)
	operands, err := s.parse(flags, args)
	switch {
	case err != nil:
		return err
	case len(operands) != 1:
		return s.errorf("%d arguments: write mcpedge catalog rollback URL, with the URL of the admin address, as http://127.0.0.1:9090", len(operands))
	}
	s.url = operands[0]
	var answer struct {
		Settings struct{ File, Generation, Digest string }
	}
	if err := s.administer(ctx, "/v1/settings/rollback", "{}", &answer); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "generation %s with the digest %s is in force, until %s, a file that it includes or the file of its catalog-lock changes\n", answer.Settings.Generation, answer.Settings.Digest, printable(answer.Settings.File))
	return err
}
