//go:build kubernetes && linux

package kubernetes

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/authority"
)

// host is what the edge is called by from outside.
const host = "mcp.example.com"

// outside is where clients outside the cluster call: Traefik, by https.
func (c *cluster) outside(t *testing.T) place {
	return place{url: "https://" + host + "/mcp", addr: c.service(t, "traefik", "gateways"), roots: authority.Pool(c.ca)}
}

// routed waits until Traefik sends what is for the edge's host where one of its providers says, and no other does. One that is removed may
// stay for a moment.
func (c *cluster) routed(t *testing.T, provider string) {
	t.Helper()
	within(t, patience, "Traefik routes to the edge by "+provider, func() bool {
		resp, err := http.Get("http://" + c.service(t, "traefik-api", "gateways") + "/api/http/routers")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		var routers []struct{ Rule, Provider, Status string }
		if err := json.NewDecoder(resp.Body).Decode(&routers); err != nil {
			return false
		}
		found := 0
		for _, r := range routers {
			if strings.Contains(r.Rule, host) {
				if r.Provider != provider || r.Status != "enabled" {
					return false
				}
				found++
			}
		}
		return found > 0
	})
}

// The ways to the edge that the page shows, in its order: what it calls them, and which of Traefik's providers reads them.
var ways = []struct{ name, provider string }{{"an ingress", "kubernetesingressnginx"}, {"a route", "kubernetesgateway"}}

// ingress: behind Traefik, by the annotations of ingress-nginx, a new version and more replicas cost no client a failure.
func (c *cluster) ingress(t *testing.T) { c.behind(t, 0) }

// gateway: the same by an HTTPRoute of the Gateway API.
func (c *cluster) gateway(t *testing.T) { c.behind(t, 1) }

// behind rolls out a new version, and scales, while clients call through Traefik, by one of the ways of docs/kubernetes.md.
func (c *cluster) behind(t *testing.T, way int) {
	c.traefik(t)
	_, proxies := page(t, "An Ingress or a route")
	file := filepath.Join(c.Dir, "proxy.yaml")
	write(t, file, proxies[way])
	upgrade := func(values ...string) {
		c.upgrade(t, append([]string{"config.allow-anonymous=true"}, values...)...)
	}
	c.values = []string{file}
	defer func() { c.values = nil }()
	upgrade()
	c.routed(t, ways[way].provider)
	before := c.pods(t, edgePods)
	l := startLoad(t, c.outside(t))
	upgrade("image.tag=" + nextVersion)
	c.gone(t, before)
	upgrade("image.tag="+nextVersion, "replicaCount=4")
	four := c.pods(t, edgePods)
	c.share(t, four, func() map[string]int { return c.operations(t, four) })
	l.leave().calm(t)
}

// traefik starts Traefik, as an ingress controller and a gateway, unless it runs, with a certificate in the Secrets that it and the page name.
func (c *cluster) traefik(t *testing.T) {
	t.Helper()
	if c.ca != nil {
		return
	}
	c.ca = authority.New(t, "outside")
	dir, err := exec.Command("go", "list", "-C", filepath.Join(root, "tests/suites/chart"), "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	c.kubectl(t, "apply", "--server-side", "--filename", filepath.Join(strings.TrimSpace(string(dir)), "config/crd/standard"))
	c.kubectl(t, "wait", "--for=condition=Established", "--timeout=1m", "crd/httproutes.gateway.networking.k8s.io", "crd/gateways.gateway.networking.k8s.io")
	c.apply(t, "tests/suites/kubernetes/testdata/traefik.yaml")
	pair := c.ca.Server(t, authority.For(host))
	c.roots = filepath.Join(c.Dir, "outside", "ca.crt")
	cert, key := filepath.Join(c.Dir, "outside", "tls.crt"), filepath.Join(c.Dir, "outside", "tls.key")
	for file, text := range map[string][]byte{c.roots: c.ca.PEM, cert: pair.Cert, key: pair.Key} {
		write(t, file, string(text))
	}
	for _, in := range []string{namespace, "gateways"} {
		c.kubectl(t, "--namespace", in, "create", "secret", "tls", "mcp-example-com", "--cert="+cert, "--key="+key)
	}
	c.kubectl(t, "--namespace", "gateways", "rollout", "status", "deployment/traefik", "--timeout=2m")

	ip, _, _ := strings.Cut(c.service(t, "traefik", "gateways"), ":")
	hosts := filepath.Join(c.Dir, "hosts")
	write(t, hosts, "127.0.0.1 localhost\n"+ip+" "+host+"\n")
	run(t, "mount", "--bind", hosts, "/etc/hosts") // of these namespaces
}
