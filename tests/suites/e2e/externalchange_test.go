package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	transport "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

const addition = `{"name":"add","arguments":{"a":1,"b":2}}`

// adding calls a tool again and again in each era, which must succeed each time, until stop is called. Renewed waits until the calls that
// run are over, and others have begun and ended.
func adding(t *testing.T, e *harness.Edge) (stop, renewed func()) {
	t.Helper()
	done := make(chan struct{})
	var load sync.WaitGroup
	versions := []string{vNov, v2026}
	ended := make([]atomic.Int64, len(versions))
	for i, version := range versions {
		c := clientOf(t, e, version, "")
		load.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if m := c.ask("tools/call", addition).final(); m.Error != nil {
					t.Errorf("a call failed meanwhile: %s", m.raw)
					return
				}
				ended[i].Add(1)
			}
		})
	}
	stop = sync.OnceFunc(func() {
		close(done)
		load.Wait()
	})
	return stop, func() {
		for i := range ended {
			after := ended[i].Load() + 2
			await.Until(t, "other calls", func() bool { return ended[i].Load() >= after })
		}
	}
}

// held has a server keep what it is asked of one tool until release is called, which allows it. begun is told of it. The rest
// is allowed at once.
func held(pdp *authorizer.Server, tool string) (begun <-chan struct{}, release func()) {
	asked, decided := make(chan struct{}, 16), make(chan struct{})
	pdp.SetDecide(func(ctx context.Context, req *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		if dig(authorizer.About(req).AsMap(), "params", "name") == tool {
			asked <- struct{}{}
			select {
			case <-decided:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return authorizer.Allow(ctx, req)
	})
	return asked, sync.OnceFunc(func() { close(decided) })
}

// TestPolicyServerIsReadAgain: another policy server, or other settings of it, are in force soon, and no call is lost over it,
// whether it is asked of the one before or of the one after. What cannot be used is not.
func TestPolicyServerIsReadAgain(t *testing.T) {
	t.Parallel() // it waits for most of its time
	one, two := authorizer.Serve(t), authorizer.Serve(t)
	write, set := settingsFile(t)
	asking := func(target, more string) string {
		return fmt.Sprintf("policy: {external: {target: %q, timeout: 10s%s}}\n", target, more)
	}
	write(asking(one.Addr, ""))
	e := startEdge(t, only(startService(t, newFixture().Server)), set)
	begun, release := held(one, "echo")
	defer release()
	stop, renewed := adding(t, e)
	defer stop()

	kept := make(chan message, 1)
	c := newStateless(t, e.URL)
	go func() { kept <- c.ask("tools/call", `{"name":"echo","arguments":{"text":"kept"}}`).final() }()
	await.Receive(t, "the question to the first", begun)
	write(asking(two.Addr, ""))
	awaitMetric(t, e, "mcpedge_policy_exchanges_total", 1)
	renewed() // what began before may yet ask the first
	one.Asked()
	two.Asked()
	renewed()
	if first, second := len(one.Asked()), len(two.Asked()); first > 0 || second == 0 {
		t.Errorf("the first is asked %d times more, the second %d times", first, second)
	}
	release()
	if m := await.Receive(t, "the call that the first was asked about", kept); m.Error != nil || !strings.Contains(string(m.raw), "kept") {
		t.Errorf("%s", m.raw)
	}

	for _, bad := range []string{asking("https://"+one.Addr, ""), asking(one.Addr, ", tls: {ca: nowhere.crt}")} {
		write(bad)
		awaitMetric(t, e, "mcpedge_settings_stale", 1)
		renewed()
		if len(one.Asked()) > 0 {
			t.Errorf("%s is in force", bad)
		}
		write(asking(two.Addr, ""))
		awaitMetric(t, e, "mcpedge_settings_stale", 0)
	}

	write(asking(two.Addr, ", on-failure: allow"))
	awaitMetric(t, e, "mcpedge_policy_exchanges_total", 2)
	renewed() // what began before is denied when the server fails
	two.Stop()
	awaitFailures(t, e)
	stop() // while the server is down, too, no call has failed

	write("policy: {default: allow}\n")
	awaitMetric(t, e, "mcpedge_policy_exchanges_total", 3)
	two.Restart(t)
	two.SetDecide(authorizer.Deny("never"))
	two.Asked()
	if m := newStateless(t, e.URL).ask("tools/call", addition).final(); m.Error != nil || len(two.Asked()) > 0 {
		t.Errorf("without a policy server: %s", m.raw)
	}
	write(asking(two.Addr, ""))
	awaitMetric(t, e, "mcpedge_policy_exchanges_total", 4)
	if m := newStateless(t, e.URL).ask("tools/call", addition).final(); m.Error == nil || !strings.Contains(m.Error.Message, "never") {
		t.Errorf("with a policy server where there was none: %s", m.raw)
	}
}

// awaitFailures waits until the policy server could not be asked at least once.
func awaitFailures(t *testing.T, e *harness.Edge) {
	t.Helper()
	c := newCaller(t, "http://"+e.Admin+"/metrics")
	await.Until(t, "the policy server to fail", func() bool {
		for line := range strings.Lines(string(c.send(t, http.MethodGet, "").body)) {
			if strings.HasPrefix(line, `mcpedge_policy_external_total{mcpedge_policy_outcome="failed"`) {
				return !strings.HasSuffix(strings.TrimSpace(line), " 0")
			}
		}
		return false
	})
}

// TestPolicyServerWhileDraining: a call that waits for the policy server when the edge is told to end is made.
func TestPolicyServerWhileDraining(t *testing.T) {
	for _, version := range []string{vNov, v2026} {
		pdp := authorizer.Serve(t)
		begun, release := held(pdp, "add")
		e := startEdge(t, only(startService(t, newFixture().Server)), askedOf(pdp), func(c *config.Config) { c.Shutdown.Delay = 0 })
		c := clientOf(t, e, version, "")
		answer := make(chan message, 1)
		go func() { answer <- c.ask("tools/call", addition).final() }()
		await.Receive(t, "the question", begun)
		e.Stop()
		ready := newCaller(t, "http://"+e.Admin+"/readyz")
		await.Until(t, "the drain to begin", func() bool { return ready.send(t, http.MethodGet, "").status != http.StatusOK })
		release()
		if m := await.Receive(t, "the answer", answer); m.Error != nil {
			t.Errorf("%s: %s", version, m.raw)
		}
		e.AwaitEnd(t)
	}
}

// TestPolicyServerOfManyResources: the resources of one subscription are asked about several at once, and no more.
func TestPolicyServerOfManyResources(t *testing.T) {
	const most, all = 16, 100
	pdp := authorizer.Serve(t)
	_, e := startFixture(t, askedOf(pdp))
	var now, highest atomic.Int64
	full := make(chan struct{})
	fill := sync.OnceFunc(func() { close(full) })
	pdp.SetDecide(func(ctx context.Context, req *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for before := highest.Load(); n > before && !highest.CompareAndSwap(before, n); before = highest.Load() {
		}
		if n >= most {
			fill()
		}
		select {
		case <-full:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if uri, _ := dig(authorizer.About(req).AsMap(), "params", "uri").(string); strings.HasSuffix(uri, "7") {
			return authorizer.Deny("no sevens")(ctx, req)
		}
		return authorizer.Allow(ctx, req)
	})
	var uris, want []string
	for i := range all {
		uri := fmt.Sprintf("test://item/%02d", i)
		uris = append(uris, uri)
		if !strings.HasSuffix(uri, "7") {
			want = append(want, uri)
		}
	}
	c := newStateless(t, e.URL)
	stream := c.request("subscriptions/listen", map[string]any{"notifications": map[string]any{"resourceSubscriptions": uris}}).want(http.StatusOK).events()
	honoured := dig(object(t, stream.message().Params), "notifications", "resourceSubscriptions")
	stream.close()
	if fmt.Sprint(honoured) != fmt.Sprint(want) {
		t.Errorf("honoured are %v, want %v", honoured, want)
	}
	if n := len(pdp.Asked()); n != all || highest.Load() != most {
		t.Errorf("asked %d times, %d at once; want %d, %d at once", n, highest.Load(), all, most)
	}
}

// TestPolicyServerOfUnknownResources: a subscription to what no backend has yet is asked about once, in each revision.
func TestPolicyServerOfUnknownResources(t *testing.T) {
	pdp := authorizer.Serve(t)
	_, e := startFixture(t, askedOf(pdp))
	pdp.SetDecide(authorizer.Deny("never"))
	const uri = "nowhere://yet"
	for _, version := range append(slices.Clone(stateful), v2026) {
		c := clientOf(t, e, version, "")
		pdp.Asked()
		if version == v2026 {
			stream := c.(*stateless).request("subscriptions/listen", map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{uri}}}).want(http.StatusOK).events()
			if honoured := dig(object(t, stream.message().Params), "notifications", "resourceSubscriptions"); honoured != nil {
				t.Errorf("%s: honoured are %v", version, honoured)
			}
			stream.close()
		} else if m := c.ask("resources/subscribe", `{"uri":"`+uri+`"}`).final(); m.Error == nil || m.Error.Code != -31403 {
			t.Errorf("%s: %s", version, m.raw)
		}
		asked := pdp.Asked()
		if len(asked) != 1 || dig(authorizer.About(asked[0]).AsMap(), "params", "uri") != uri {
			t.Errorf("%s: asked %v", version, asked)
		}
	}
}

// TestCertificatesOfThePolicyServer: those of either end, and the CAs, are exchanged under calls, of which none fails.
func TestCertificatesOfThePolicyServer(t *testing.T) {
	t.Parallel() // it waits for most of its time
	const generations = 4
	servers, edges := authority.NewCAs(t, "servers", generations), authority.NewCAs(t, "edges", generations)
	var pairs []tls.Certificate
	var clients []authority.Pair
	for g := range generations {
		pairs = append(pairs, servers[g].Server(t).TLS(t))
		clients = append(clients, edges[g].Client(t))
	}
	var now atomic.Int64
	var shown sync.Map // the serial numbers of the edge's certificates
	conf := &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{
			Certificates: []tls.Certificate{pairs[now.Load()]}, NextProtos: []string{"h2"},
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool(edges...),
			VerifyConnection: func(s tls.ConnectionState) error {
				shown.Store(s.PeerCertificates[0].SerialNumber.String(), true)
				return nil
			},
		}, nil
	}}
	pdp := authorizer.Serve(t, grpc.Creds(transport.NewTLS(conf)),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 200 * time.Millisecond, MaxConnectionAgeGrace: await.Patience}))
	files := func(g int) map[string][]byte {
		return map[string][]byte{"tls.crt": clients[g].Cert, "tls.key": clients[g].Key, "ca.crt": authority.Bundle(servers[g:min(g+2, generations)]...)}
	}
	mount := authority.NewMount(t, files(0))
	e := startEdge(t, only(startService(t, newFixture().Server)), askedOf(pdp, func(e *config.External) {
		e.TLS = &config.TLS{Cert: mount.Path("tls.crt"), Key: mount.Path("tls.key"), CA: mount.Path("ca.crt")}
	}))
	stop, _ := adding(t, e)
	defer stop()
	for g := range generations {
		mount.Write(t, files(g))
		await.Until(t, "the edge's certificate to be used", func() bool {
			_, used := shown.Load(clients[g].Serial(t))
			return used
		})
		now.Store(int64(min(g+1, generations-1))) // which the edge trusts before it is used
	}
	stop()
	awaitMetric(t, e, `mcpedge_policy_external_total{mcpedge_policy_outcome="failed"`, 0)
	mount.Write(t, map[string][]byte{"tls.crt": []byte("none"), "tls.key": clients[0].Key, "ca.crt": clients[0].Cert})
	awaitMetric(t, e, `mcpedge_tls_stale{mcpedge_tls="policy.external.tls"`, 1)
	if m := newStateless(t, e.URL).ask("tools/call", addition).final(); m.Error != nil {
		t.Errorf("with files that cannot be used: %s", m.raw)
	}
}
