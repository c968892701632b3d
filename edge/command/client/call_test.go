package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// lockedEdge starts an edge that requires one API key and has tools to call.
func lockedEdge(t *testing.T, change ...func(*config.Config)) (url, keyFile string) {
	t.Helper()
	s := capability.New("fixture", "1")
	capability.AddTool(s, "add", "Adds", func(_ context.Context, c *capability.Call, in struct{ A, B int }) (struct {
		Sum int `json:"sum"`
	}, error,
	) {
		c.Progress(1, 2, "half")
		return struct {
			Sum int `json:"sum"`
		}{in.A + in.B}, nil
	})
	capability.AddTool(s, "fail", "Fails", func(context.Context, *capability.Call, struct{}) (string, error) {
		return "", errors.New("no luck")
	})
	capability.AddTool(s, "who", "Says who calls", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		return c.Principal().GetSubject(), nil
	})
	dir := t.TempDir()
	sum := sha256.Sum256([]byte("a-secret-key-of-at-least-32-bytes-"))
	keys, keyFile := filepath.Join(dir, "keys.yaml"), filepath.Join(dir, "key")
	for path, text := range map[string]string{
		keys:    "- {name: nightly, sha256: " + hex.EncodeToString(sum[:]) + "}\n",
		keyFile: "a-secret-key-of-at-least-32-bytes-\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg := harness.Config(harness.Serve(t, "fixture", s).Backend())
	cfg.Auth, cfg.Listen.PublicURL = &config.Auth{APIKeys: keys}, "http://edge.example.com"
	for _, fn := range change {
		fn(&cfg)
	}
	return harness.Start(t, cfg).URL, keyFile
}

// Arguments that the tool's schema mirrors are also sent in headers, in every revision that has
// them, even if the tool is on a later page of the list.
func TestCallMirrorsArguments(t *testing.T) {
	for _, size := range []int{0, 1} {
		url, key := lockedEdge(t, func(c *config.Config) {
			c.Sets = map[string]config.Set{"desk": {Search: config.SearchOn, Include: config.SetMembers{Tools: config.Names{"**"}}}}
			c.Lists.PageSize = cmp.Or(size, c.Lists.PageSize)
		})
		for _, version := range []string{"2026-07-28", "2025-11-25", ""} {
			var out, stderr bytes.Buffer
			err := Call(t.Context(), []string{"--token-file", key, "--protocol-version", version, url + "/desk", "call_tool", `{"name":"add","arguments":{"A":1,"B":2}}`}, "test", &out, &stderr)
			if err != nil || out.String() != "{\"sum\":3}\n" {
				t.Errorf("pages of %d, revision %q: %q, %v", size, version, out.String(), err)
			}
		}
		if err := Call(t.Context(), []string{"--token-file", key, url + "/desk", "call_tool", `{"name":7}`}, "test", io.Discard, io.Discard); err == nil {
			t.Error("a name that is not a string is accepted")
		}
	}
}

// A tool is called with credentials, and its result is printed.
func TestCall(t *testing.T) {
	url, key := lockedEdge(t)
	call := func(args ...string) (out, notes string, err error) {
		var stdout, stderr bytes.Buffer
		err = Call(t.Context(), args, "test", &stdout, &stderr)
		return stdout.String(), stderr.String(), err
	}
	if out, notes, err := call("--token-file", key, url, "add", `{"A":1,"B":2}`); err != nil || out != "{\"sum\":3}\n" || !strings.Contains(notes, "1 of 2 half") {
		t.Errorf("%q, %q, %v", out, notes, err)
	}
	if out, _, err := call(url, "who", "--header", "Authorization: Bearer a-secret-key-of-at-least-32-bytes-"); err != nil || out != "nightly\n" {
		t.Errorf("%q, %v", out, err)
	}
	out, _, err := call(url, "add", `{"A":1,"B":2}`, "--json", "--token-file="+key)
	var result struct{ StructuredContent struct{ Sum int } }
	if err != nil || json.Unmarshal([]byte(out), &result) != nil || result.StructuredContent.Sum != 3 {
		t.Errorf("%q, %v", out, err)
	}
	if out, _, err := call("--token-file", key, url, "fail"); err == nil || out != "no luck\n" || !strings.Contains(err.Error(), "fail failed") {
		t.Errorf("%q, %v", out, err)
	}
	for want, args := range map[string][]string{
		"give --token-file":    {url, "add"},
		"unknown tool":         {url, "nothing", "--token-file", key},
		"not a URL":            {"127.0.0.1:8080", "add"},
		"not a JSON object":    {url, "add", "[1]"},
		"mcpedge call URL":     {url},
		"write it as 'NAME":    {url, "add", "--header", "x"},
		"no such file":         {url, "add", "--token-file", key + "s"},
		"there is no flag --n": {url, "add", "--no-such-flag"},
		"4 arguments: write m": {url, "add", "{}", "{}"},
	} {
		if _, _, err := call(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", args, err, want)
		}
	}
}

