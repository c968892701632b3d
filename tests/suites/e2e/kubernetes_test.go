package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/identity"
	"github.com/mcpedge/mcpedge/edge/kubernetes/api"
	"github.com/mcpedge/mcpedge/tests/helpers/apiserver"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// labelled is a Service of the namespace team, with the label of backends and annotations as "name=value".
func labelled(name string, annotations ...string) *api.Service {
	s := &api.Service{Metadata: api.Metadata{
		Namespace: "team", Name: name, Labels: map[string]string{"mcpedge.io/backend": "true"}, Annotations: map[string]string{},
	}}
	for _, a := range annotations {
		key, value, _ := strings.Cut(a, "=")
		s.Annotations["mcpedge.io/"+key] = value
	}
	s.Spec.Ports = []api.ServicePort{{Name: "grpc", Port: 50051}}
	return s
}

// podAt is the EndpointSlice of a Service with one pod, at an address.
func podAt(t *testing.T, service, addr string) *api.EndpointSlice {
	t.Helper()
	host, port, _ := net.SplitHostPort(addr)
	n, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &api.EndpointSlice{
		Metadata: api.Metadata{
			Namespace: "team", Name: service + "-1", Labels: map[string]string{api.LabelServiceName: service},
		},
		AddressType: api.AddressTypeIPv4, Ports: []api.EndpointPort{{Name: "grpc", Port: int32(n)}},
		Endpoints: []api.Endpoint{{Addresses: []string{host}}},
	}
}

// inCluster is an edge whose backends are the Services of team.
func inCluster(t *testing.T, cluster *apiserver.Server, backends ...config.Backend) *harness.Edge {
	t.Helper()
	cfg := harness.Config(backends...)
	none := ""
	cfg.Kubernetes = &config.Kubernetes{Namespaces: []string{"team"}, Prefix: &none}
	return harness.Begin(t, cfg, app.WithCluster(cluster.Config()))
}

func toolsOf(s *session) []string {
	return names(s.request("tools/list", "").result()["tools"], "name")
}

// TestServicesComeAndGo: a Service is a backend while it has the label. Connected clients are told, and calls that run there end. Its
// names begin with its namespace, whatever it asks for.
func TestServicesComeAndGo(t *testing.T) {
	cluster := apiserver.Start(t)
	steady := startService(t, speaker("steady", "calm"))
	cfg := harness.Config(config.Backend{Name: "steady", Target: steady.Addr})
	cfg.Kubernetes = &config.Kubernetes{Namespaces: []string{"team"}}
	e := harness.Begin(t, cfg, app.WithCluster(cluster.Config()))
	e.AwaitServing(t)
	s := newSession(t, e.URL, vNov)
	stream := s.get("").want(http.StatusOK).events()
	if got := toolsOf(s); !slices.Equal(got, []string{"calm"}) {
		t.Fatalf("listed %v", got)
	}

	running, gate := make(chan struct{}), make(chan struct{})
	slow := speaker("tea", "brew")
	capability.AddTool(slow, "steep", "Steeps until it is told", func(context.Context, *capability.Call, struct{}) (string, error) {
		close(running)
		<-gate
		return "steeped", nil
	})
	tea := startService(t, slow)
	cluster.Put(labelled("tea", "prefix=tea_"))
	cluster.Put(podAt(t, "tea", tea.Addr))
	stream.awaitMethod("notifications/tools/list_changed")
	awaitTool(t, s, "team_brew")
	if got := s.call("team_brew", "").text(); got != "tea" {
		t.Errorf("got %q", got)
	}
	if log := e.Log.String(); !strings.Contains(log, "does not get the prefix that it asks for") {
		t.Errorf("operators are not told of the prefix: %s", log)
	}

	steeped := make(chan string, 1)
	go func() { steeped <- s.call("team_steep", "").text() }()
	await.Receive(t, "the call to run", running)
	bare := labelled("tea")
	bare.Labels = nil
	cluster.Put(bare)
	stream.awaitMethod("notifications/tools/list_changed")
	await.Until(t, "its tools to go", func() bool { return slices.Equal(toolsOf(s), []string{"calm"}) })
	close(gate)
	if got := await.Receive(t, "the call that ran to end", steeped); !strings.HasSuffix(got, "steeped") {
		t.Errorf("got %q", got)
	}
}

