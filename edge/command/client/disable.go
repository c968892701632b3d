package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

const disableUsage = `mcpedge catalog disable [flags] NAME [URL]

Disables a tool, a backend or a set on all replicas, until it is enabled again: it is not listed, and requests for it are
refused. URL is that of the admin address of a replica; without it, http://127.0.0.1:9090.

`

const enableUsage = `mcpedge catalog enable [flags] NAME [URL]

Enables again what mcpedge catalog disable has disabled, on all replicas. URL is that of the admin address of a replica; without it,
http://127.0.0.1:9090.

`

const disabledUsage = `mcpedge catalog disabled [flags] [URL]

Lists what operators have disabled: kind, name, backend of a tool, since when, by whom and why, separated by tabs, below a line of titles. URL is that of the admin address of a
replica; without it, http://127.0.0.1:9090.

`

// follows says when a change takes effect, and on which replicas.
func follows(thisProcessOnly bool) string {
	if thisProcessOnly {
		return "its state is in its memory, so that no other replica follows, and the end of the process enables everything"
	}
	return "this replica, and those that share its Redis, follow within a second, or once they reach it again"
}

const adminURL = "http://127.0.0.1:9090"

// disabled is a disabled object in a response of the admin address.
type disabled struct {
	Kind, Name, Backend, Reason, Since string
	Operator                           struct{ Subject string }
}

// String identifies the object.
func (d *disabled) String() string {
	text := printable(d.Kind) + " " + printable(d.Name)
	if d.Backend != "" {
		text += " of the backend " + printable(d.Backend)
	}
	return text
}

// details returns the time, the operator and the reason of the change.
func (d *disabled) details() string {
	text := "since " + printable(d.Since)
	if d.Operator.Subject != "" {
		text += " by " + printable(d.Operator.Subject)
	}
	if d.Reason != "" {
		text += " (" + printable(d.Reason) + ")"
	}
	return text
}

// selection is the request of disable and enable.
type selection struct {
	Name    string `json:"name"`
	Kind    string `json:"kind,omitempty"`
	Backend string `json:"backend,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// choose parses the command line of disable and enable.
func (s *server) choose(usage string, args []string, stderr io.Writer) (selection, error) {
	var c selection
	flags := s.flagsOfHTTP(usage, stderr)
	flags.StringVar(&c.Kind, "kind", "", "`kind` of what is named: tool, backend or set; without it, the one that has the name")
	flags.StringVar(&c.Backend, "backend", "", "`backend` of a tool, which need not list it now if NAME has the prefix of the backend")
	flags.StringVar(&c.Reason, "reason", "", "`text` for other operators and the audit; clients do not see it")
	operands, err := s.parse(flags, args)
	switch {
	case err != nil:
		return c, err
	case len(operands) < 1 || len(operands) > 2:
		return c, s.errorf("%d arguments: write mcpedge %s NAME, or NAME and the URL of the admin address", len(operands), s.command)
	}
	if c.Name, s.url = operands[0], adminURL; len(operands) == 2 {
		s.url = operands[1]
	}
	return c, nil
}

// send sends a selection to a path of the admin address.
func (s *server) send(ctx context.Context, path string, c selection, answer any) error {
	body, err := json.Marshal(c)
	if err != nil {
		return s.errorf("%w", err)
	}
	return s.administer(ctx, path, string(body), answer)
}

// Disable runs mcpedge catalog disable. It prints the disabled object to out and help to stderr.
// args are the arguments after disable. It returns flag.ErrHelp if help was requested.
func Disable(ctx context.Context, args []string, out, stderr io.Writer) error {
	s := &server{command: "catalog disable"}
	c, err := s.choose(disableUsage, args, stderr)
	if err != nil {
		return err
	}
	var answer struct {
		Disabled                  disabled
		Replaced                  *disabled
		Unlisted, ThisProcessOnly bool
	}
	err = s.send(ctx, "/v1/catalog/disable", c, &answer)
	if status := httpStatus(0); errors.As(err, &status) && status == http.StatusNotFound && c.Backend == "" && (c.Kind == "" || c.Kind == "tool") {
		return fmt.Errorf("%w; for such a tool, add --backend NAME of its backend", err)
	}
	if err != nil {
		return err
	}
	until := "until it is enabled again"
	if answer.ThisProcessOnly {
		until += ", and at this replica alone"
	}
	if _, err = fmt.Fprintf(out, "the %s is disabled %s: %s\n", &answer.Disabled, until, follows(answer.ThisProcessOnly)); err != nil {
		return err
	}
	if was := answer.Replaced; was != nil {
		if _, err = fmt.Fprintf(out, "it was disabled already, %s: the new reason, operator and time replace these\n", was.details()); err != nil {
			return err
		}
	}
	if answer.Unlisted {
		_, err = fmt.Fprintf(out, "its backend lists no such tool now, or only to some callers: check the name\n")
	}
	return err
}

// Enable runs mcpedge catalog enable. It is otherwise like Disable.
func Enable(ctx context.Context, args []string, out, stderr io.Writer) error {
	s := &server{command: "catalog enable"}
	c, err := s.choose(enableUsage, args, stderr)
	if err != nil {
		return err
	}
	var answer struct {
		Enabled         disabled
		ThisProcessOnly bool
	}
	if err := s.send(ctx, "/v1/catalog/enable", c, &answer); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "the %s is enabled: %s\n", &answer.Enabled, follows(answer.ThisProcessOnly))
	return err
}

// Disabled runs mcpedge catalog disabled. It prints each disabled object as one line to out, and
// help to stderr. args are the arguments after disabled. It returns flag.ErrHelp if help was
// requested.
func Disabled(ctx context.Context, args []string, out, stderr io.Writer) error {
	s := &server{command: "catalog disabled"}
	flags := s.flagsOfHTTP(disabledUsage, stderr)
	operands, err := s.parse(flags, args)
	switch {
	case err != nil:
		return err
	case len(operands) > 1:
		return s.errorf("%d arguments: write mcpedge catalog disabled, or the URL of the admin address after it", len(operands))
	}
	if s.url = adminURL; len(operands) == 1 {
		s.url = operands[0]
	}
	var answer struct{ Disabled []disabled }
	if err := s.administer(ctx, "/v1/catalog/disabled", "", &answer); err != nil {
		return err
	}
	if len(answer.Disabled) == 0 {
		_, err = fmt.Fprintln(out, "nothing is disabled")
		return err
	}
	if _, err := fmt.Fprintln(out, "KIND\tNAME\tBACKEND\tSINCE\tOPERATOR\tREASON"); err != nil {
		return err
	}
	for _, d := range answer.Disabled {
		if _, err := fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", printable(d.Kind), printable(d.Name), printable(d.Backend), printable(d.Since), printable(d.Operator.Subject), printable(d.Reason)); err != nil {
			return err
		}
	}
	return nil
}
