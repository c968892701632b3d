package chart

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	rbac "k8s.io/api/rbac/v1"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// The edge takes the configuration, arguments and environment of its pod, becomes ready with its files and ends well; and
// what `helm test` runs succeeds.
func TestEdgeStarts(t *testing.T) {
	redis := redisserver.ForTest(t)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r, err := render(t, s.values)
			if err != nil {
				t.Fatal(err)
			}
			all := decode(t, r)
			c := newCluster(t, redis.URL(), all)
			k := c.start(t, edgePod(t, all))
			cfg := settings(t, k)
			checkSettings(t, cfg, all)
			if cfg.Kubernetes != nil {
				return // It would look for an API server, and there is none: its settings were read, and no more.
			}
			endpoint := run(t, k, cfg, redis.URL())
			for _, p := range pods(all) {
				if p.labels["app.kubernetes.io/component"] == "test" && !t.Failed() {
					call(t, c.start(t, p), endpoint)
				}
			}
		})
	}
}

// settings are what the edge reads.
func settings(t *testing.T, k *container) config.Config {
	t.Helper()
	cfg, err := config.Load("serve", k.args, func(name string) (string, bool) { v, ok := k.env[name]; return v, ok }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// checkSettings holds what the edge reads against its pod.
func checkSettings(t *testing.T, cfg config.Config, all objects) {
	t.Helper()
	p := edgePod(t, all)
	if has, needs := *p.spec.TerminationGracePeriodSeconds, cfg.Shutdown.Delay+cfg.Shutdown.Grace; time.Duration(has)*time.Second <= needs {
		t.Errorf("the pod is killed after %d s, the drain takes %s", has, needs)
	}
	for i, addr := range []string{cfg.Listen.Address, cfg.Admin.Address} {
		if _, port, err := net.SplitHostPort(addr); err != nil || port != strconv.Itoa(int(p.spec.Containers[0].Ports[i].ContainerPort)) {
			t.Errorf("the edge listens on %s, the container has the ports %v", addr, p.spec.Containers[0].Ports)
		}
	}
	if known := cfg.Auth != nil && !cfg.Auth.Optional; known == cfg.Listen.AllowAnonymous {
		t.Errorf("callers are known: %v, and allow-anonymous is %v", known, cfg.Listen.AllowAnonymous)
	}
	if cfg.Listen.ConnectionAge <= 0 || cfg.Listen.ConnectionAge > 30*time.Second {
		t.Errorf("connections are kept for %s: clients of a Service would not come to new replicas", cfg.Listen.ConnectionAge)
	}
	if reads := *p.spec.AutomountServiceAccountToken; reads != (cfg.Kubernetes != nil) {
		t.Errorf("the edge looks for Services: %v, and has a token to read them: %v", cfg.Kubernetes != nil, reads)
	} else if reads {
		var roles []string
		for _, one := range every[*rbac.Role](all) {
			roles = append(roles, one.Namespace)
		}
		if !slices.Equal(cfg.Kubernetes.Namespaces, roles) {
			t.Errorf("the edge looks for Services in %v and may read those of %v", cfg.Kubernetes.Namespaces, roles)
		}
	}
	for _, d := range every[*apps.Deployment](all) {
		if several := d.Spec.Replicas == nil || *d.Spec.Replicas > 1; several && cfg.Redis.URL == "" {
			t.Errorf("%s has several replicas, which share nothing", d.Name)
		}
	}
}

// run starts the edge as its container does, but at free addresses and with the Redis that is there, and waits until it is
// ready. It returns its endpoint. The edge ends with the test, by SIGTERM.
func run(t *testing.T, k *container, cfg config.Config, redis string) (endpoint string) {
	t.Helper()
	addrs, err := process.FreeAddrs(2)
	if err != nil {
		t.Fatal(err)
	}
	var ports []string
	for _, addr := range addrs {
		_, port, _ := net.SplitHostPort(addr)
		ports = append(ports, port)
	}
	if k.env["OTEL_EXPORTER_OTLP_ENDPOINT"] != "" { // an edge whose last metrics nobody takes does not end well
		collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		t.Cleanup(collector.Close)
		k.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.URL
	}
	args := append([]string{"-i", config.Variable("shutdown.delay") + "=0s"}, environment(k)...)
	args = append(append(args, binary(t)), k.args...)
	args = append(args, "--listen=:"+ports[0], "--admin=:"+ports[1], "--replica="+t.Name())
	if cfg.Redis.URL != "" {
		args = append(args, "--redis="+redis)
	}
	edge, err := process.Start("the edge", "env", filepath.Join(t.TempDir(), "log"), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := edge.Stop(); err != nil {
			t.Error(err)
		}
	})
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the kubelet verifies nothing
	}}
	ready, ended := cfg.AdminScheme()+"://"+addrs[1]+"/readyz", false
	await.Until(t, "the edge is ready", func() bool {
		select {
		case <-edge.Done():
			ended = true
		default:
		}
		resp, err := client.Get(ready)
		if err == nil {
			_ = resp.Body.Close()
		}
		return ended || err == nil && resp.StatusCode == http.StatusOK
	})
	if ended {
		t.Fatalf("the edge ended:\n%s", edge.Tail())
	}
	scheme := "http"
	if cfg.Listen.TLS.Enabled() {
		scheme = "https"
	}
	return scheme + "://" + addrs[0] + "/mcp"
}

// service is the URL of an edge, or of a set of it, by its Service.
var service = regexp.MustCompile(`^https?://my-mcpedge\.mcp\.svc:[0-9]+/mcp(/[a-z0-9-]+)?$`)

// call runs what the test's pod does, against an endpoint in place of the Service's.
func call(t *testing.T, k *container, endpoint string) {
	t.Helper()
	found := false
	for i, arg := range k.args {
		if url := service.FindStringSubmatch(arg); url != nil {
			k.args[i], found = endpoint+url[1], true
		}
	}
	if !found {
		t.Fatalf("no argument is the URL of the Service: %q", k.args)
	}
	cmd := exec.Command(binary(t), k.args...)
	cmd.Env = environment(k)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "9\n" {
		t.Errorf("%q: %v\n%s", k.args, err, out)
	}
}

func environment(k *container) (out []string) {
	for name, value := range k.env {
		out = append(out, name+"="+value)
	}
	return out
}

// binary is the edge's program.
func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("MCPEDGE_BINARY")
	if path == "" {
		t.Fatal("MCPEDGE_BINARY names no binary: run make stages ONLY=chart")
	}
	return path
}
