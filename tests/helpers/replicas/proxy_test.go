package replicas

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(await.Leaks(m)) }

// target is a replica in the proxy's tests.
type target struct {
	name           string
	endpoint, asks string
	unready        atomic.Bool
	// slow has /readyz answer when its client has left. asked counts the requests of it.
	slow  atomic.Bool
	asked atomic.Int64
}

func (t *target) Name() string                { return t.name }
func (t *target) Addresses() (string, string) { return t.endpoint, t.asks }

// startTargets starts n replicas that answer with do, and a proxy in front of them.
func startTargets(t *testing.T, n int, do http.HandlerFunc) ([]*target, *Proxy) {
	t.Helper()
	var all []*target
	for i := range n {
		x := &target{name: fmt.Sprint(i + 1)}
		mux := http.NewServeMux()
		mux.HandleFunc("/mcp", do)
		mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
			x.asked.Add(1)
			if x.slow.Load() {
				<-r.Context().Done()
				return
			}
			if x.unready.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		s := httptest.NewServer(mux)
		t.Cleanup(s.Close)
		x.endpoint = s.Listener.Addr().String()
		x.asks = x.endpoint
		all = append(all, x)
	}
	p, err := StartProxy(all)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return all, p
}

// post sends a body and returns the status, the body and the ServedBy header.
func post(t *testing.T, p *Proxy, body string) (int, string, string) {
	t.Helper()
	resp, err := http.Post(p.URL, "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	http.DefaultClient.CloseIdleConnections()
	return resp.StatusCode, string(text), resp.Header.Get(ServedBy)
}

func echo(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }

func TestProxyGoesRound(t *testing.T) {
	_, p := startTargets(t, 3, echo)
	served := map[string]int{}
	for i := range 9 {
		status, body, by := post(t, p, fmt.Sprint(i))
		if status != http.StatusOK || body != fmt.Sprint(i) {
			t.Fatalf("status %d, body %q", status, body)
		}
		served[by]++
	}
	if served["1"] != 3 || served["2"] != 3 || served["3"] != 3 || p.Requests.Load() != 9 {
		t.Errorf("served by %v in %d requests", served, p.Requests.Load())
	}
}

func TestProxyPassesOverUnreadyReplicas(t *testing.T) {
	all, p := startTargets(t, 2, echo)
	all[0].unready.Store(true)
	await.Until(t, "no request to go to the unready replica", func() bool {
		var by [2]string
		for i := range by {
			_, _, by[i] = post(t, p, "x")
		}
		return by[0] == "2" && by[1] == "2"
	})
}

// A replica that does not say in time whether it is ready, as the machine is busy, is what it was before.
func TestProxyKeepsSlowReplicas(t *testing.T) {
	all, p := startTargets(t, 1, echo)
	all[0].slow.Store(true)
	before := all[0].asked.Load()
	await.Until(t, "requests of /readyz to have no answer", func() bool { return all[0].asked.Load() >= before+3 })
	if status, body, _ := post(t, p, "x"); status != http.StatusOK || body != "x" {
		t.Errorf("status %d, body %q", status, body)
	}
	all[0].slow.Store(false)
	all[0].unready.Store(true)
	await.Until(t, "the replica to be unready", func() bool { status, _, _ := post(t, p, "x"); return status != http.StatusOK })
}

// Requests for a replica that cannot be dialled go to another one at once.
func TestProxyTriesDialErrorsElsewhere(t *testing.T) {
	all, p := startTargets(t, 2, echo)
	unused, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	gone := &target{name: "gone", endpoint: unused, asks: all[0].asks} // ready, but unreachable
	q, err := StartProxy([]*target{gone, all[1]})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Stop()
	for range 4 {
		if status, body, by := post(t, q, "whole"); status != http.StatusOK || body != "whole" || by != "2" {
			t.Fatalf("status %d, body %q, by %q", status, body, by)
		}
	}
	if q.Redialled.Load() != 2 || q.Failed.Load() != 0 {
		t.Errorf("%d dialled elsewhere, %d failed", q.Redialled.Load(), q.Failed.Load())
	}
	_ = p
}

// A request that failed after it reached a replica is not retried, because it may have been
// executed.
func TestProxySendsNothingTwice(t *testing.T) {
	var came atomic.Int64
	_, p := startTargets(t, 2, func(w http.ResponseWriter, r *http.Request) {
		came.Add(1)
		panic(http.ErrAbortHandler)
	})
	status, _, by := post(t, p, "once")
	if status != http.StatusBadGateway || by == "" || came.Load() != 1 || p.Failed.Load() != 1 {
		t.Errorf("status %d by %q, %d requests arrived, %d failed", status, by, came.Load(), p.Failed.Load())
	}
}

// Events are forwarded at once, and a broken stream breaks for the client, too.
func TestProxyDoesNotBufferStreams(t *testing.T) {
	next := make(chan struct{})
	_, p := startTargets(t, 1, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
			<-next
		}
		panic(http.ErrAbortHandler)
	})
	defer http.DefaultClient.CloseIdleConnections()
	resp, err := http.Get(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for i := range 3 {
		line, err := lines.ReadString('\n')
		if err != nil || line != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("line %q, %v", line, err)
		}
		_, _ = lines.ReadString('\n')
		next <- struct{}{}
	}
	if rest, err := io.ReadAll(lines); err == nil {
		t.Errorf("the broken stream ended as if whole, after %q", rest)
	}
}

func TestProxyCountsPosts(t *testing.T) {
	came, next := make(chan struct{}), make(chan struct{})
	_, p := startTargets(t, 2, func(http.ResponseWriter, *http.Request) {
		came <- struct{}{}
		<-next
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		post(t, p, "x")
	}()
	<-came
	if busiest := p.Busiest(); p.Posts(busiest) != 1 || p.Posts(1-busiest) != 0 {
		t.Errorf("%d and %d posts at the busiest, %d, and the other, want 1 and 0", p.Posts(busiest), p.Posts(1-busiest), busiest)
	}
	close(next)
	<-ended
	await.Until(t, "no post is counted any more", func() bool { return p.Posts(0)+p.Posts(1) == 0 })
}

func TestProxyAwaitsReadiness(t *testing.T) {
	all, p := startTargets(t, 2, echo)
	if err := p.AwaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.AwaitGone(over, 1); err == nil || !strings.Contains(err.Error(), "replica 2 is ready") {
		t.Errorf("error %v", err)
	}
	all[1].unready.Store(true)
	if err := p.AwaitGone(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := p.AwaitReady(over); err == nil || !strings.Contains(err.Error(), "replica 2 is not ready") {
		t.Errorf("error %v", err)
	}
	all[1].unready.Store(false)
	if err := p.AwaitReady(t.Context()); err != nil {
		t.Error(err)
	}
}
