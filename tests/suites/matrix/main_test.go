// Package matrix holds the edge to every revision over every transport: each method, each flow from
// the server, and each kind of content, against a whole edge with real sockets or pipes and real gRPC
// backends. Every message that the edge sends is checked against the JSON schema of the negotiated
// revision: those of the directory that MCP_SCHEMA_DIR names, one file `<revision>.json` each, as the
// MCP specification publishes them. Without the variable that check alone is left out.
//
// With -redis (see package harness) every edge keeps its state in a Redis of its own instead of in memory.
//
// docs/revisions.md holds the matrix; `go test ./tests/suites/matrix -update` writes it anew.
package matrix

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// secured are the protocols of clients that speak TLS with the edge, between commas; empty: they speak HTTP/1.1 without.
var secured = flag.String("tls", "", "have clients speak TLS, and over it each `protocol` in turn: http/1.1,h2")

// over is the one of secured whose turn it is.
var over string

// caller is whose key clients that connect over HTTP have, to an edge that knows it; empty: nobody's.
var caller string

// set is the set at whose endpoint clients are; empty means the root.
var set string

// required is the edges' setting sessions.required.
var required = true

var update = flag.Bool("update", false, "write the matrix in docs/revisions.md")

// patience bounds every wait for a condition. It is no pace: what is awaited comes much sooner.
const patience = await.Patience

// TestMain fails the run when a goroutine outlives the edges, backends and clients of the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The revisions, as they stand on the wire, oldest first.
const (
	vOld = "2024-11-05"
	vMar = "2025-03-26"
	vJun = "2025-06-18"
	vNov = "2025-11-25"
	vNew = "2026-07-28"
)

var versions = []string{vOld, vMar, vJun, vNov, vNew}

// stateless reports whether a revision has neither handshake nor sessions.
func stateless(version string) bool { return version >= vNew }
