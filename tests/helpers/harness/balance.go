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

// Balance puts edges behind one address that gives each request to the next of them. It knows nothing of sessions and
// holds no response back. A request's body is read before it is passed on: while an httputil.ReverseProxy still reads it,
// a response that begins makes net/http close it, and the connection to the edge with it. Log, Stop, Ended and what awaits
// the end of the edge that it returns are those of the first edge, but that Stop stops them all; Admin is none.
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
