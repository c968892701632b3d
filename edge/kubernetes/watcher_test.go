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
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcpedge/mcpedge/tests/helpers/apiserver"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is one with the label, and annotations as "name=value".
func service(name string, ports []corev1.ServicePort, annotations ...string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: name, Labels: map[string]string{"mcpedge.io/backend": "true"}, Annotations: map[string]string{},
	}}
	for _, a := range annotations {
		key, value, _ := strings.Cut(a, "=")
		s.Annotations["mcpedge.io/"+key] = value
	}
	s.Spec.Ports = ports
	return s
}

var grpcPort = []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "grpc", Port: 50051}}

// pods is an EndpointSlice with pods that are ready at addresses.
func pods(service, name string, port int32, addresses ...string) *discoveryv1.EndpointSlice {
	portName, ready := "grpc", true
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "team", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &portName, Port: &port}},
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}})
	}
	return s
}

// run runs a Watcher, and gives what it tells.
func run(t *testing.T, o Options) (*Watcher, <-chan []Backend) {
	t.Helper()
	told := make(chan []Backend, 100)
	o.Changed = func(all []Backend) { told <- all }
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
	return w, told
}

func TestServicesWithTheLabelAreBackends(t *testing.T) {
	api := apiserver.Start(t)
	tea, other := service("tea", grpcPort, "prefix=tea_"), service("other", grpcPort)
	other.Labels = nil
	api.Put(tea)
	api.Put(other)
	w, told := run(t, Options{Client: api.Config()})
	want := Backend{
		Name: "team/tea", Target: "kubernetes:///team/tea", Kind: KindContract, Prefix: "tea_", Host: "tea.team.svc", port: "grpc",
	}
	if got := await.Receive(t, "the first set", told); !slices.Equal(got, []Backend{want}) {
		t.Errorf("found %+v, want %+v", got, want)
	}
	<-w.Synced()
	if !api.AskedFor("/api/v1/namespaces/team/services mcpedge.io/backend=true") {
		t.Error("the Services with the label were not asked for")
	}

	labelled := other.DeepCopy()
	labelled.Labels = tea.Labels
	labelled.Annotations["mcpedge.io/kind"], labelled.Annotations["mcpedge.io/tls"] = "reflect", "true"
	api.Put(labelled)
	got := await.Receive(t, "one more", told)
	if len(got) != 2 || got[0].Name != "team/other" || got[0].Kind != KindReflect || !got[0].TLS || got[1] != want {
		t.Errorf("found %+v", got)
	}
	api.Put(other.DeepCopy()) // without the label
	if got := await.Receive(t, "it to go", told); !slices.Equal(got, []Backend{want}) {
		t.Errorf("found %+v", got)
	}
	api.Remove(tea)
	if got := await.Receive(t, "the last one to go", told); len(got) != 0 {
		t.Errorf("found %+v", got)
	}
}

// What was found stays while the API server is away, and what changed then is seen when it is back.
func TestAPIServerAway(t *testing.T) {
	api := apiserver.Start(t)
	api.Put(service("tea", grpcPort))
	_, told := run(t, Options{Client: api.Config()})
	if got := await.Receive(t, "the first set", told); len(got) != 1 {
		t.Fatalf("found %+v", got)
	}
	api.GoAway(true)
	api.Put(service("coffee", grpcPort))
	select {
	case got := <-told:
		t.Errorf("told %+v while the API server was away", got)
	default:
	}
	api.GoAway(false)
	if got := await.Receive(t, "what changed", told); len(got) != 2 || got[0].Name != "team/coffee" {
		t.Errorf("found %+v", got)
	}
}

// An API server that is away at the start is waited for.
func TestAPIServerComesLate(t *testing.T) {
	api := apiserver.Start(t)
	api.Put(service("tea", grpcPort))
	api.GoAway(true)
	w, told := run(t, Options{Client: api.Config()})
	await.Until(t, "it to be asked", func() bool { return api.AskedFor("/api/v1/namespaces/team/services mcpedge.io/backend=true") })
	select {
	case <-w.Synced():
		t.Error("synced with nothing read")
	default:
	}
	api.GoAway(false)
	if got := await.Receive(t, "the first set", told); len(got) != 1 {
		t.Errorf("found %+v", got)
	}
}

