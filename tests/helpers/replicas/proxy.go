package replicas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"
)

// ServedBy is the response header with the incarnation of the replica that got the request,
// whatever the result.
const ServedBy = "Served-By"

// pollReady is the interval at which the proxy checks the readiness of each replica.
const pollReady = 50 * time.Millisecond

// Target is a replica as the proxy sees it.
type Target interface {
	// Name returns the value for ServedBy.
	Name() string
	// Addresses returns those of the endpoint and of /readyz.
	Addresses() (endpoint, admin string)
}

// Addresses implements Target.
func (e *Edge) Addresses() (endpoint, admin string) { return e.Addr, e.Admin }

// Proxy is a plain load balancer: each request goes to the next ready replica, whatever its
// session. It skips a replica that cannot be dialled, and retries nothing else. A failure becomes
// 502, or a broken connection if the response has begun. Streams are not buffered. It is safe for
// concurrent use.
type Proxy struct {
	// URL is that of the MCP endpoint.
	URL string
	// Requests counts requests, Redialled those sent to another replica because one could not be
	// dialled, and Failed those answered with 502.
	Requests, Redialled, Failed atomic.Int64

	targets   []Target
	ready     []atomic.Bool
	posts     []atomic.Int64
	next      atomic.Uint64
	transport *http.Transport
	server    *http.Server
	stopPolls context.CancelFunc
	running   sync.WaitGroup
}

// StartProxy starts a proxy on a free loopback port, and returns when it has checked every target's
// readiness.
func StartProxy[T Target](targets []T) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		URL: "http://" + l.Addr().String() + "/mcp", ready: make([]atomic.Bool, len(targets)),
		posts:     make([]atomic.Int64, len(targets)),
		transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 1000},
	}
	for _, t := range targets {
		p.targets = append(p.targets, t)
	}
	pass := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.Host = "http", r.In.Host },
		Transport:     p,
		FlushInterval: -1,
		ErrorHandler:  p.failed,
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	p.server = &http.Server{Handler: pass, ReadHeaderTimeout: 10 * time.Second, ErrorLog: pass.ErrorLog}
	ctx, stop := context.WithCancel(context.Background())
	p.stopPolls = stop
	asker := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	for i := range p.targets {
		p.ask(ctx, asker, i)
		p.running.Go(func() { p.poll(ctx, asker, i) })
	}
	p.running.Go(func() { _ = p.server.Serve(l) }) // Stop ends it
	return p, nil
}

// Stop closes all connections and waits for all goroutines.
func (p *Proxy) Stop() {
	p.stopPolls()
	_ = p.server.Close()
	p.running.Wait()
	p.transport.CloseIdleConnections()
}

// CloseIdle closes idle connections to replicas.
func (p *Proxy) CloseIdle() { p.transport.CloseIdleConnections() }

// Busiest returns the index of the first target that serves the most POSTs at the moment.
func (p *Proxy) Busiest() int {
	best := 0
	for i := range p.posts {
		if p.posts[i].Load() > p.posts[best].Load() {
			best = i
		}
	}
	return best
}

// Posts returns how many POSTs the target with an index serves at the moment.
func (p *Proxy) Posts(i int) int { return int(p.posts[i].Load()) }

// AwaitReady waits until the proxy knows that all targets are ready.
func (p *Proxy) AwaitReady(ctx context.Context) error {
	t := time.NewTicker(pollReady)
	defer t.Stop()
	for i := range p.ready {
		for !p.ready[i].Load() {
			select {
			case <-t.C:
			case <-ctx.Done():
				return fmt.Errorf("replica %s is not ready: %w", p.targets[i].Name(), ctx.Err())
			}
		}
	}
	return nil
}

// AwaitGone waits until the proxy knows that the target with an index is not ready, and closes the idle connections to it.
func (p *Proxy) AwaitGone(ctx context.Context, i int) error {
	t := time.NewTicker(pollReady)
	defer t.Stop()
	for p.ready[i].Load() {
		select {
		case <-t.C:
		case <-ctx.Done():
			return fmt.Errorf("replica %s is ready: %w", p.targets[i].Name(), ctx.Err())
		}
	}
	p.CloseIdle()
	return nil
}

func (p *Proxy) poll(ctx context.Context, asker *http.Client, i int) {
	t := time.NewTicker(pollReady)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			p.ask(ctx, asker, i)
		case <-ctx.Done():
			return
		}
	}
}

func (p *Proxy) ask(ctx context.Context, asker *http.Client, i int) {
	_, admin := p.targets[i].Addresses()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/readyz", nil)
	if err != nil {
		return
	}
	resp, err := asker.Do(req)
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return // It says nothing: the machine may be busy.
	}
	if err != nil {
		p.ready[i].Store(false)
		return
	}
	_ = resp.Body.Close()
	p.ready[i].Store(resp.StatusCode == http.StatusOK)
}

// errNone is the error if no replica is available.
var errNone = errors.New("no replica is ready and can be dialled")

// RoundTrip implements http.RoundTripper. It sends a request to the next replica.
func (p *Proxy) RoundTrip(req *http.Request) (*http.Response, error) {
	p.Requests.Add(1)
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	first := int(p.next.Add(1) % uint64(len(p.targets)))
	for i := range p.targets {
		n := (first + i) % len(p.targets)
		if !p.ready[n].Load() {
			continue
		}
		resp, err := p.send(req, body, n)
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			p.Redialled.Add(1)
			continue
		}
		return resp, err
	}
	return nil, errNone
}

func (p *Proxy) send(req *http.Request, body []byte, n int) (*http.Response, error) {
	t := p.targets[n]
	name := t.Name()
	out := req.Clone(req.Context())
	out.URL.Host, _ = t.Addresses()
	if body != nil {
		out.Body = io.NopCloser(bytes.NewReader(body))
		out.ContentLength = int64(len(body))
	}
	ended := func() {}
	if req.Method == http.MethodPost {
		p.posts[n].Add(1)
		ended = sync.OnceFunc(func() { p.posts[n].Add(-1) })
	}
	resp, err := p.transport.RoundTrip(out)
	if err != nil {
		ended()
		return nil, servedError{name, err}
	}
	resp.Header.Set(ServedBy, name)
	resp.Body = endingBody{resp.Body, ended}
	return resp, nil
}

// endingBody is a response body that reports when it is closed.
type endingBody struct {
	io.ReadCloser
	ended func()
}

func (b endingBody) Close() error {
	b.ended()
	return b.ReadCloser.Close()
}

// servedError is an error of a request that reached a replica.
type servedError struct {
	by string
	error
}

func (e servedError) Unwrap() error { return e.error }

func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // The client has disconnected.
	}
	p.Failed.Add(1)
	var served servedError
	if errors.As(err, &served) {
		w.Header().Set(ServedBy, served.by)
	}
	http.Error(w, err.Error(), http.StatusBadGateway)
}
