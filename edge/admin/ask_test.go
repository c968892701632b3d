package admin

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// edge is ready until why is stored.
type edge struct{ why atomic.Pointer[error] }

func (e *edge) Ready() error {
	if why := e.why.Load(); why != nil {
		return *why
	}
	return nil
}

func TestAsk(t *testing.T) {
	pool, err := backend.NewPool(nil, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	e := &edge{}
	server := httptest.NewServer(New(e, pool, Options{}))
	defer server.Close()
	addr := server.Listener.Addr().String()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	for _, same := range []string{addr, ":" + port, "0.0.0.0:" + port} {
		if err := Ask(ctx, same, false); err != nil {
			t.Errorf("%s: %v", same, err)
		}
	}
	draining := errors.New("draining")
	e.why.Store(&draining)
	if err := Ask(ctx, addr, false); err == nil || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "draining") {
		t.Errorf("of an edge that drains: %v", err)
	}
	server.Close()
	if err := Ask(ctx, addr, false); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("where nothing listens: %v", err)
	}
}

// An edge that accepts and says nothing is not ready, once the asker's patience is over.
func TestAskIsBounded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	if err := Ask(ctx, server.Listener.Addr().String(), false); !errors.Is(err, context.Canceled) {
		t.Errorf("of an edge that is silent: %v", err)
	}
}

// An edge is asked over TLS, whatever its certificate is for.
func TestAskOverTLS(t *testing.T) {
	e := &edge{}
	pool, err := backend.NewPool(nil, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	server := httptest.NewTLSServer(New(e, pool, Options{ClientCertificates: true}))
	defer server.Close()
	addr := server.Listener.Addr().String()
	if err := Ask(t.Context(), addr, true); err != nil {
		t.Error(err)
	}
	if err := Ask(t.Context(), addr, false); err == nil || !strings.Contains(err.Error(), "speaks TLS: give --config with its file of settings, or set MCPEDGE_ADMIN_TLS_CERT") {
		t.Errorf("without TLS: %v", err)
	}
}
