//go:build kubernetes && linux

package kubernetes

import (
	"strings"
	"testing"
	"time"
)

// tested is what helm test prints of a test that has passed, and called what the call of the page prints.
const tested, called = "Phase:          Succeeded", "\n9\n"

// begin does what docs/kubernetes.md begins with: the chart without values, its test, and a call from this machine.
func (c *cluster) begin(t *testing.T) {
	began, n := time.Now(), c.clone(t)
	shell, _ := page(t, "Install it")
	if len(shell) < 2 {
		t.Fatalf("the page begins with %q", shell)
	}
	if out := n.sh(t, shell[0]); !strings.Contains(out, tested) {
		t.Errorf("helm test says\n%s", out)
	}
	out := n.sh(t, shell[1]+"kill %1")
	if !strings.Contains("\n"+out, called) {
		t.Errorf("the call from this machine says\n%s", out)
	}
	figure(t, "installed and called after %v", time.Since(began).Round(time.Second))
}

// newcomer does what the page says then, until a tool is called through an ingress, and through a gateway: by an API key, without which
// nobody is let in. Stand-ins: the certificate is made here and not by cert-manager, and the name is resolved by a file.
func (c *cluster) newcomer(t *testing.T) {
	c.traefik(t)
	began, n := time.Now(), c.clone(t)
	shell, values := page(t, "Who may call")
	n.sh(t, shell[0])
	n.write(t, "values.yaml", values[len(values)-1])
	shell, proxies := page(t, "An Ingress or a route")
	for i, way := range ways {
		n.write(t, "proxy.yaml", proxies[i])
		upgrade, call, _ := strings.Cut(shell[0], "go run")
		if out := n.sh(t, upgrade); !strings.Contains(out, tested) {
			t.Errorf("by %s helm test says\n%s", way.name, out)
		}
		c.routed(t, way.provider)
		if _, err := newClient(c.outside(t), modern, false).tools(t.Context()); err == nil || !strings.Contains(err.Error(), "401") {
			t.Errorf("by %s a client without a key: %v, want 401", way.name, err)
		}
		if out := n.sh(t, "go run"+call, "SSL_CERT_FILE="+c.roots); !strings.Contains("\n"+out, called) {
			t.Errorf("by %s the call says\n%s", way.name, out)
		}
		figure(t, "called by %s after %v", way.name, time.Since(began).Round(time.Second))
	}
	c.operator(t, n)
}

// operator does what the page says to who runs the edge, with the values of the newcomer: asks a replica, upgrades it, checks it from
// within, and goes back.
func (c *cluster) operator(t *testing.T, n *clone) {
	shell, _ := page(t, "Who reaches what")
	forward, status, _ := strings.Cut(shell[0], "\n")
	// A person is slower than the port is forwarded.
	out := n.sh(t, forward+"\nuntil (: </dev/tcp/127.0.0.1/9090) 2>/dev/null; do sleep 0.1; done\n"+status+"kill %1")
	if !strings.Contains(strings.ReplaceAll(out, " ", ""), `"ready":true`) {
		t.Errorf("the replica says\n%s", out)
	}
	shell, _ = page(t, "Scaling and rolling updates")
	if out := n.sh(t, shell[0]); !strings.Contains(out, "Rollback was a success") {
		t.Errorf("the commands say\n%s", out)
	}
}