// A refused caller sees the server's reason. Without credentials it is also advised to give some.
func TestCallTellsWhyItWasRefused(t *testing.T) {
	url, key := lockedEdge(t, func(c *config.Config) {
		c.Auth.Metadata.InitialScopes = []string{"mcp:first"}
		c.Policy = &config.Policy{Scopes: []config.PolicyScopes{{Tools: []string{"fail"}, Need: []string{"mcp:write", "mcp:fail"}}}}
		c.Quotas = []config.Quota{{Name: "few", Per: "principal", Tools: []string{"who"}, Rate: "1/1h"}}
	})
	if err := Call(t.Context(), []string{url, "who", "--token-file", key}, "test", &bytes.Buffer{}, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("an-unknown-key"), 0o600); err != nil {
		t.Fatal(err)
	}
	spaced := filepath.Join(t.TempDir(), "spaced")
	if err := os.WriteFile(spaced, []byte("two words"), 0o600); err != nil {
		t.Fatal(err)
	}
	const give = "give --token-file"
	for name, c := range map[string]struct {
		args, want []string
		not        string
	}{
		"no credentials":   {[]string{"who"}, []string{"wants credentials", "the scopes mcp:first", give}, ""},
		"wrong ones":       {[]string{"who", "--token-file", wrong}, []string{"the server says: the API key is unknown", "the scopes mcp:first"}, give},
		"in a header":      {[]string{"who", "--header", "authorization: Bearer x"}, []string{"the server says: the API key is unknown"}, give},
		"no token at all":  {[]string{"who", "--token-file", spaced}, []string{spaced + ": it must hold one access token"}, give},
		"too little scope": {[]string{"fail", "--token-file", key}, []string{"this needs more scopes", "the scopes mcp:write mcp:fail"}, give},
		"beyond a quota":   {[]string{"who", "--token-file", key}, []string{`"few"`, "is used up: try again in 59m"}, "; try again"},
		"an unknown tool":  {[]string{"nix", "--token-file", key}, []string{"unknown tool"}, "the server"},
		"what a tool says": {[]string{"add", "{}", "--token-file", key}, []string{"add failed"}, "the server"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Call(t.Context(), append([]string{url}, c.args...), "test", &bytes.Buffer{}, &bytes.Buffer{})
			if err == nil {
				t.Fatal("it was called")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if c.not != "" && strings.Contains(err.Error(), c.not) {
				t.Errorf("%q is in: %v", c.not, err)
			}
		})
	}
}

// The certificate of a server can be verified with the CA of --ca.
func TestCallByAnotherCA(t *testing.T) {
	ca := authority.New(t, "ca")
	server := ca.Server(t)
	cfg := harness.Config(harness.Serve(t, "fixture", capability.New("fixture", "1")).Backend())
	dir := t.TempDir()
	cfg.Listen.TLS = config.ListenerTLS{
		Cert: authority.File(t, filepath.Join(dir, "tls.crt"), server.Cert), Key: authority.File(t, filepath.Join(dir, "tls.key"), server.Key),
	}
	url := harness.Start(t, cfg).URL
	for file, want := range map[string]string{
		authority.File(t, filepath.Join(dir, "ca.crt"), ca.PEM):                           "no backend serves",
		authority.File(t, filepath.Join(dir, "other.crt"), authority.New(t, "other").PEM): "certificate",
		authority.File(t, filepath.Join(dir, "none.crt"), []byte("none")):                 "no certificate",
		filepath.Join(dir, "missing.crt"):                                                 "no such file",
	} {
		if err := Call(t.Context(), []string{"--ca", file, url, "x"}, "test", &bytes.Buffer{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", file, err, want)
		}
	}
}

// Credentials are sent to the named server only, and not to the target of a redirect.
func TestCallSendsCredentialsToOneHost(t *testing.T) {
	_, key := lockedEdge(t)
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusTeapot)
	}))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	if err := Call(t.Context(), []string{"--token-file", key, first.URL, "add"}, "test", &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
		t.Error("a teapot has answered")
	}
	other.Close()
	if len(got) == 0 {
		t.Error("the redirect was not followed")
	}
	for _, a := range got {
		if a != "" {
			t.Errorf("the other host got %q", a)
		}
	}
}

