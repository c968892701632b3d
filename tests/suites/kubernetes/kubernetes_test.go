//go:build kubernetes && linux

package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const namespace = "mcp"

// TestKubernetes is one test, since its parts share a cluster.
func TestKubernetes(t *testing.T) {
	c := newCluster(t)
	c.install(t)
	for _, part := range []struct {
		name string
		run  func(*cluster, *testing.T)
	}{
		{"newcomer", (*cluster).newcomer},
		{"rolled", (*cluster).rolled},
		{"edges", (*cluster).edges},
		{"backends", (*cluster).backends},
		{"drained", (*cluster).drained},
		{"killed", (*cluster).killed},
		{"found", (*cluster).found},
		{"ingress", (*cluster).ingress},
		{"gateway", (*cluster).gateway},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(c, t) })
	}
}

// install installs the chart as docs/kubernetes.md begins, without values, and then makes of it what the other parts need.
func (c *cluster) install(t *testing.T) {
	c.begin(t)
	c.answers(t, "calculator_arithmetic", `{"expression":"6*7"}`, "42")
	c.apply(t, "tests/suites/kubernetes/testdata/backend.yaml")
	c.rollout(t, "backend")
	c.upgrade(t)
	c.helm(t, "test", "mcpedge", "--namespace", namespace)
}

// upgrade brings the release to the values of testdata, and further ones, and waits until it is there.
func (c *cluster) upgrade(t *testing.T, values ...string) {
	t.Helper()
	args := []string{"upgrade", "mcpedge", "deploy/chart", "--namespace", namespace, "--values", "tests/suites/kubernetes/testdata/values.yaml", "--wait"}
	for _, file := range c.values {
		args = append(args, "--values", file)
	}
	for _, v := range values {
		args = append(args, "--set", v)
	}
	c.helm(t, args...)
	c.rollout(t, "mcpedge")
}

func (c *cluster) rollout(t *testing.T, deployment string) {
	t.Helper()
	c.kubectl(t, "--namespace", namespace, "rollout", "status", "deployment/"+deployment, "--timeout=4m")
}

// endpoint is the edge's Service.
func (c *cluster) endpoint(t *testing.T) place {
	t.Helper()
	at := c.service(t, "mcpedge", namespace)
	return place{url: "http://" + at + "/mcp", addr: at}
}

// service is the address of a Service.
func (c *cluster) service(t *testing.T, name, namespace string) string {
	t.Helper()
	var s service
	c.get(t, &s, "service/"+name, "--namespace", namespace)
	return addr(s.Spec.ClusterIP, s.Spec.Ports[0].Port)
}

// answers calls a tool by the Service, in both revisions.
func (c *cluster) answers(t *testing.T, tool, arguments, want string) {
	t.Helper()
	for _, revision := range []string{legacy, modern} {
		user := newClient(c.endpoint(t), revision, false)
		if err := user.connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a, err := user.call(t.Context(), tool, arguments); err != nil || a.text != want {
			t.Errorf("%s: %s answers %+v, %v", revision, tool, a, err)
		}
		user.http.CloseIdleConnections()
	}
}

// pods are those of a label that are ready and do not end, by name.
func (c *cluster) pods(t *testing.T, selector string) map[string]pod {
	t.Helper()
	var list podList
	c.get(t, &list, "pods", "--namespace", namespace, "--selector", selector)
	out := map[string]pod{}
	for _, p := range list.Items {
		if p.isReady() {
			out[p.Metadata.Name] = p
		}
	}
	return out
}

// Labels of the pods.
const (
	edgePods    = "app.kubernetes.io/name=mcpedge,app.kubernetes.io/component=edge"
	backendPods = "app=backend"
)

// rolled: a new version costs no client a failure.
func (c *cluster) rolled(t *testing.T) {
	c.upgrade(t)
	before := c.pods(t, edgePods)
	l := startLoad(t, c.endpoint(t))
	c.upgrade(t, "image.tag="+nextVersion)
	c.gone(t, before)
	l.leave().calm(t)
	if said := c.kubectl(t, "--namespace", namespace, "exec", "deployment/mcpedge", "--", "mcpedge", "version"); !strings.HasPrefix(said, "mcpedge v"+nextVersion) {
		t.Errorf("the edge is %q", said)
	}
}

// gone waits until pods are no more.
func (c *cluster) gone(t *testing.T, pods map[string]pod) {
	t.Helper()
	for name := range pods {
		c.kubectl(t, "--namespace", namespace, "wait", "--for=delete", "--timeout=2m", "pod/"+name)
	}
}

// edges: replicas come and go, and those that come get their share.
func (c *cluster) edges(t *testing.T) {
	c.upgrade(t)
	l := startLoad(t, c.endpoint(t))
	c.upgrade(t, "replicaCount=5")
	five := c.pods(t, edgePods)
	c.share(t, five, func() map[string]int { return c.operations(t, five) })
	c.upgrade(t)
	within(t, patience, "two edges are left", func() bool { return len(c.allPods(t, edgePods)) == 2 })
	l.leave().calm(t)
}

