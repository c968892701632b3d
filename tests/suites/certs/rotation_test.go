package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

const (
	// generations is how many times all certificates are exchanged, each time for those of other CAs, and turn how long
	// each generation is at least.
	generations = 40
	turn        = 300 * time.Millisecond
	// window is how many generations of CAs before and after its own everybody trusts: as in an exchange in use, who
	// verifies knows a CA before it issues, and for as long as somebody may have one of its certificates.
	window = 20
)

// rotation is what the edge, its clients and its backend have of each generation. Safe for concurrent use.
type rotation struct {
	servers, clients, backends, edges []*authority.CA
	now                               atomic.Int64
	// made has the generation of each certificate that the edge was given, by its serial number.
	made sync.Map
}

// give notes that the edge is given a certificate of a generation, and returns it.
func (r *rotation) give(t *testing.T, p authority.Pair, generation int) authority.Pair {
	r.made.Store(p.Serial(t), int64(generation))
	return p
}

// trusted are the CAs that are trusted now.
func (r *rotation) trusted(all []*authority.CA) []*authority.CA {
	g := int(r.now.Load())
	return all[max(0, g-window):min(len(all), g+window+1)]
}

// seen counts the different certificates of the edge that its peers were shown.
type seen struct {
	mu     sync.Mutex
	all    map[string]bool
	latest int64 // the latest generation among them
}

func (s *seen) note(r *rotation, serial string) {
	generation, _ := r.made.Load(serial)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]bool{}
	}
	s.all[serial] = true
	if g, ok := generation.(int64); ok {
		s.latest = max(s.latest, g)
	}
}

// since reports whether a certificate of this generation or a later one was shown.
func (s *seen) since(generation int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest >= generation
}

func (s *seen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// backend serves over TLS, with certificates and CAs of the moment. Connections end after maxAge, if that is not 0. The
// edge's certificates are noted in by.
func (r *rotation) backend(t *testing.T, pairs []tls.Certificate, by *seen, maxAge time.Duration) *capability.Server {
	conf := &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{
			Certificates: []tls.Certificate{pairs[r.now.Load()]}, NextProtos: []string{"h2"},
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool(r.trusted(r.edges)...),
			VerifyConnection: func(s tls.ConnectionState) error {
				by.note(r, s.PeerCertificates[0].SerialNumber.String())
				return nil
			},
		}, nil
	}}
	options := []grpc.ServerOption{grpc.Creds(credentials.NewTLS(conf))}
	if maxAge > 0 {
		options = append(options, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: maxAge, MaxConnectionAgeGrace: patience}))
	}
	return newService(capability.WithServerOptions(options...), capability.WithLogger(slog.New(slog.DiscardHandler))).Server
}

// load are clients that call one after the other.
type load struct {
	r       *rotation
	calls   atomic.Int64
	began   []*atomic.Int64 // the generation in which the call that each client waits for began
	done    chan struct{}
	ended   sync.Once
	clients sync.WaitGroup
}

// run has a client call until stop, or until a call fails.
func (l *load) run(t *testing.T, name string, call func() error) {
	at := &atomic.Int64{}
	l.began = append(l.began, at)
	l.clients.Go(func() {
		defer at.Store(generations)
		for {
			select {
			case <-l.done:
				return
			default:
			}
			at.Store(l.r.now.Load())
			if err := call(); err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			l.calls.Add(1)
		}
	})
}

// since reports whether no client waits for a call that began before a generation.
func (l *load) since(generation int64) bool {
	return !slices.ContainsFunc(l.began, func(at *atomic.Int64) bool { return at.Load() < generation })
}

// stop ends the clients. It may be called repeatedly.
func (l *load) stop() {
	l.ended.Do(func() {
		close(l.done)
		l.clients.Wait()
	})
}

