package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/capability"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// vaultPolicy hides what is secret of the backend "vault".
const vaultPolicy = `policy:
  default: allow
  scopes:
    - {resources: ["vault://scoped/**"], need: [vault]}
  rules:
    - {name: vault, when: 'resource.uri.startsWith("vault://secret/") || resource.uri.endsWith("?name=secret") || resource.uri.endsWith("#secret")', then: hide}
    - {name: exact, when: 'resource.uri == "vault://exact/a.key"', then: hide}
`

const vaultOpen = "the vault is open"

// newVault has secrets behind templates, and resources in spellings of its own.
func newVault() *capability.Server {
	s := capability.New("vault", "1.0.0", capability.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	read := func(_ context.Context, _ *capability.Call, _ string, vars map[string]string) (string, error) {
		path, _, _ := strings.Cut(strings.ReplaceAll(vars["path"], "#", "?"), "?") // as many libraries read it
		if strings.TrimRight(path, "/") == "exact/a.key" || strings.HasPrefix(vars["path"], "secret/") || strings.HasPrefix(vars["path"], "scoped/") || vars["name"] == "secret" || vars["part"] == "secret" {
			return vaultOpen, nil
		}
		return "nothing", nil
	}
	for i, template := range []string{"vault://{+path}", "query://x{?name}", "part://x{#part}"} {
		capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: template, Name: fmt.Sprint("t", i)}, read)
	}
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "docs:///café/{name}", Name: "docs"},
		func(_ context.Context, _ *capability.Call, _ string, vars map[string]string) (string, error) {
			return "document " + vars["name"], nil
		})
	for _, uri := range []string{"notes://café menu.txt", "notes://a%2Db", "notes://a%2db", "notes://plain/x"} {
		capability.AddResource(s, &capability.Resource{Uri: uri, Name: "n"},
			func(context.Context, *capability.Call, string) (string, error) { return "note " + uri, nil })
	}
	return s
}

// templates is a backend whose templates are what an attack says.
type templates struct {
	mcpedgev1.UnimplementedResourceServiceServer
	costly atomic.Bool
	listed atomic.Int64 // how often they were listed
}

func (t *templates) server() *grpc.Server {
	s := newServer()
	mcpedgev1.RegisterResourceServiceServer(s, t)
	return s
}

// ListResources implements the contract.
func (t *templates) ListResources(context.Context, *mcpedgev1.ListResourcesRequest) (*mcpedgev1.ListResourcesResponse, error) {
	return &mcpedgev1.ListResourcesResponse{}, nil
}

// ListResourceTemplates implements the contract.
func (t *templates) ListResourceTemplates(context.Context, *mcpedgev1.ListResourceTemplatesRequest) (*mcpedgev1.ListResourceTemplatesResponse, error) {
	defer t.listed.Add(1)
	var texts []string
	if t.costly.Load() {
		var limited, adjacent, dashed strings.Builder
		for i := range 50 {
			fmt.Fprintf(&limited, "{v%d:9999}", i)
			fmt.Fprintf(&adjacent, "{+v%d}", i)
			fmt.Fprintf(&dashed, "{v%d}-", i)
		}
		texts = []string{limited.String(), "costly://" + adjacent.String() + "!", "costly://" + dashed.String() + "!"}
	}
	out := &mcpedgev1.ListResourceTemplatesResponse{}
	for i, text := range texts {
		out.ResourceTemplates = append(out.ResourceTemplates, &mcpedgev1.ResourceTemplate{UriTemplate: text, Name: fmt.Sprint("t", i)})
	}
	return out, nil
}

// ReadResource implements the contract.
func (t *templates) ReadResource(*mcpedgev1.ReadResourceRequest, grpc.ServerStreamingServer[mcpedgev1.ReadResourceResponse]) error {
	return status.Error(codes.NotFound, "there is nothing")
}

var uriAttacks = []attack{
	{name: "uri-secret", what: "secrets by other spellings of their URIs: escaped letters and slashes, capitals, backslashes, dot segments, with a fragment, a query, a last slash", run: secretSpellings},
	{name: "uri-scoped", what: "resources that need a scope, without it, by other spellings", run: scopedSpellings},
	{name: "uri-listed", what: "what is listed, by spellings that clients make of its URI", run: listedSpellings},
	{name: "uri-templates", what: "templates of 50 variables that match in every way, and URIs of 8 KiB", run: costlyTemplates},
}

