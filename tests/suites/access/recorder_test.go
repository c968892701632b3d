//go:build access

package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// transcript is what a client, an edge and an authorization server have said to each other, one line for a request and its
// answer, without tokens, codes and ids. Safe for concurrent use.
type transcript struct {
	mu    sync.Mutex
	lines []string
	// until: clients call until something changes, so calls that succeed are left out.
	until bool
	// names are put in the place of what differs from run to run: pairs for a strings.Replacer.
	names []string
	// declined: the user does not log in any more.
	declined bool
	// token is the header Authorization that the edge was sent last.
	token string
	// alter changes what a server answers before it is described and passed on; nil changes nothing. It is set before the proxies serve.
	alter func(resp *http.Response)
}

// name has text written as name from now on.
func (t *transcript) name(text, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names = append(t.names, text, name)
}

// called is how a call that succeeds ends.
const called = "EDGE    tools/call look with a token: 200"

// add adds a line.
func (t *transcript) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.until && line == called {
		return
	}
	t.lines = append(t.lines, strings.NewReplacer(t.names...).Replace(line))
}

// heading begins what is told next; until: clients call until something changes.
func (t *transcript) heading(line string, until bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = until
	t.lines = append(t.lines, "# "+line)
}

// has says whether a line since the last heading has all of the words.
func (t *transcript) has(words ...string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, line := range slices.Backward(t.lines) {
		if strings.HasPrefix(line, "#") {
			return false
		}
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			return true
		}
	}
	return false
}

// sent keeps the header Authorization, if it has a token.
func (t *transcript) sent(authorization string) {
	if strings.HasPrefix(authorization, "Bearer ") {
		t.mu.Lock()
		t.token = authorization
		t.mu.Unlock()
	}
}

// refused says whether an edge refuses the token that it was sent last. What is asked here is not told.
func (t *transcript) refused(ctx context.Context, edge string) bool {
	t.mu.Lock()
	token := t.token
	t.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, edge+"/mcp", nil)
	if err != nil {
		return false
	}
	r.Header.Set("Authorization", token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusUnauthorized
}

// clear takes out what is there.
func (t *transcript) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = nil
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n") + "\n"
}

// login has u log in, and adds what the client has asked for.
func (t *transcript) login(u *user) login {
	return func(ctx context.Context, link string) (url.Values, error) {
		to, err := url.Parse(link)
		if err != nil {
			return nil, err
		}
		t.add("USER    login" + only(to.Query(), "response_type", "code_challenge_method", "scope", "resource", "prompt", "redirect_uri"))
		t.mu.Lock()
		declined := t.declined
		t.mu.Unlock()
		if declined {
			return nil, errors.New("the user declines")
		}
		return u.follow(ctx, link)
	}
}

// decline has users not log in any more.
func (t *transcript) decline() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.declined = true
}

// bodyOf is the key of a request's body in its context.
type bodyOf struct{}

// proxy passes on what comes to a free port to target, with the Host that the client wrote, and adds to the transcript what
// describe says of a request and its answer, but for what it calls "". It ends with the test.
func (t *transcript) proxy(tb testing.TB, target string, describe func(sent []byte, resp *http.Response) string) (origin string) {
	tb.Helper()
	l, err := freeport.Listen()
	if err != nil {
		tb.Fatal(err)
	}
	to, err := url.Parse(target)
	if err != nil {
		tb.Fatal(err)
	}
	p := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
		},
		FlushInterval: -1,
		ModifyResponse: func(resp *http.Response) error {
			t.sent(resp.Request.Header.Get("Authorization"))
			if t.alter != nil {
				t.alter(resp)
			}
			sent, _ := resp.Request.Context().Value(bodyOf{}).([]byte)
			if line := describe(sent, resp); line != "" {
				t.add(line)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				tb.Logf("%s %s: %v", r.Method, r.URL.Path, err)
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
		p.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), bodyOf{}, sent)))
	})}
	go func() { _ = server.Serve(l) }()
	tb.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}

// toEdge describes the metadata that a client reads and the requests whose order is the client's alone: not its notifications and
// standalone streams, which come beside them.
func toEdge(sent []byte, resp *http.Response) string {
	r := resp.Request
	if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/.well-known/") {
		return fmt.Sprintf("EDGE    GET %s: %d", r.URL.Path, resp.StatusCode)
	}
	var message struct {
		Method string
		ID     json.RawMessage
		Params struct{ Name string }
	}
	if r.Method != http.MethodPost || json.Unmarshal(sent, &message) != nil || message.ID == nil || message.Method == "subscriptions/listen" {
		return ""
	}
	with := ""
	if r.Header.Get("Authorization") != "" {
		with = " with a token"
	}
	line := fmt.Sprintf("EDGE    %s%s: %d", strings.TrimSpace(message.Method+" "+message.Params.Name), with, resp.StatusCode)
	for _, challenge := range resp.Header.Values("WWW-Authenticate") {
		line += " " + challenge
	}
	return line
}

// toServer describes discovery, registration and what the token endpoint is asked. The user's pages are not described.
func toServer(sent []byte, resp *http.Response) string {
	r := resp.Request
	switch {
	case strings.Contains(r.URL.Path, "/.well-known/"):
		return fmt.Sprintf("SERVER  GET %s: %d", r.URL.Path, resp.StatusCode)
	case r.Method != http.MethodPost:
		return ""
	case strings.HasSuffix(r.URL.Path, "/token"):
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil {
			return err.Error()
		}
		form, _ := url.ParseQuery(string(sent))
		line := "SERVER  token" + only(form, "grant_type", "resource", "scope") + fmt.Sprintf(": %d", resp.StatusCode)
		var answer struct{ Scope, Error string }
		if err := json.Unmarshal(body, &answer); err != nil {
			return line + " " + err.Error()
		}
		if answer.Error != "" {
			line += " error=" + answer.Error
		}
		if answer.Scope != "" {
			line += " scope=" + strconv.Quote(sorted(answer.Scope))
		}
		return line
	case strings.HasSuffix(r.URL.Path, "/reg"), strings.HasSuffix(r.URL.Path, "/clients-registrations/openid-connect"):
		var answer struct{ Scope, Error string }
		_ = json.Unmarshal(sent, &answer)
		line := "SERVER  register"
		if answer.Scope != "" {
			line += " scope=" + strconv.Quote(sorted(answer.Scope))
		}
		return line + fmt.Sprintf(": %d", resp.StatusCode)
	}
	return ""
}

// only are the parameters of these names that are there, in this order.
func only(form url.Values, names ...string) (line string) {
	for _, name := range names {
		if form.Has(name) {
			line += " " + name + "=" + strconv.Quote(sorted(form.Get(name)))
		}
	}
	return line
}

// sorted has words in order: servers list scopes in any.
func sorted(words string) string {
	fields := strings.Fields(words)
	slices.Sort(fields)
	return strings.Join(fields, " ")
}
