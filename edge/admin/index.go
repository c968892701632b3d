package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// entry is a path of the admin address with its description.
type entry struct{ Path, What string }

// entries returns the paths that the options enable, besides the index itself.
func entries(o Options) []entry {
	var out []entry
	add := func(served bool, path, what string) {
		if served {
			out = append(out, entry{path, what})
		}
	}
	add(o.Dev != nil, "/dev", "the last calls, each from the client's request to the backend's handler")
	add(true, readyPath, "whether this replica takes traffic, else why not")
	add(true, livePath, "whether the process lives")
	add(o.Metrics != nil, "/metrics", "metrics for Prometheus")
	if o.API != nil {
		out = append(out, lists()...)
	}
	add(o.API != nil, "/openapi.json", "describes all of /v1/ in OpenAPI, with what changes something: calls, cancellations, the end of sessions, the drain")
	add(o.Level != nil, "/loglevel", "the level of the log; PUT sets it")
	add(o.Profiles, "/debug/pprof/", "profiles of the Go runtime")
	add(o.JWKS != nil, JWKSPath, "the keys with which backends verify who is calling")
	return out
}

// lists returns the paths of the API that answer a plain GET, in the order of its description.
func lists() []entry {
	var api struct {
		Paths map[string]struct {
			Get *struct {
				Summary string
			}
		}
	}
	if err := json.Unmarshal(document, &api); err != nil {
		panic(err) // it is part of the program
	}
	var out []entry
	for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
		get := api.Paths[path].Get
		if get == nil || strings.ContainsAny(path, "{:") {
			continue
		}
		what, _, _ := strings.Cut(get.Summary, ".")
		out = append(out, entry{path, strings.ToLower(what[:1]) + what[1:]})
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

// index lists the paths of the admin address: as a page for browsers, as text for others.
func index(o Options) http.Handler {
	list := entries(o)
	var page, text bytes.Buffer
	page.WriteString(indexStart)
	for _, e := range list {
		path := html.EscapeString(e.Path)
		fmt.Fprintf(&page, "<dt><a href=\"%s\">%s</a></dt><dd>%s</dd>\n", path, path, html.EscapeString(e.What))
		fmt.Fprintf(&text, "%-26s %s\n", e.Path, e.What)
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