// reading reads URIs in a session of its own.
func reading(ctx context.Context, s *site) (read func(uri string) (string, error), end func(), err error) {
	r := s.rogue()
	session, err := r.hello(ctx, `{"name":"reader","version":"1"}`)
	if err != nil {
		r.close()
		return nil, nil, err
	}
	end = func() {
		_, _ = r.send(ctx, "DELETE", "", sessionHeader(session)...)
		r.close()
	}
	return func(uri string) (string, error) {
		params, err := json.Marshal(map[string]string{"uri": uri})
		if err != nil {
			return "", err
		}
		a, err := r.legacy(ctx, session, "resources/read", string(params))
		if err != nil {
			return "", err
		}
		return string(a.body), nil
	}, end, nil
}

func secretSpellings(ctx context.Context, s *site) error {
	return closed(ctx, s, "vault://secret/a", "vault://secret%2fa", "vault://secret%2Fa", "vault://%73ecret/a", "VAULT://secret%2Fa", "Vault://%73%65cret/a",
		`vault://secret%5Ca`, "vault://public/..%2f..%2fsecret/a", "vault://secret%2Fb%20c", "query://x?name=secret", "query://x?name=%73ecret",
		"QUERY://x?name=%73%65cret", "part://x#secret", "part://x#%73ecret", "PART://x#secre%74",
		"vault://exact/a.key", "vault://exact/a.key#", "vault://exact/a.key?", "vault://exact/a.key?x", "vault://exact/a.key/", "vault://exact/a.key//?x#y",
		"vault://exact/a%2Ekey#", "vault://exact%2Fa.key?", "vault://exact/a.key%23x", "vault://exact/a.key%3Fx", "vault://exact/a.key%2F")
}

func scopedSpellings(ctx context.Context, s *site) error {
	return closed(ctx, s, "vault://scoped/a", "vault://scoped%2Fa", "vault://%73coped%2fa", "VAULT://scoped%2Fa", "vault://x/..%2Fscoped%2Fa")
}

// closed reads URIs none of which may be read.
func closed(ctx context.Context, s *site, uris ...string) error {
	read, end, err := reading(ctx, s)
	if err != nil {
		return err
	}
	defer end()
	var errs []error
	for _, uri := range uris {
		if body, err := read(uri); err != nil {
			errs = append(errs, err)
		} else if strings.Contains(body, vaultOpen) || !strings.Contains(body, `"error"`) {
			errs = append(errs, fmt.Errorf("%s was read: %.200s", uri, body))
		}
	}
	return collect(errs)
}

func listedSpellings(ctx context.Context, s *site) error {
	read, end, err := reading(ctx, s)
	if err != nil {
		return err
	}
	defer end()
	var errs []error
	for uri, want := range map[string]string{
		"notes://café menu.txt":          "note notes://café menu.txt",
		"notes://caf%C3%A9%20menu.txt":   "note notes://café menu.txt",
		"NOTES://caf%c3%a9%20menu%2etxt": "note notes://café menu.txt",
		"notes://a%2Db":                  "note notes://a%2Db",
		"notes://a%2db":                  "note notes://a%2db",
		"Notes://plain/%78":              "note notes://plain/x",
		"docs:///caf%C3%A9/a%2Fb":        "document a/b",
		"DOCS:///caf%c3%a9/menu":         "document menu",
		"docs:///café/menu":              "document menu",
	} {
		quoted, err := json.Marshal(uri)
		if err != nil {
			return err
		}
		if body, err := read(uri); err != nil {
			errs = append(errs, err)
		} else if !strings.Contains(body, want) || !strings.Contains(body, `"uri":`+string(quoted)) {
			errs = append(errs, fmt.Errorf("%s was not read, or under another URI: %.200s", uri, body))
		}
	}
	return collect(errs)
}

func costlyTemplates(ctx context.Context, s *site) error {
	read, end, err := reading(ctx, s)
	if err != nil {
		return err
	}
	defer end()
	t := s.backends.templates
	t.costly.Store(true)
	defer t.costly.Store(false)
	for before := t.listed.Load(); t.listed.Load() < before+2; {
		if pause(ctx, 100*time.Millisecond); ctx.Err() != nil {
			return fmt.Errorf("the templates are not listed again: %w", ctx.Err())
		}
	}
	var errs []error
	for _, uri := range []string{"costly://" + strings.Repeat("a", 8000), "costly://" + strings.Repeat("-", 8000), "costly://" + strings.Repeat(",", 8000),
		"costly://" + strings.Repeat("%20", 2600), "unknown://" + strings.Repeat("a-", 4000), "unknown://x"} {
		var body string
		_, err := s.edge.costs(5*time.Second, func() (err error) {
			body, err = read(uri)
			return err
		})
		if err != nil || !strings.Contains(body, `"error"`) {
			errs = append(errs, fmt.Errorf("%.20s…: %v: %.100s", uri, err, body))
		}
	}
	return collect(errs)
}
