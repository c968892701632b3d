//go:build kubernetes && linux

package kubernetes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/engine"
)

const root = "../../.."

// programs is where prepare puts what it builds, below the root.
const programs = "bin/kubernetes"

func TestMain(m *testing.M) {
	engine.Main(m, []engine.Program{
		{Name: "etcd", Package: "etcd-server"}, {Name: "containerd", Package: "containerd"}, {Name: "ctr", Package: "containerd"},
		{Name: "/usr/lib/cni/bridge", Package: "containernetworking-plugins"}, {Name: "nsenter", Package: "util-linux"},
		{Name: "redis-server", Package: "redis-server"},
	}, func() error { return errors.Join(engine.DownloadModules(), prepare()) })
}

// built are the programs that are built here: the folder of their module, and their packages.
var built = []struct {
	module   string
	packages []string
}{
	{"tools/kubernetes", []string{
		"k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/cmd/kube-controller-manager", "k8s.io/kubernetes/cmd/kube-scheduler",
		"k8s.io/kubernetes/cmd/kubelet", "k8s.io/kubernetes/cmd/kube-proxy", "k8s.io/kubernetes/cmd/kubectl",
	}},
	{"tools/coredns", []string{"."}},
	{"tests/suites/chart", []string{"helm.sh/helm/v3/cmd/helm"}},
	{".", []string{"./tests/suites/kubernetes/pause", "./tests/suites/kubernetes/backend"}},
}

// prepare builds them, static, since some go into images without a C library.
func prepare() error {
	to, err := filepath.Abs(filepath.Join(root, programs))
	if err == nil {
		err = os.MkdirAll(to, 0o755)
	}
	if err != nil {
		return err
	}
	// Without a version the API server says v0.0.0, and Helm refuses the chart.
	version, err := exec.Command("go", "list", "-C", filepath.Join(root, "tools/kubernetes"), "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").Output()
	if err != nil {
		return fmt.Errorf("the version of k8s.io/kubernetes: %w", err)
	}
	parts := strings.SplitN(strings.TrimSpace(string(version)), ".", 3)
	const set = " -X=k8s.io/component-base/version.git"
	says := set + "Version=" + strings.Join(parts, ".") + set + "Major=" + parts[0][1:] + set + "Minor=" + parts[1]
	for _, b := range built {
		args := append([]string{"build", "-C", filepath.Join(root, b.module), "-ldflags=-s -w" + says, "-o", to + "/"}, b.packages...)
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build in %s: %w: %s", b.module, err, out)
		}
	}
	return buildTraefik(filepath.Join(to, "traefik"))
}

// program is where one of them is.
func program(name string) string { return filepath.Join(root, programs, name) }
