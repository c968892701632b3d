package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mcpedge/mcpedge/edge/config"
)

const rollbackUsage = `mcpedge catalog rollback [flags] URL

Puts the settings in force that were in force before: backends, catalog, sets, include, policy and quotas, on one
replica. URL is that of its admin address, as http://127.0.0.1:9090. They stay until the file of settings or a file that it
includes changes, or the process ends. Only one step back is possible.

`

// Rollback runs mcpedge catalog rollback: it rolls the settings of an edge back and prints to out
// what is in force, and help to stderr. args are those after rollback. It returns flag.ErrHelp if
// help was requested.
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
	s.url = strings.TrimSuffix(operands[0], "/")
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	transport, err := s.transport(ctx, "an admin address, such as http://127.0.0.1:9090")
	if err != nil {
		return err
	}
	defer transport.base.CloseIdleConnections()
	c := &connection{server: s, transport: transport}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/settings/rollback", strings.NewReader("{}"))
	if err != nil {
		return s.errorf("%s", config.Redact(err.Error()))
	}
	request.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return c.failed(ctx, config.Redact(s.url), err)
	}
	defer resp.Body.Close()
	var answer struct {
		Settings struct{ File, Generation, Digest string }
		Message  string
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	switch {
	case resp.StatusCode != http.StatusOK && answer.Message != "":
		return s.errorf("%s: %s: %s", config.Redact(s.url), resp.Status, printable(answer.Message))
	case resp.StatusCode != http.StatusOK || err != nil:
		return s.errorf("%s: %s: it is no admin address of an edge", config.Redact(s.url), resp.Status)
	}
	_, err = fmt.Fprintf(out, "generation %s with the digest %s is in force, until %s changes\n", answer.Settings.Generation, answer.Settings.Digest, printable(answer.Settings.File))
	return err
}
