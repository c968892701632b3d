package auth_test

import (
	"testing"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// A cached token costs its SHA-256 and little more.
func BenchmarkRememberedToken(b *testing.B) {
	i := issuer.New("https://id.example")
	a := newAuth(b, options(i))
	r := bearer(i.Token("alice", resource, claims{"roles": []string{"admin", "ops"}}))
	b.ReportMetric(float64(len(r.Header.Get("Authorization"))), "bytes/token")
	b.ReportAllocs()
	for b.Loop() {
		if _, denied := a.Authenticate(r); denied != nil {
			b.Fatal(denied)
		}
	}
}

// A cached token costs at most two allocations.
func TestRememberedTokenAllocates(t *testing.T) {
	i := issuer.New("https://id.example")
	a := newAuth(t, options(i))
	r := bearer(i.Token("alice", resource))
	if n := testing.AllocsPerRun(100, func() { a.Authenticate(r) }); n > 2 {
		t.Errorf("%v allocations", n)
	}
}

// A request with a cached token and a proof, which is verified each time.
func BenchmarkProof(b *testing.B) {
	i, client := issuer.New("https://id.example"), issuer.NewProver()
	o := options(i)
	o.DPoP = auth.DPoPAccept
	a := newAuth(b, o)
	token := i.Token("alice", resource, client.Bound())
	for b.Loop() {
		b.StopTimer()
		r := proved("DPoP", token, client.Proof("POST", resource+"/mcp", token, nil, nil))
		b.StartTimer()
		if _, denied := a.Authenticate(r); denied != nil {
			b.Fatal(denied.Message)
		}
	}
}
