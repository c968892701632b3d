//go:build kubernetes && linux

package kubernetes

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// node is a machine of the cluster: a network and mounts of its own, in which containerd, a kubelet and kube-proxy run.
type node struct {
	name, ip string
	pods     string // network
	dir      string
	network  string // namespace, a file
	mounts   string // id of a process that has its mounts
}

// newNode makes a node and has it join.
func (c *cluster) newNode(t *testing.T, number int) *node {
	t.Helper()
	name := "node" + strconv.Itoa(number)
	n := &node{
		name: name, ip: fmt.Sprintf("10.200.0.%d", 10+number), pods: fmt.Sprintf("10.244.%d.0/24", number), dir: filepath.Join(c.Dir, name),
		network: "/run/netns/" + name,
	}
	n.connect(t)
	for _, other := range c.nodes {
		run(t, "ip", "-n", n.name, "route", "add", other.pods, "via", other.ip)
		run(t, "ip", "-n", other.name, "route", "add", n.pods, "via", n.ip)
	}
	n.write(t, c)
	n.group(t, filepath.Base(c.Dir))

	// containerd's process makes the node's mounts, and the others join them. What its programs write to places that cannot be chosen
	// is there, too.
	containerd := c.start(t, "containerd-"+name, "nsenter", "--net="+n.network, "unshare", "--mount", "sh", "-ec", strings.Join([]string{
		"mount --bind " + n.file("lib") + " /var/lib", "mount --bind " + n.file("log") + " /var/log", "mount -t tmpfs run /run",
		"mount --make-rshared /", "exec containerd --config " + n.file("containerd.toml"),
	}, "; "))
	n.mounts = strconv.Itoa(containerd.Pid())
	within(t, patience, "containerd of "+name+" answers", func() bool {
		_, err := n.try("ctr", "--namespace=k8s.io", "version")
		return err == nil
	})
	inside := []string{"--net=" + n.network, "--mount", "--target=" + n.mounts}
	c.start(t, "kubelet-"+name, "nsenter", append(inside, absolute(t, "kubelet"), "--config="+n.file("kubelet.yaml"), "--kubeconfig="+c.kubeconfig(),
		"--hostname-override="+name, "--node-ip="+n.ip)...)
	c.start(t, "kube-proxy-"+name, "nsenter", append(inside, absolute(t, "kube-proxy"), "--kubeconfig="+c.kubeconfig(), "--hostname-override="+name,
		"--proxy-mode=iptables", "--cluster-cidr="+podNetwork, "--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0",
		"--conntrack-tcp-timeout-close-wait=0")...)
	return n
}

// connect makes the node's network.
func (n *node) connect(t *testing.T) {
	t.Helper()
	link := "to-" + n.name
	run(t, "ip", "netns", "add", n.name)
	run(t, "ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", n.name)
	run(t, "ip", "link", "set", link, "master", "nodes", "up")
	for _, args := range [][]string{
		{"link", "set", "lo", "up"}, {"addr", "add", n.ip + "/24", "dev", "eth0"}, {"link", "set", "eth0", "up"},
		{"route", "add", "default", "via", hostIP},
	} {
		run(t, "ip", append([]string{"-n", n.name}, args...)...)
	}
	run(t, "nsenter", "--net="+n.network, "sysctl", "-qw", "net.ipv4.ip_forward=1")
	run(t, "ip", "route", "add", n.pods, "via", n.ip)
}

// group makes the control group of the node's pods, in every hierarchy: a kubelet removes those that it does not know.
func (n *node) group(t *testing.T, engine string) {
	t.Helper()
	hierarchies, err := filepath.Glob("/sys/fs/cgroup/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hierarchies {
		if err := os.MkdirAll(filepath.Join(h, engine, n.name), 0o755); err != nil && !os.IsPermission(err) {
			t.Logf("%v", err)
		}
	}
}

func (n *node) file(name string) string { return filepath.Join(n.dir, name) }

// write writes the configuration of the node's programs.
func (n *node) write(t *testing.T, c *cluster) {
	t.Helper()
	for _, dir := range []string{"lib", "log"} {
		if err := os.MkdirAll(n.file(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, n.file("containerd.toml"), fmt.Sprintf(`version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
`, pauseImage, n.file("cni")))
	write(t, n.file("cni/10-pods.conflist"), fmt.Sprintf(`{"cniVersion": "1.0.0", "name": "pods", "plugins": [{
  "type": "bridge", "bridge": "cni0", "isDefaultGateway": true, "hairpinMode": true,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": %q}]]}
}]}`, n.pods))
	resolv := n.file("resolv.conf")
	write(t, resolv, "")
	write(t, n.file("kubelet.yaml"), fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
address: %s
cgroupDriver: cgroupfs
cgroupRoot: /%s/%s
failSwapOn: false
clusterDNS: [%s]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
evictionHard: {memory.available: 50Mi, nodefs.available: 1%%, imagefs.available: 1%%}
imageGCHighThresholdPercent: 100
resolvConf: %s
oomScoreAdj: 0
volumePluginDir: %s
`, n.ip, filepath.Base(c.Dir), n.name, dnsIP, resolv, n.file("plugins")))
}

// try runs a program on the node.
func (n *node) try(args ...string) (string, error) {
	return output("nsenter", append([]string{"--net=" + n.network, "--mount", "--target=" + n.mounts}, args...)...)
}

// pid is the process of a container on the node.
func (n *node) pid(t *testing.T, container string) int {
	t.Helper()
	out, err := n.try("ctr", "--namespace=k8s.io", "tasks", "list")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == container {
			pid, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("%s has no container %s:\n%s", n.name, container, out)
	return 0
}

func addr(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }
