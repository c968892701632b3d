// Package e2e drives a whole edge as clients and operators meet it: real TCP listeners, real gRPC
// backends, every revision. It knows the wire and nothing of the edge's inside.
//
// Transcripts of the main behaviours are kept in testdata/transcripts, one file per era and behaviour;
// `go test ./tests/suites/e2e -run TestTranscripts -update` writes them anew.
package e2e

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails the run when a goroutine outlives the edges, backends and clients of the tests.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// The revisions, as they stand on the wire.
const (
	v2024 = "2024-11-05"
	vMar  = "2025-03-26"
	vJun  = "2025-06-18"
	vNov  = "2025-11-25"
	v2026 = "2026-07-28"
)

// stateful are the revisions with sessions that Streamable HTTP has served from its beginning.
var stateful = []string{vMar, vJun, vNov}