// TestServicesThatLie: one that speaks no gRPC, one without a pod, and one with a configured backend's tools keep nobody from the others.
func TestServicesThatLie(t *testing.T) {
	cluster := apiserver.Start(t)
	steady, late := startService(t, speaker("steady", "calm")), startService(t, speaker("late", "calm", "loud"))
	cluster.Put(labelled("liar"))
	cluster.Put(podAt(t, "liar", strings.TrimPrefix(cluster.Config().URL, "http://"))) // which speaks HTTP/1.1
	cluster.Put(labelled("down"))
	cluster.Put(labelled("wrong", "kind=mcp"))
	cluster.Put(labelled("any", "kind=reflect"))
	cluster.Put(labelled("late"))
	cluster.Put(podAt(t, "late", late.Addr))
	e := inCluster(t, cluster, config.Backend{Name: "steady", Target: steady.Addr})
	e.AwaitServing(t)
	s := newSession(t, e.URL, vNov)
	awaitTool(t, s, "loud")
	if got := s.call("calm", "").text(); got != "steady" {
		t.Errorf("a configured backend's tool is given by %q", got)
	}
	admin := newOperator(t, e).get("/v1/backends").text
	for _, want := range []string{`"team/liar"`, `"team/down"`, "the Service team/down has no pod that is ready", `"team/late"`} {
		if !strings.Contains(admin, want) {
			t.Errorf("the backends lack %s: %s", want, admin)
		}
	}
	if strings.Contains(admin, "team/any") || !strings.Contains(e.Log.String(), "set kubernetes.reflect") {
		t.Error("a Service is of kind reflect without leave, or nobody was told why it is none")
	}
	if strings.Contains(admin, "team/wrong") || !strings.Contains(e.Log.String(), "use contract or reflect") {
		t.Error("the Service of an unknown kind is a backend, or nobody was told why it is none")
	}
}

// TestAPIServerOfKubernetesAway: an edge is not ready before the Services were read; later what was found stays.
func TestAPIServerOfKubernetesAway(t *testing.T) {
	cluster := apiserver.Start(t)
	tea := startService(t, speaker("tea", "brew"))
	cluster.Put(labelled("tea"))
	cluster.Put(podAt(t, "tea", tea.Addr))
	cluster.GoAway(true)
	e := inCluster(t, cluster)
	await.Until(t, "the API server to be asked", func() bool {
		return strings.Contains(e.Log.String(), "cannot read from the Kubernetes API server")
	})
	if e.HasServed() {
		t.Error("it serves and does not know its backends")
	}
	cluster.GoAway(false)
	e.AwaitServing(t)
	s := newSession(t, e.URL, vNov)
	cluster.GoAway(true)
	if got := s.call("brew", "").text(); got != "tea" {
		t.Errorf("got %q", got)
	}
}

// TestSettingsOfServices: the settings of a Service are those that the configuration has for its name.
// Another setting is in force without a restart, also while a file of an entry that stays cannot be read.
func TestSettingsOfServices(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	cluster, v := apiserver.Start(t), serveVault(t, "")
	cluster.Put(labelled("vault", "kind=reflect"))
	cluster.Put(podAt(t, "vault", v.addr))
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := signingKey(t, filepath.Join(t.TempDir(), "key.pem"))
	settings := func(entries string) string {
		return "server: {signing-key: " + key + "}\nkubernetes:\n  namespaces: [team]\n  reflect: true\n  backends:\n" + entries
	}
	g := govern(t, settings("  - {name: other/*, metadata: {x-env: {value: other}}}\n"), app.WithCluster(cluster.Config()))
	s := newSession(t, g.URL, vNov)
	awaitTool(t, s, "team_vault_open")
	call := func() { s.call("team_vault_open", `{}`).result() }
	if call(); v.saw("x-env") != "" || v.saw(identity.Metadata) != "" {
		t.Errorf("a Service that no entry matches sees %q, %q", v.saw("x-env"), v.saw(identity.Metadata))
	}
	entries := fmt.Sprintf("  - {name: team/va*, metadata: {x-env: {value: test}, x-secret: {file: %s}}}\n  - {name: team/*, prefix: '{service}.', identity: signed}\n", secret)
	g.change(settings(entries))
	if got := toolsOf(s); !slices.Contains(got, "vault.vault_open") || slices.Contains(got, "team_vault_open") {
		t.Errorf("listed %v", got)
	}
	s.call("vault.vault_open", `{}`).result()
	if v.saw("x-env") != "test" || v.saw("x-secret") != "hush" || v.saw(identity.Metadata) == "" {
		t.Errorf("the service saw %q, %q, %q", v.saw("x-env"), v.saw("x-secret"), v.saw(identity.Metadata))
	}
	if err := os.Remove(secret); err != nil {
		t.Fatal(err)
	}
	g.change(settings(entries + "  - {name: other/*, timeout: 3s}\n"))
	if s.call("vault.vault_open", `{}`).result(); v.saw("x-secret") != "hush" {
		t.Errorf("without the file the service saw %q", v.saw("x-secret"))
	}
	g.write(settings("  - {name: team/*, metadata: {x-secret: {file: absent}}}\n"))
	awaitMetric(t, g.Edge, "mcpedge_settings_stale", 1)
	if s.call("vault.vault_open", `{}`).result(); v.saw("x-env") != "test" {
		t.Errorf("after a broken change the service saw %q", v.saw("x-env"))
	}
}
