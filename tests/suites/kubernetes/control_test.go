//go:build kubernetes && linux

package kubernetes

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// kubeconfig is the file with which everybody of the control plane, the nodes and this process are administrators. Pods have tokens of
// their own, and what those may do is said by roles.
func (c *cluster) kubeconfig() string { return filepath.Join(c.Dir, "kubeconfig") }

// control starts the control plane.
func (c *cluster) control(t *testing.T) {
	t.Helper()
	file := func(name string) string { return filepath.Join(c.Dir, "control", name) }
	ca := authority.New(t, "cluster")
	server := ca.Server(t, authority.For(hostIP, kubernetesIP, "127.0.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"))
	accounts := ca.Server(t)
	token := rand.Text()
	for name, text := range map[string]string{
		"ca.crt": string(ca.PEM), "server.crt": string(server.Cert), "server.key": string(server.Key),
		"accounts.crt": string(accounts.Cert), "accounts.key": string(accounts.Key),
		"tokens.csv": token + `,admin,admin,"system:masters"` + "\n",
	} {
		write(t, file(name), text)
	}
	write(t, c.kubeconfig(), fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: u, user: {token: %q}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
`, apiServer, file("ca.crt"), token))

	etcd := c.start(t, "etcd", "etcd", "--data-dir", file("etcd"), "--unsafe-no-fsync", "--log-level=warn")
	if err := process.AwaitOK(t.Context(), "http://127.0.0.1:2379/health", etcd); err != nil {
		t.Fatal(err)
	}
	c.start(t, "kube-apiserver", program("kube-apiserver"),
		"--etcd-servers=http://127.0.0.1:2379", "--advertise-address="+hostIP, "--service-cluster-ip-range="+services,
		"--tls-cert-file="+file("server.crt"), "--tls-private-key-file="+file("server.key"), "--token-auth-file="+file("tokens.csv"),
		"--authorization-mode=RBAC", "--allow-privileged", "--kubelet-preferred-address-types=InternalIP", "--cert-dir="+file("certs"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+file("accounts.crt"),
		"--service-account-signing-key-file="+file("accounts.key"))
	within(t, patience, "the API server is ready", func() bool {
		_, err := c.try(t.Context(), "kubectl", "get", "--raw", "/readyz")
		return err == nil
	})
	c.start(t, "kube-controller-manager", program("kube-controller-manager"), "--kubeconfig="+c.kubeconfig(), "--leader-elect=false",
		"--service-account-private-key-file="+file("accounts.key"), "--root-ca-file="+file("ca.crt"), "--cert-dir="+file("certs"))
	c.start(t, "kube-scheduler", program("kube-scheduler"), "--kubeconfig="+c.kubeconfig(), "--leader-elect=false", "--cert-dir="+file("certs"))
}
