//go:build kubernetes && linux

package kubernetes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/engine"
)

// The images, by the names that the chart and the objects of testdata have.
const (
	edgeImage    = "ghcr.io/mcpedge/mcpedge"
	edgeVersion  = "0.1.0" // the chart's
	nextVersion  = "0.2.0-next"
	redisImage   = "redis:7.4-alpine"
	pauseImage   = "mcpedge.test/pause:1"
	dnsImage     = "mcpedge.test/coredns:1"
	backendImage = "mcpedge.test/backend:1"
	traefikImage = "mcpedge.test/traefik:1"
)

// images builds or loads them all, and gives them to the nodes.
func (c *cluster) images(t *testing.T) {
	t.Helper()
	bases := c.Bases(t)
	names := []string{redisImage, pauseImage, dnsImage, backendImage, traefikImage}
	for _, version := range []string{edgeVersion, nextVersion} {
		name := edgeImage + ":" + version
		c.Docker(t, "build", "--file", engine.Dockerfile, "--target", "edge", "--tag", name, "--platform", "linux/"+runtime.GOARCH,
			"--build-arg", "GOPROXY="+bases.Modules, "--build-arg", "VERSION=v"+version, ".")
		names = append(names, name)
	}
	c.Redis(t, redisImage)
	c.Program(t, pauseImage, program("pause"))
	c.Program(t, dnsImage, program("coredns"))
	c.Program(t, backendImage, program("backend"))
	c.Program(t, traefikImage, program("traefik"))
	c.give(t, names...)
}

// give imports images of the engine into every node.
func (c *cluster) give(t *testing.T, names ...string) {
	t.Helper()
	file := filepath.Join(c.Dir, "images.tar")
	c.Docker(t, append([]string{"save", "--output", file}, names...)...)
	for _, n := range c.nodes {
		if out, err := n.try("ctr", "--namespace=k8s.io", "images", "import", file); err != nil {
			t.Fatalf("%s: %v: %s", n.name, err, out)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

func absolute(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(program(name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return string(out), nil
}
