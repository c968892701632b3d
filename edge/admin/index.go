package admin

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"strings"
)

// entry is a path of the admin address, and what is there.
type entry struct{ Path, What string }

// entries are what the options have served, besides the index itself.
func entries(o Options) []entry {
	all := []struct {
		served bool
		entry
	}{
		{o.Dev != nil, entry{"/dev", "the last calls, each from the client's request to the backend's handler"}},
		{true, entry{readyPath, "whether this replica takes traffic, else why not"}},
		{true, entry{livePath, "whether the process lives"}},
		{o.Metrics != nil, entry{"/metrics", "metrics for Prometheus"}},
		{o.API != nil, entry{"/v1/status", "this replica: version, sessions, streams"}},
		{o.API != nil, entry{"/v1/backends", "the backends, and how they are"}},
		{o.API != nil, entry{"/v1/tools", "the tools; likewise /v1/prompts and /v1/resources"}},
		{o.API != nil, entry{"/v1/sessions", "the sessions, those of other replicas too"}},
		{o.API != nil, entry{"/v1/tasks", "the tasks, those of other replicas too"}},
		{o.API != nil, entry{"/openapi.json", "all of the above and what changes it, described in OpenAPI"}},
		{o.Level != nil, entry{"/loglevel", "the level of the log; PUT sets it"}},
		{o.Profiles, entry{"/debug/pprof/", "profiles of the Go runtime"}},
		{o.JWKS != nil, entry{JWKSPath, "the keys with which backends verify who is calling"}},
	}
	var out []entry
	for _, e := range all {
		if e.served {
			out = append(out, e.entry)
		}
	}
	return out
}

// indexStart and indexEnd are the page around the entries.
const (
	indexStart = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>MCP Edge: administration</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}dt{font-family:ui-monospace,monospace}dd{margin:0 0 .6rem 1.5rem}</style>
<h1>MCP Edge: administration</h1>
<dl>
`
	indexEnd = "</dl>\n</html>\n"
)

// index lists what is at the admin address: as a page to browsers, as text to others.
func index(o Options) http.Handler {
	list := entries(o)
	var page, text bytes.Buffer
	page.WriteString(indexStart)
	for _, e := range list {
		path := html.EscapeString(e.Path)
		fmt.Fprintf(&page, "<dt><a href=\"%s\">%s</a></dt><dd>%s</dd>\n", path, path, html.EscapeString(e.What))
		fmt.Fprintf(&text, "%-24s %s\n", e.Path, e.What)
	}
	page.WriteString(indexEnd)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Vary", "Accept")
		if strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), "text/html") {
			head.Set("Content-Type", "text/html; charset=utf-8")
			head.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
			_, _ = w.Write(page.Bytes())
			return
		}
		head.Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(text.Bytes())
	})
}
