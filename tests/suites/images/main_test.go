//go:build images && linux

package images

import (
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/engine"
	"github.com/mcpedge/mcpedge/tests/helpers/ociregistry"
)

func TestMain(m *testing.M) {
	engine.Main(m, []engine.Program{{Name: ociregistry.Program, Package: ociregistry.Package}}, engine.DownloadModules)
}

const (
	// What the images are called here; documentation calls them ghcr.io/mcpedge/….
	edgeImage, servicesImage = "mcpedge", "services"
)

// build is what `mcpedge version` is to say of the images.
var build = struct{ version, commit, date string }{"v9.8.7", "0123456789abcdef0123456789abcdef01234567", "2026-11-23T05:13:22Z"}

// builder makes images from the Dockerfile.
type builder struct {
	*engine.Engine
	bases engine.Bases
}

// newBuilder starts an engine that has the base images.
func newBuilder(t *testing.T) *builder {
	t.Helper()
	b := &builder{Engine: engine.Start(t)}
	b.bases = b.Bases(t)
	return b
}

// make builds a target of the Dockerfile for a platform, for which its base image has to be there.
func (b *builder) make(t *testing.T, name, target, platform string, more ...string) {
	t.Helper()
	args := []string{"build", "--file", engine.Dockerfile, "--target", target, "--tag", name, "--platform", platform,
		"--build-arg", "GOPROXY=" + b.bases.Modules}
	b.Docker(t, append(append(args, more...), ".")...)
}

// versioned are the arguments that say what is built.
func versioned() []string {
	return []string{
		"--build-arg", "VERSION=" + build.version, "--build-arg", "COMMIT=" + build.commit, "--build-arg", "DATE=" + build.date,
	}
}
