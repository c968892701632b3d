package kubernetes

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/kubernetes/api"
	"github.com/mcpedge/mcpedge/tests/helpers/apiserver"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is one with the label, and annotations as "name=value".
func service(name string, ports []api.ServicePort, annotations ...string) *api.Service {
	s := &api.Service{Metadata: api.Metadata{
		Namespace: "team", Name: name, Labels: map[string]string{"mcpedge.io/backend": "true"}, Annotations: map[string]string{},
	}}
	for _, a := range annotations {
		key, value, _ := strings.Cut(a, "=")
		s.Annotations["mcpedge.io/"+key] = value
	}
	s.Spec.Ports = ports
	return s
}

var grpcPort = []api.ServicePort{{Name: "http", Port: 80}, {Name: "grpc", Port: 50051}}

// pods is an EndpointSlice with pods that are ready at addresses.
func pods(service, name string, port int32, addresses ...string) *api.EndpointSlice {
	ready := true
	s := &api.EndpointSlice{
		Metadata:    api.Metadata{Namespace: "team", Name: name, Labels: map[string]string{api.LabelServiceName: service}},
		AddressType: api.AddressTypeIPv4, Ports: []api.EndpointPort{{Name: "grpc", Port: port}},
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, api.Endpoint{Addresses: []string{a}, Conditions: api.EndpointConditions{Ready: &ready}})
	}
	return s
}

// run runs a Watcher, and returns the sets of backends that it reports.
func run(t *testing.T, o Options) (*Watcher, <-chan []Backend) {
	t.Helper()
	changes := make(chan []Backend, 100)
	o.Changed = func(all []Backend) { changes <- all }
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Namespaces = []string{"team"}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return w, changes
}

func TestServicesWithTheLabelAreBackends(t *testing.T) {
	cluster := apiserver.Start(t)
	tea, other := service("tea", grpcPort, "prefix=tea_"), service("other", grpcPort)
	other.Labels = nil
	cluster.Put(tea)
	cluster.Put(other)
	w, changes := run(t, Options{Client: cluster.Config()})
	want := Backend{
		Name: "team/tea", Target: "kubernetes:///team/tea", Kind: KindContract, Prefix: "tea_", Host: "tea.team.svc", port: "grpc",
	}
	if got := await.Receive(t, "the first set", changes); !slices.Equal(got, []Backend{want}) {
		t.Errorf("found %+v, want %+v", got, want)
	}
	<-w.Synced()
	if !cluster.AskedFor("/api/v1/namespaces/team/services mcpedge.io/backend=true") {
		t.Error("the Services with the label were not asked for")
	}

	labelled := service("other", grpcPort)
	labelled.Annotations["mcpedge.io/kind"], labelled.Annotations["mcpedge.io/tls"] = "reflect", "true"
	cluster.Put(labelled)
	got := await.Receive(t, "one more", changes)
	if len(got) != 2 || got[0].Name != "team/other" || got[0].Kind != KindReflect || !got[0].TLS || got[1] != want {
		t.Errorf("found %+v", got)
	}
	cluster.Put(other) // without the label
	if got := await.Receive(t, "it to go", changes); !slices.Equal(got, []Backend{want}) {
		t.Errorf("found %+v", got)
	}
	cluster.Remove(tea)
	if got := await.Receive(t, "the last one to go", changes); len(got) != 0 {
		t.Errorf("found %+v", got)
	}
}

// What was found stays while the API server is away, and what changed then is seen when it is back.
func TestAPIServerAway(t *testing.T) {
	cluster := apiserver.Start(t)
	cluster.Put(service("tea", grpcPort))
	_, changes := run(t, Options{Client: cluster.Config()})
	if got := await.Receive(t, "the first set", changes); len(got) != 1 {
		t.Fatalf("found %+v", got)
	}
	cluster.GoAway(true)
	cluster.Put(service("coffee", grpcPort))
	select {
	case got := <-changes:
		t.Errorf("changed to %+v while the API server was away", got)
	default:
	}
	cluster.GoAway(false)
	if got := await.Receive(t, "what changed", changes); len(got) != 2 || got[0].Name != "team/coffee" {
		t.Errorf("found %+v", got)
	}
}

