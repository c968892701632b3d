package engine

import (
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// Dockerfile is the path of the Dockerfile of the images, below the root of the repository.
const Dockerfile = "deploy/Dockerfile"

// Bases are the inputs of builds of the Dockerfile.
type Bases struct {
	// Toolchain and Runtime are the base images: substitutes for this machine's platform.
	Toolchain, Runtime string
	// Modules is the GOPROXY for the build.
	Modules string
}

var (
	from  = regexp.MustCompile(`(?m)^FROM (?:--platform=\S+ )?(\S+) AS (\S+)$`)
	cache = regexp.MustCompile(`--mount=type=cache,target=(\S*go-build)`)
)

// Bases loads the base images of the Dockerfile, and makes its builds use this machine's modules
// and build cache.
func (e *Engine) Bases(t testing.TB) (b Bases) {
	t.Helper()
	text, err := os.ReadFile("../../../" + Dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	stages := map[string]bool{}
	for _, m := range from.FindAllStringSubmatch(string(text), -1) {
		switch image := m[1]; {
		case stages[image]: // an earlier stage
		case strings.HasPrefix(image, "golang:"):
			b.Toolchain = image
		default:
			b.Runtime = image
		}
		stages[m[2]] = true
	}
	at := cache.FindSubmatch(text)
	if b.Toolchain == "" || b.Runtime == "" || at == nil {
		t.Fatalf("%s: base images %+v, build cache at %s", Dockerfile, b, at)
	}
	e.Golang(t, b.Toolchain)
	e.Distroless(t, b.Runtime, "linux/"+runtime.GOARCH)
	e.buildCache(t, b.Toolchain, string(at[1]))
	b.Modules = e.modules(t)
	return b
}
