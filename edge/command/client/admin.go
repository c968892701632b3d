package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/config"
)

// maxAnswer bounds the response of an admin address, in bytes. It is larger than the list of all
// disabled objects with their reasons, and than a page of approvals.
const maxAnswer = 16 << 20

// httpStatus is the error status of a response of an admin address.
type httpStatus int

func (s httpStatus) Error() string {
	return strings.TrimSpace(strconv.Itoa(int(s)) + " " + http.StatusText(int(s)))
}

// administer sends one request to the admin address s.url and decodes the response into answer. body is JSON, or empty for a GET.
func (s *server) administer(ctx context.Context, path, body string, answer any) error {
	s.url = strings.TrimSuffix(s.url, "/")
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	transport, err := s.transport(ctx, "an admin address, such as http://127.0.0.1:9090")
	if err != nil {
		return err
	}
	defer transport.base.CloseIdleConnections()
	c := &connection{server: s, transport: transport}
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return s.errorf("%s", config.Redact(err.Error()))
	}
	request.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return c.failed(ctx, config.Redact(s.url), err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	var refusal struct{ Message string }
	if err == nil && resp.StatusCode == http.StatusOK {
		err = json.Unmarshal(raw, answer)
	} else if err == nil {
		err = json.Unmarshal(raw, &refusal)
	}
	switch {
	case resp.StatusCode != http.StatusOK && refusal.Message != "":
		return s.errorf("%s: %w: %s", config.Redact(s.url), httpStatus(resp.StatusCode), printable(refusal.Message))
	case resp.StatusCode != http.StatusOK || err != nil:
		return s.errorf("%s: %s: it is not the admin address of an edge", config.Redact(s.url), resp.Status)
	}
	return nil
}