// An API server that is away at the start is waited for.
func TestAPIServerComesLate(t *testing.T) {
	cluster := apiserver.Start(t)
	cluster.Put(service("tea", grpcPort))
	cluster.GoAway(true)
	w, changes := run(t, Options{Client: cluster.Config()})
	await.Until(t, "it to be asked", func() bool { return cluster.AskedFor("/api/v1/namespaces/team/services mcpedge.io/backend=true") })
	select {
	case <-w.Synced():
		t.Error("synced with nothing read")
	default:
	}
	cluster.GoAway(false)
	if got := await.Receive(t, "the first set", changes); len(got) != 1 {
		t.Errorf("found %+v", got)
	}
}

func TestServicesThatCannotBeBackends(t *testing.T) {
	external := service("x", grpcPort)
	external.Spec.Type, external.Spec.ExternalName = api.ServiceTypeExternalName, "example.com"
	for want, s := range map[string]*api.Service{
		`mcpedge.io/kind: "mcp": use contract or reflect`:                                           service("x", grpcPort, "kind=mcp"),
		`mcpedge.io/tls: "yes": use true or false`:                                                  service("x", grpcPort, "tls=yes"),
		`it has no port "50052", only http (80), grpc (50051)`:                                      service("x", grpcPort, "port=50052"),
		`it has no port "grpc", only http (80), metrics (90): name a port grpc, or select one with`: service("x", []api.ServicePort{{Name: "http", Port: 80}, {Name: "metrics", Port: 90}}),
		`of type ExternalName, which has no endpoints: name "example.com" among`:                    external,
	} {
		if _, err := read(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	for want, s := range map[string]*api.Service{
		"http": service("x", grpcPort, "port=80"),
		"":     service("x", []api.ServicePort{{Port: 9000}}), // the only one need not have a name
	} {
		if b, err := read(s); err != nil || b.port != want {
			t.Errorf("the port is %q, %v: want %q", b.port, err, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	six := pods("s", "c", 50051, "fd00::1")
	six.AddressType = api.AddressTypeIPv6
	ending := pods("s", "d", 50051, "10.0.0.9")
	no := false
	ending.Endpoints[0].Conditions.Ready = &no
	all := []*api.EndpointSlice{pods("s", "a", 50051, "10.0.0.2", "10.0.0.1"), pods("s", "b", 50052, "10.0.0.1", "10.0.0.2"), six, ending}
	if got := addresses(all, "grpc"); !slices.Equal(got, []string{"10.0.0.1:50051", "10.0.0.1:50052", "10.0.0.2:50051", "10.0.0.2:50052"}) {
		t.Errorf("got %v", got)
	}
	if got := addresses([]*api.EndpointSlice{six}, "grpc"); !slices.Equal(got, []string{"[fd00::1]:50051"}) {
		t.Errorf("got %v", got)
	}
	if got := addresses(all, "http"); len(got) != 0 {
		t.Errorf("got %v of a port that no slice has", got)
	}
}

// Endpoints that are known to be no pods of the Service's namespace are left out.
func TestEndpointsElsewhere(t *testing.T) {
	pod := func(namespace, kind string) *api.ObjectReference {
		return &api.ObjectReference{Kind: kind, Namespace: namespace, Name: "p"}
	}
	slice := func(by string, refs ...*api.ObjectReference) *api.EndpointSlice {
		s := pods("s", "a", 50051)
		if by != "" {
			s.Labels[api.LabelManagedBy] = by
		}
		for i, r := range refs {
			s.Endpoints = append(s.Endpoints, api.Endpoint{Addresses: []string{"10.0.0." + strconv.Itoa(i+1)}, TargetRef: r})
		}
		return s
	}
	own, other, node := pod("team", "Pod"), pod("other", "Pod"), pod("", "Node")
	for name, c := range map[string]struct {
		slice   *api.EndpointSlice
		selects bool
		want    []string
		why     string
	}{
		"pods":                   {slice(controller, own, own), true, []string{"10.0.0.1:50051", "10.0.0.2:50051"}, ""},
		"another namespace":      {slice(controller, own, other), true, []string{"10.0.0.1:50051"}, "10.0.0.2"},
		"a node":                 {slice(controller, node), true, nil, "not a pod of the namespace"},
		"nothing":                {slice(controller, nil, own), true, []string{"10.0.0.2:50051"}, "10.0.0.1"},
		"written by another":     {slice("me", own), true, nil, "managed by"},
		"written by no manager":  {slice("", own), true, nil, "managed by"},
		"without a selector":     {slice("me", nil, own), false, []string{"10.0.0.1:50051", "10.0.0.2:50051"}, ""},
		"elsewhere, without one": {slice("", other, node, nil), false, []string{"10.0.0.3:50051"}, "not a pod of the namespace"},
	} {
		own, why := ownPods([]*api.EndpointSlice{c.slice}, c.selects)
		if got := addresses(own, "grpc"); !slices.Equal(got, c.want) || (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %v, %q; want %v and %q", name, got, why, c.want, c.why)
		}
	}
}

// A connection follows the pods: to one, to another, and to none.
func TestConnectionsFollowThePods(t *testing.T) {
	cluster := apiserver.Start(t)
	one, two := newServer(t), newServer(t)
	cluster.Put(service("tea", grpcPort))
	w, changes := run(t, Options{Client: cluster.Config()})
	await.Receive(t, "the backend", changes)
	conn, err := grpc.NewClient("kubernetes:///team/tea", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(w.Resolver()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask := func() error {
		_, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
		return err
	}
	why, _ := w.Resolver().(interface{ Unresolved(target string) error })
	if err := why.Unresolved(conn.Target()); err == nil || err.Error() != "the Service team/tea has no pod that is ready" || status.Code(ask()) != codes.Unavailable {
		t.Errorf("without a pod: %v, and calls fail with %v", err, ask())
	}
	for _, s := range []*server{one, two} {
		cluster.Put(pods("tea", "tea-1", s.port, "127.0.0.1"))
		before := s.asked.Load()
		await.Until(t, "the pod to be asked", func() bool { return ask() == nil && s.asked.Load() > before })
	}
	cluster.Remove(pods("tea", "tea-1", two.port))
	await.Until(t, "that to be noticed", func() bool { return status.Code(ask()) == codes.Unavailable })
	if why.Unresolved(conn.Target()) == nil {
		t.Error("the last removal is not reported")
	}
}

// server is a pod: it serves health, and counts who asks.
type server struct {
	healthpb.UnimplementedHealthServer
	port  int32
	asked atomic.Int32
}

func (s *server) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	s.asked.Add(1)
	return &healthpb.HealthCheckResponse{}, nil
}

func newServer(t *testing.T) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	s, g := &server{port: int32(number)}, grpc.NewServer()
	healthpb.RegisterHealthServer(g, s)
	var serving sync.WaitGroup
	serving.Go(func() { _ = g.Serve(l) })
	t.Cleanup(func() {
		g.Stop()
		serving.Wait()
	})
	return s
}

func TestOptionsAreChecked(t *testing.T) {
	if _, err := New(Options{Selector: "a b"}); err == nil || !strings.Contains(err.Error(), `the selector "a b"`) {
		t.Errorf("a selector that is none: %v", err)
	}
	if _, err := New(Options{Namespaces: []string{"team"}}); err == nil || !strings.Contains(err.Error(), "the API server of Kubernetes cannot be found") {
		t.Errorf("outside of a cluster: %v", err)
	}
	if _, err := New(Options{Client: apiserver.Start(t).Config()}); err == nil || !strings.Contains(err.Error(), "name those to look for") {
		t.Errorf("without a namespace: %v", err)
	}
}