func TestServicesThatCannotBeBackends(t *testing.T) {
	external := service("x", grpcPort)
	external.Spec.Type, external.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.com"
	for want, s := range map[string]*corev1.Service{
		`mcpedge.io/kind: "mcp": use contract or reflect`:                               service("x", grpcPort, "kind=mcp"),
		`mcpedge.io/tls: "yes": use true or false`:                                      service("x", grpcPort, "tls=yes"),
		`it has no port "50052" but http (80), grpc (50051)`:                            service("x", grpcPort, "port=50052"),
		`it has no port "grpc" but http (80), metrics (90): name one grpc, or say with`: service("x", []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "metrics", Port: 90}}),
		`of type ExternalName, which has no endpoints: name "example.com" among`:        external,
	} {
		if _, err := read(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	for want, s := range map[string]*corev1.Service{
		"http": service("x", grpcPort, "port=80"),
		"":     service("x", []corev1.ServicePort{{Port: 9000}}), // the only one need not have a name
	} {
		if b, err := read(s); err != nil || b.port != want {
			t.Errorf("the port is %q, %v: want %q", b.port, err, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	six := pods("s", "c", 50051, "fd00::1")
	six.AddressType = discoveryv1.AddressTypeIPv6
	ending := pods("s", "d", 50051, "10.0.0.9")
	no := false
	ending.Endpoints[0].Conditions.Ready = &no
	all := []*discoveryv1.EndpointSlice{pods("s", "a", 50051, "10.0.0.2", "10.0.0.1"), pods("s", "b", 50052, "10.0.0.1", "10.0.0.2"), six, ending}
	if got := addresses(all, "grpc"); !slices.Equal(got, []string{"10.0.0.1:50051", "10.0.0.1:50052", "10.0.0.2:50051", "10.0.0.2:50052"}) {
		t.Errorf("got %v", got)
	}
	if got := addresses([]*discoveryv1.EndpointSlice{six}, "grpc"); !slices.Equal(got, []string{"[fd00::1]:50051"}) {
		t.Errorf("got %v", got)
	}
	if got := addresses(all, "http"); len(got) != 0 {
		t.Errorf("got %v of a port that no slice has", got)
	}
}

// Endpoints that are known to be no pods of the Service's namespace are left out.
func TestEndpointsElsewhere(t *testing.T) {
	pod := func(namespace, kind string) *corev1.ObjectReference {
		return &corev1.ObjectReference{Kind: kind, Namespace: namespace, Name: "p"}
	}
	slice := func(by string, refs ...*corev1.ObjectReference) *discoveryv1.EndpointSlice {
		s := pods("s", "a", 50051)
		if by != "" {
			s.Labels[discoveryv1.LabelManagedBy] = by
		}
		for i, r := range refs {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.0.0." + strconv.Itoa(i+1)}, TargetRef: r})
		}
		return s
	}
	own, other, node := pod("team", "Pod"), pod("other", "Pod"), pod("", "Node")
	for name, c := range map[string]struct {
		slice   *discoveryv1.EndpointSlice
		selects bool
		want    []string
		why     string
	}{
		"pods":                   {slice(controller, own, own), true, []string{"10.0.0.1:50051", "10.0.0.2:50051"}, ""},
		"another namespace":      {slice(controller, own, other), true, []string{"10.0.0.1:50051"}, "10.0.0.2"},
		"a node":                 {slice(controller, node), true, nil, "no pod of the namespace"},
		"nothing":                {slice(controller, nil, own), true, []string{"10.0.0.2:50051"}, "10.0.0.1"},
		"written by somebody":    {slice("me", own), true, nil, "managed by"},
		"written by nobody":      {slice("", own), true, nil, "managed by"},
		"without a selector":     {slice("me", nil, own), false, []string{"10.0.0.1:50051", "10.0.0.2:50051"}, ""},
		"elsewhere, without one": {slice("", other, node, nil), false, []string{"10.0.0.3:50051"}, "no pod of the namespace"},
	} {
		own, why := ownPods([]*discoveryv1.EndpointSlice{c.slice}, c.selects)
		if got := addresses(own, "grpc"); !slices.Equal(got, c.want) || (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %v, %q; want %v and %q", name, got, why, c.want, c.why)
		}
	}
}

// A connection follows the pods: to one, to another, and to none.
func TestConnectionsFollowThePods(t *testing.T) {
	api := apiserver.Start(t)
	one, two := newServer(t), newServer(t)
	api.Put(service("tea", grpcPort))
	w, told := run(t, Options{Client: api.Config()})
	await.Receive(t, "the backend", told)
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
		api.Put(pods("tea", "tea-1", s.port, "127.0.0.1"))
		before := s.asked.Load()
		await.Until(t, "the pod to be asked", func() bool { return ask() == nil && s.asked.Load() > before })
	}
	api.Remove(pods("tea", "tea-1", two.port))
	await.Until(t, "that to be noticed", func() bool { return status.Code(ask()) == codes.Unavailable })
	if why.Unresolved(conn.Target()) == nil {
		t.Error("nobody is told that there is none any more")
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
