//go:build kubernetes && linux

package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/engine"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// Networks, all of them in the namespaces of the tests.
const (
	// hostIP is where the control plane is, and this process.
	hostIP       = "10.200.0.1"
	nodeNetwork  = "10.200.0.%d/24"
	podNetwork   = "10.244.0.0/16"
	services     = "10.96.0.0/16"
	dnsIP        = "10.96.0.10"
	kubernetesIP = "10.96.0.1"
	apiServer    = "https://" + hostIP + ":6443"
)

// patience is how long one step of a cluster may take: a pod that starts, a rollout.
const patience = 4 * time.Minute

// cluster is a control plane and its nodes.
type cluster struct {
	*engine.Engine
	logs    string // folder
	running []*process.Process
	nodes   []*node
	// values are files for upgrades, beside that of testdata.
	values []string
	// ca vouches for what is called from outside, and roots is its file. nil and empty before Traefik runs.
	ca    *authority.CA
	roots string
}

// newCluster starts one, with the images of what the chart runs, and cluster DNS.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{Engine: engine.Start(t)}
	c.logs = filepath.Join(c.Dir, "logs")
	if err := os.MkdirAll(c.logs, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.stop(t) })
	// The engine drops what is forwarded, and between nodes everything is.
	run(t, "iptables", "-P", "FORWARD", "ACCEPT")
	run(t, "sysctl", "-qw", "net.ipv4.ip_forward=1")
	run(t, "ip", "link", "add", "nodes", "type", "bridge")
	run(t, "ip", "addr", "add", hostIP+"/24", "dev", "nodes")
	run(t, "ip", "link", "set", "nodes", "up")
	c.control(t)
	for n := 1; n <= 2; n++ {
		c.nodes = append(c.nodes, c.newNode(t, n))
	}
	run(t, "ip", "route", "add", services, "via", c.nodes[0].ip)
	c.images(t)
	for _, n := range c.nodes {
		c.kubectl(t, "wait", "--for=condition=Ready", "--timeout=2m", "node/"+n.name)
	}
	c.apply(t, "tests/suites/kubernetes/testdata/dns.yaml")
	c.kubectl(t, "--namespace=kube-system", "rollout", "status", "deployment/coredns", "--timeout=2m")
	return c
}

// start starts a program of the cluster, which ends with it.
func (c *cluster) start(t *testing.T, name, program string, args ...string) *process.Process {
	t.Helper()
	p, err := process.Start(name, program, filepath.Join(c.logs, name+".log"), args...)
	if err != nil {
		t.Fatal(err)
	}
	c.running = append(c.running, p)
	return p
}

// stop ends what start started, the last first, after what the pods are. A test that failed has the ends of all logs.
func (c *cluster) stop(t *testing.T) {
	if t.Failed() {
		c.tell(t)
	}
	for i := len(c.running) - 1; i >= 0; i-- {
		if err := c.running[i].Stop(); err != nil {
			t.Log(err) // The namespaces end whatever does not end by itself.
		}
	}
}

// tell logs what became of the cluster.
func (c *cluster) tell(t *testing.T) {
	for _, args := range [][]string{
		{"get", "nodes,pods,services,endpointslices", "--all-namespaces", "--output=wide"}, {"get", "events", "--all-namespaces"},
		{"describe", "nodes"}, {"logs", "--namespace=mcp", "--selector=app.kubernetes.io/name=mcpedge", "--prefix", "--tail=30"},
	} {
		out, _ := c.try(context.Background(), "kubectl", args...)
		t.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
	for _, p := range c.running {
		t.Logf("%s says:\n%s", p.Name, p.Tail())
	}
}

// try runs one of the programs at the root of the repository, with the cluster's credentials, and returns what it prints.
func (c *cluster) try(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(programs, name), args...)
	cmd.Env, cmd.Dir = append(c.Env(), "KUBECONFIG="+c.kubeconfig()), root
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, &out, &errs)
	}
	return strings.TrimSpace(out.String()), nil
}

func (c *cluster) kubectl(t testing.TB, args ...string) string {
	t.Helper()
	out, err := c.try(t.Context(), "kubectl", args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (c *cluster) helm(t testing.TB, args ...string) string {
	t.Helper()
	out, err := c.try(t.Context(), "helm", args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// apply applies a file of objects.
func (c *cluster) apply(t testing.TB, file string) {
	t.Helper()
	c.kubectl(t, "apply", "--filename", file)
}

// get reads objects, as kubectl get has them in JSON, into what to points at.
func (c *cluster) get(t testing.TB, to any, args ...string) {
	t.Helper()
	if err := json.Unmarshal([]byte(c.kubectl(t, append([]string{"get", "--output=json"}, args...)...)), to); err != nil {
		t.Fatal(err)
	}
}

// within waits until a condition holds, and looks ten times a second: each look starts a program.
func within(t testing.TB, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !condition(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