func (c *cluster) allPods(t *testing.T, selector string) []string {
	t.Helper()
	return strings.Fields(c.kubectl(t, "get", "pods", "--namespace", namespace, "--selector", selector, "--output=name"))
}

// backends: instances of a backend come, and get their share.
func (c *cluster) backends(t *testing.T) {
	scale := func(n int) {
		c.kubectl(t, "--namespace", namespace, "scale", "deployment/backend", fmt.Sprintf("--replicas=%d", n))
		c.rollout(t, "backend")
		within(t, patience, "the others are gone", func() bool { return len(c.allPods(t, backendPods)) == n })
	}
	c.upgrade(t)
	scale(1)
	l := startLoad(t, c.endpoint(t))
	scale(4)
	c.share(t, c.pods(t, backendPods), l.byBackend)
	scale(2)
	l.leave().calm(t)
}

// share waits until half a minute has passed since all pods were ready, and holds what each of them does then against its fair share.
func (c *cluster) share(t *testing.T, pods map[string]pod, done func() map[string]int) {
	t.Helper()
	var ready time.Time
	for _, p := range pods {
		for _, condition := range p.Status.Conditions {
			if at := condition.LastTransitionTime; condition.Type == "Ready" && at.After(ready) {
				ready = at
			}
		}
	}
	time.Sleep(time.Until(ready.Add(30 * time.Second)))
	before := done()
	time.Sleep(10 * time.Second)
	after, all := done(), 0
	for name := range pods {
		after[name] -= before[name]
		all += after[name]
	}
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		share := float64(after[name]) * float64(len(pods)) / float64(max(all, 1))
		figure(t, "%s: %d calls in 10 s, %.2f of its fair share", name, after[name], share)
		if share < 0.5 {
			t.Errorf("%s has %.2f of its fair share 30 s after it was ready, want half", name, share)
		}
	}
}

// drained: a node is drained, and nobody notices.
func (c *cluster) drained(t *testing.T) {
	c.upgrade(t)
	// The trial Redis is one pod, as cluster DNS is, and is where nobody is drained.
	c.kubectl(t, "--namespace", namespace, "patch", "deployment/mcpedge-redis", "--patch",
		`{"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": "`+c.nodes[0].name+`"}}}}}`)
	c.rollout(t, "mcpedge-redis")
	// Of four, which the scheduler spreads, both nodes have some.
	c.upgrade(t, "replicaCount=4")
	c.kubectl(t, "--namespace", namespace, "scale", "deployment/backend", "--replicas=4")
	c.rollout(t, "backend")
	node := c.nodes[1].name
	for _, selector := range []string{edgePods, backendPods} {
		there := 0
		for _, p := range c.pods(t, selector) {
			if p.Spec.NodeName == node {
				there++
			}
		}
		if there == 0 {
			t.Fatalf("%s has no pod with %s", node, selector)
		}
		figure(t, "%s has %d pods with %s", node, there, selector)
	}
	l := startLoad(t, c.endpoint(t))
	c.kubectl(t, "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=4m")
	c.rollout(t, "mcpedge")
	l.leave().calm(t)
	c.kubectl(t, "uncordon", node)
}

// lease is the edge's: after so long another takes the calls of one that is silent.
const lease = 3 * time.Second

// killed: of calls that ran on an edge that is killed, those with an event id are answered, and the others are sent again.
func (c *cluster) killed(t *testing.T) {
	c.upgrade(t)
	l := startLoad(t, c.endpoint(t))
	for range 3 {
		// A call that is taken over has ended before the next is killed: one that loses two edges waits for two leases.
		time.Sleep(2*lease + longest*step)
		for name, p := range c.pods(t, edgePods) {
			c.kill(t, p)
			within(t, patience, name+" is started again", func() bool {
				now, ready := c.pods(t, edgePods)[name]
				return ready && now.Status.ContainerStatuses[0].RestartCount > p.Status.ContainerStatuses[0].RestartCount
			})
			break
		}
	}
	d := l.leave()
	figure(t, "%v", d)
	figure(t, "a resumed stream was silent for %v at most, and then while the tool came to where it had been", d.takenOver.Round(time.Millisecond))
	if d.takenOver > 2*lease {
		t.Errorf("a call was taken over after %v, want %v and little more", d.takenOver, lease)
	}
	if len(d.wrong) > 0 {
		t.Errorf("%d calls failed, such as %s", len(d.wrong), some(d.wrong))
	}
	if len(d.cut)+d.resumed == 0 {
		t.Error("no connection broke: nothing was shown")
	}
}

// kill ends the process of an edge's pod with SIGKILL.
func (c *cluster) kill(t *testing.T, p pod) {
	t.Helper()
	for _, n := range c.nodes {
		if n.name == p.Spec.NodeName {
			_, id, _ := strings.Cut(p.Status.ContainerStatuses[0].ContainerID, "://")
			if err := syscall.Kill(n.pid(t, id), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("%s is on %s, which is no node", p.Metadata.Name, p.Spec.NodeName)
}