// Certificates and CAs of the listeners, of their clients, of a backend and of the edge as its client are all exchanged,
// again and again, under calls over kept and over new connections, in both versions of HTTP. No call fails.
func TestExchangeUnderLoad(t *testing.T) {
	r := &rotation{
		servers: authority.NewCAs(t, "servers", generations), clients: authority.NewCAs(t, "clients", generations),
		backends: authority.NewCAs(t, "backends", generations), edges: authority.NewCAs(t, "edges", generations),
	}
	var backendPairs, clientPairs []tls.Certificate
	for g := range generations {
		backendPairs = append(backendPairs, r.backends[g].Server(t).TLS(t))
		clientPairs = append(clientPairs, r.clients[g].Client(t).TLS(t))
	}
	var edges, edgesOfKept seen
	short := harness.Serve(t, "short", r.backend(t, backendPairs, &edges, 200*time.Millisecond))
	kept := harness.Serve(t, "kept", r.backend(t, backendPairs, &edgesOfKept, 0))
	edgeFiles := func(g int) map[string][]byte {
		p := r.give(t, r.edges[g].Client(t), g)
		return map[string][]byte{"tls.crt": p.Cert, "tls.key": p.Key, "ca.crt": authority.Bundle(r.trusted(r.backends)...)}
	}
	atBackend := authority.NewMount(t, edgeFiles(0))
	cfg := harness.Config(short.Backend(), kept.Backend())
	for i := range cfg.Backends {
		cfg.Backends[i].TLS = &config.TLS{Cert: atBackend.Path("tls.crt"), Key: atBackend.Path("tls.key"), CA: atBackend.Path("ca.crt")}
	}
	cfg.Backends[1].Prefix = "kept_"
	atListener := secured(t, &cfg, r.servers[0], r.trusted(r.clients)...)
	e := harness.Start(t, cfg)

	var servers seen
	conf := func() *tls.Config {
		return &tls.Config{
			RootCAs:              authority.Pool(r.trusted(r.servers)...),
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &clientPairs[r.now.Load()], nil },
			ClientSessionCache:   tls.NewLRUClientSessionCache(1),
		}
	}
	l := &load{r: r, done: make(chan struct{})}
	defer l.stop()
	for _, protocol := range protocols {
		for _, tool := range []string{"echo", "kept_echo"} {
			keeping := newClientWith(t, protocol, conf())
			l.run(t, "a kept connection over "+protocol, func() error {
				_, err := keeping.call(e.URL, tool, `{"text":"x"}`, "x")
				return err
			})
			l.run(t, "new connections over "+protocol, func() error {
				c := newClientWith(t, protocol, conf())
				defer c.transport.CloseIdleConnections()
				state, err := c.call(e.URL, tool, `{"text":"x"}`, "x")
				if err == nil {
					servers.note(r, serialOf(state.PeerCertificates))
				}
				return err
			})
		}
	}
	// A stream that is open all the time, and a client that keeps the connection of its first call.
	old := newClientWith(t, "HTTP/2.0", conf())
	stream := old.stream(t, e.URL)
	defer stream.Close()
	first, err := old.serial(e.URL)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	ticker := time.NewTicker(turn)
	defer ticker.Stop()
	for g := 1; g < generations && !t.Failed(); g++ {
		<-ticker.C
		// On a slow machine a generation is longer: no peer may show a certificate that is no longer trusted.
		await.Until(t, "what is half a window old to be over", func() bool {
			old := int64(g - window/2)
			return t.Failed() || servers.since(old) && edges.since(old) && l.since(old)
		})
		r.now.Store(int64(g))
		atListener.Write(t, listenerFiles(r.give(t, r.servers[g].Server(t), g), r.trusted(r.clients)...))
		atBackend.Write(t, edgeFiles(g))
	}
	l.stop()
	if last, err := old.serial(e.URL); err != nil || last != first {
		t.Errorf("a kept connection has the certificate %s after %s, %v", last, first, err)
	}
	t.Logf("%d calls in %.0f s; clients saw %d certificates, the backend %d, the one whose connections are kept %d",
		l.calls.Load(), time.Since(start).Seconds(), servers.count(), edges.count(), edgesOfKept.count())
	if servers.count() < 5 || edges.count() < 5 {
		t.Error("too few certificates were seen: nothing was shown")
	}
	if log := e.Log.String(); strings.Contains(log, "cannot be used") {
		t.Error("an exchange was logged as a failure")
	}
}

func serialOf(chain []*x509.Certificate) string { return chain[0].SerialNumber.String() }

// A broken file leaves what was there before in use, is told once, and raises the metric until it is repaired.
func TestBrokenFile(t *testing.T) {
	ca := authority.New(t, "ca")
	_, e, m := start(t, ca, nil)
	c := newClient(t, "HTTP/2.0", authority.Pool(ca), nil)
	fresh := func() error { return newClient(t, "HTTP/1.1", authority.Pool(ca), nil).echo(e.URL, "x") }
	good := ca.Server(t)
	files := listenerFiles(good)
	files["tls.key"] = ca.Server(t).Key
	m.Write(t, files)
	await.Until(t, "the metric to rise", func() bool { return metric(t, c, e, `mcpedge_tls_stale{mcpedge_tls="listen.tls"}`) == "1" })
	if err := fresh(); err != nil {
		t.Error(err)
	}
	left := metric(t, c, e, `mcpedge_tls_expiry_seconds{mcpedge_tls="admin.tls",mcpedge_tls_file="cert"}`)
	var seconds float64
	if _, err := fmt.Sscan(left, &seconds); err != nil || seconds < 86000 || seconds > 86400 {
		t.Errorf("the certificate expires in %q seconds, want a day", left)
	}
	m.Write(t, listenerFiles(good))
	await.Until(t, "the metric to fall", func() bool {
		return metric(t, c, e, `mcpedge_tls_stale{mcpedge_tls="listen.tls"}`) == "0" && metric(t, c, e, `mcpedge_tls_exchanges_total{mcpedge_tls="listen.tls"}`) == "1"
	})
	if got, err := newClient(t, "HTTP/1.1", authority.Pool(ca), nil).serial(e.URL); err != nil || got != good.Serial(t) {
		t.Errorf("%s, %v, want the new certificate", got, err)
	}
	if n := strings.Count(e.Log.String(), `tls=listen.tls error="listen.tls.key: `+m.Path("tls.key")+" does not belong"); n != 1 {
		t.Errorf("told %d times, want once", n)
	}
}
