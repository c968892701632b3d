package harness

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"testing"
)

// Balance serves edges at one address, and sends each request to the next edge. It ignores sessions
// and buffers no responses. It reads a request's body before forwarding it: if an
// httputil.ReverseProxy still read the body when the response begins, net/http would close the body
// and the connection to the edge.
//
// In the returned Edge, Log, Ended and the methods that await the end are those of the first edge.
// Stop stops all edges. Admin is empty.
func Balance(t testing.TB, edges ...*Edge) *Edge {
	t.Helper()
	var n atomic.Uint64
	pass := &httputil.ReverseProxy{
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", edges[n.Add(1)%uint64(len(edges))].Host
		},
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return &Edge{
		URL: proxy.URL + "/mcp", Host: strings.TrimPrefix(proxy.URL, "http://"), Log: edges[0].Log, ended: edges[0].ended,
		stop: func() {
			for _, e := range edges {
				e.stop()
			}
		},
	}
}