// A call waits for an address without a listener if --wait is set.
func TestCallWaits(t *testing.T) {
	at, key := lockedEdge(t)
	edge, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--token-file", key, "http://" + addr + edge.Path, "who"}
	if err := Call(t.Context(), args, "test", io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Fatalf("without a listener: %v, want a connection that is refused", err)
	}
	server := &http.Server{Addr: addr, Handler: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: edge.Scheme, Host: edge.Host})}
	ended := make(chan error, 1)
	time.AfterFunc(3*dialAgain, func() { ended <- server.ListenAndServe() })
	var out bytes.Buffer
	if err := Call(t.Context(), append(args, "--wait=1m"), "test", &out, io.Discard); err != nil || out.String() != "nightly\n" {
		t.Errorf("%q, %v", &out, err)
	}
	if err := errors.Join(server.Close(), <-ended); err == nil || !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// The error for the URL of an admin address says so, even if that address requires credentials.
func TestAdminAddress(t *testing.T) {
	cfg := harness.Config(harness.Serve(t, "fixture", capability.New("fixture", "1")).Backend())
	open := harness.Start(t, cfg)
	cfg.Listen.PublicURL = "http://127.0.0.1"
	cfg.Auth = &config.Auth{APIKeys: authority.File(t, filepath.Join(t.TempDir(), "keys.yaml"), []byte("[]"))}
	cfg.Admin.Auth = &config.AdminAuth{Scope: "operate"}
	locked := harness.Start(t, cfg)
	const there = "this is the admin address of an edge: MCP is at the address of --listen, such as http://127.0.0.1:8080/mcp"
	for url, want := range map[string]string{
		"http://" + open.Admin: there, "http://" + open.Admin + "/mcp": there, "http://" + open.Admin + "/sse": there,
		"http://" + open.Admin + "/healthz": "no MCP server is at the path", "http://" + open.Admin + "/v1/status": "admin address of an edge",
		"http://" + locked.Admin:          "if this is the admin address of an edge, MCP is at the address of --listen",
		"http://" + locked.Admin + "/mcp": "if this is the admin address of an edge, MCP is at the address of --listen",
	} {
		for name, command := range map[string]error{
			"call": Call(t.Context(), []string{url, "x"}, "test", io.Discard, io.Discard),
			"list": List(t.Context(), []string{url}, "test", io.Discard, io.Discard),
		} {
			if command == nil || strings.Count(command.Error(), want) != 1 {
				t.Errorf("%s %s: %v; want %q", name, url, command, want)
			}
		}
	}
}

// The error for a URL with a wrong scheme or path says what to change.
func TestWrongAddress(t *testing.T) {
	ca := authority.New(t, "ca")
	server := ca.Server(t)
	dir := t.TempDir()
	cfg := harness.Config(harness.Serve(t, "fixture", capability.New("fixture", "1")).Backend())
	plain := harness.Start(t, cfg)
	cfg.Sets, cfg.Root = map[string]config.Set{"desk": {Include: config.SetMembers{Backends: config.Names{"fixture"}}}}, config.RootOff
	sets := harness.Start(t, cfg)
	cfg.Sets, cfg.Root = nil, ""
	cfg.Listen.TLS = config.ListenerTLS{
		Cert: authority.File(t, filepath.Join(dir, "tls.crt"), server.Cert), Key: authority.File(t, filepath.Join(dir, "tls.key"), server.Key),
	}
	secure := harness.Start(t, cfg)
	for url, want := range map[string]string{
		"http://" + secure.Host + "/mcp":      "write https:// for http://",
		"https://" + plain.Host + "/mcp":      "write http:// for https://",
		"https://" + secure.Host + "/mcp":     "give --ca FILE",
		"http://" + plain.Host + "/v1/mcp":    `no MCP server is at the path "/v1/mcp": mcpedge is at /mcp`,
		"http://" + plain.Host:                "its endpoint is /mcp",
		"http://" + sets.Host + "/mcp/dsek":   `an edge has no set "dsek", or none for this caller: a set is at /mcp/NAME`,
		"http://" + sets.Host + "/mcp":        "an edge with root: off serves sets alone, each at /mcp/NAME",
		"http://user:pw@" + plain.Host + "/x": "mcpedge is at /mcp",
	} {
		for name, command := range map[string]error{
			"call": Call(t.Context(), []string{url, "x"}, "test", io.Discard, io.Discard),
			"list": List(t.Context(), []string{url}, "test", io.Discard, io.Discard),
		} {
			if command == nil || !strings.Contains(command.Error(), want) || strings.Contains(command.Error(), "pw") {
				t.Errorf("%s %s: %v; want %q", name, url, command, want)
			}
		}
	}
}
