package harness

import (
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"testing"
)

// Balance puts edges behind one address that gives each request to the next of them. It knows nothing of sessions and
// holds nothing back. Log, Stop, Ended and what awaits the end of the edge that it returns are those of the first edge,
// but that Stop stops them all; Admin is none.
func Balance(t testing.TB, edges ...*Edge) *Edge {
	t.Helper()
	var n atomic.Uint64
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", edges[n.Add(1)%uint64(len(edges))].Host
		},
	})
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
