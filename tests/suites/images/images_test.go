//go:build images && linux

package images

import (
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/ociregistry"
)

// here is the platform of this machine's images, away the other one that is released.
var (
	here = "linux/" + runtime.GOARCH
	away = map[string]string{"linux/amd64": "linux/arm64", "linux/arm64": "linux/amd64"}[here]
)

// image is what an engine says of one.
type image struct {
	ID           string
	Architecture string
	Size         int64
	Config       struct {
		User         string
		Entrypoint   []string
		ExposedPorts map[string]any
		Labels       map[string]string
	}
}

func (b *builder) image(t *testing.T, name string) (i image) {
	t.Helper()
	if err := json.Unmarshal([]byte(b.Docker(t, "image", "inspect", "--format", "{{json .}}", name)), &i); err != nil {
		t.Fatal(err)
	}
	return i
}

// TestImages is one test, since each part uses what the one before has built.
func TestImages(t *testing.T) {
	b := newBuilder(t)
	for _, part := range []struct {
		name string
		run  func(*builder, *testing.T)
	}{
		{"unversioned", (*builder).unversioned},
		{"edge", (*builder).edge},
		{"services", (*builder).services},
		{"sizes", (*builder).sizes},
		{"platforms", (*builder).platforms},
		{"registry", (*builder).registry},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(b, t) }) {
			return
		}
	}
}

// unversioned: a build without arguments does not make up what it cannot know.
func (b *builder) unversioned(t *testing.T) {
	b.make(t, edgeImage, "edge", here)
	if got, want := b.version(t, edgeImage), says("devel", "unknown", "unknown"); got != want {
		t.Errorf("mcpedge version says %q, want %q", got, want)
	}
}

func (b *builder) version(t *testing.T, image string) string {
	t.Helper()
	return b.Docker(t, "run", "--rm", image, "version")
}

func says(version, commit, date string) string {
	return fmt.Sprintf("mcpedge %s\ncommit  %s\ndate    %s", version, commit, date)
}

// locked is how the containers of docker-compose.yml are started.
var locked = []string{"run", "--detach", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"}

// edge: the image runs without root, rights and a place to write, serves, and ends in good order.
func (b *builder) edge(t *testing.T) {
	b.make(t, edgeImage, "edge", here, versioned()...)
	if got, want := b.version(t, edgeImage), says(build.version, build.commit, build.date); got != want {
		t.Errorf("mcpedge version says %q, want %q", got, want)
	}
	i := b.image(t, edgeImage)
	for label, want := range map[string]string{
		"version": build.version, "revision": build.commit, "source": "https://github.com/mcpedge/mcpedge", "licenses": "Apache-2.0",
	} {
		if got := i.Config.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("the label %s is %q, want %q", label, got, want)
		}
	}
	for _, port := range []string{"8080/tcp", "9090/tcp"} {
		if _, ok := i.Config.ExposedPorts[port]; !ok {
			t.Errorf("the image exposes %v, want %s among them", i.Config.ExposedPorts, port)
		}
	}
	id := b.Docker(t, append(append([]string{}, locked...), "--publish", "127.0.0.1::8080", "--env", "MCPEDGE_LISTEN_HOSTS=127.0.0.1", edgeImage,
		"--listen=0.0.0.0:8080", "--allow-anonymous")...)
	b.awaitOK(t, id, "exec", id, "mcpedge", "ready")
	b.lockedDown(t, id)
	endpoint := "http://" + b.Published(t, id, 8080) + "/mcp"
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		b.call(t, endpoint, revision)
	}
	b.ends(t, id)
}

// call has the official client call a tool of the demo services, and compares the version that the server names.
func (b *builder) call(t *testing.T, endpoint, revision string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	connections := &http.Transport{}
	defer connections.CloseIdleConnections()
	client := mcp.NewClient(&mcp.Implementation{Name: "images", Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: connections}}
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if got := session.InitializeResult().ServerInfo.Version; got != build.version {
		t.Errorf("%s: the server is of version %q, want %q", revision, got, build.version)
	}
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "calculator_arithmetic", Arguments: map[string]any{"expression": "6*7"}})
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := r.Content[0].(*mcp.TextContent); r.IsError || !ok || text.Text != "42" {
		t.Errorf("%s: 6*7 is %+v", revision, r.Content[0])
	}
}

// lockedDown asks the kernel what a container's process may do.
func (b *builder) lockedDown(t *testing.T, id string) {
	t.Helper()
	status, err := os.ReadFile("/proc/" + b.Docker(t, "inspect", "--format", "{{.State.Pid}}", id) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]string{}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		has[name] = strings.Join(strings.Fields(value), " ")
	}
	for name, want := range map[string]string{
		"Uid": "65532 65532 65532 65532", "CapEff": "0000000000000000", "CapBnd": "0000000000000000", "NoNewPrivs": "1",
	} {
		if has[name] != want {
			t.Errorf("the process has %s %q, want %q", name, has[name], want)
		}
	}
	if user := b.Docker(t, "inspect", "--format", "{{.Config.User}}", id); !isNumber(strings.Split(user, ":")[0]) {
		t.Errorf("the image's user is %q: want a number, without which Kubernetes cannot tell that it is not root", user)
	}
}

func isNumber(s string) bool { _, err := strconv.Atoi(s); return err == nil }

// awaitOK waits until a docker command about a container succeeds.
func (b *builder) awaitOK(t *testing.T, id string, args ...string) {
	t.Helper()
	var last error
	defer func() {
		if t.Failed() {
			log, _ := b.Command(context.Background(), "logs", id).CombinedOutput()
			t.Logf("last: %v\nthe container says:\n%s", last, log)
		}
	}()
	await.Until(t, strings.Join(args, " "), func() bool {
		_, last = b.Run(t.Context(), args...)
		return last == nil
	})
}

// ends stops a container, which has to end with status 0, and without a warning in its log.
func (b *builder) ends(t *testing.T, id string) {
	t.Helper()
	b.Docker(t, "stop", "--time", "30", id)
	if code := b.Docker(t, "inspect", "--format", "{{.State.ExitCode}}", id); code != "0" {
		t.Errorf("stopped, the container ended with status %s", code)
	}
	log, err := b.Command(t.Context(), "logs", id).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(log), "WARN") || strings.Contains(string(log), "ERROR") {
		t.Errorf("the container says:\n%s", log)
	}
	b.Docker(t, "rm", id)
}

// services: each service of the image runs as locked down as the edge, and passes the edge's check.
func (b *builder) services(t *testing.T) {
	b.make(t, servicesImage, "services", here, versioned()...)
	for _, name := range []string{"tools", "resources", "prompts"} {
		id := b.Docker(t, append(append([]string{}, locked...), "--entrypoint", name, servicesImage, "--listen=0.0.0.0:50051")...)
		b.awaitOK(t, id, "exec", id, "mcpedge", "check", "--backend=self=127.0.0.1:50051")
		b.lockedDown(t, id)
		b.ends(t, id)
	}
}

// sizes writes how large the images are to the file that IMAGES_SIZES names.
func (b *builder) sizes(t *testing.T) {
	var text strings.Builder
	for _, name := range []string{edgeImage, servicesImage} {
		fmt.Fprintf(&text, "image %-8s %s, %.1f MB without its base, which is a stand-in\n", name, here, float64(b.image(t, name).Size)/1e6)
	}
	t.Log(text.String())
	if file := os.Getenv("IMAGES_SIZES"); file != "" {
		if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// foreign is the name of an image for the other platform.
func foreign(name string) string { return name + ":away" }

// platforms: the other platform's images hold programs of that platform. They cannot be started here.
func (b *builder) platforms(t *testing.T) {
	b.Distroless(t, b.bases.Runtime, away)
	machine := map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}[away]
	for name, target := range map[string]string{edgeImage: "edge", servicesImage: "services"} {
		b.make(t, foreign(name), target, away, versioned()...)
		if got := "linux/" + b.image(t, foreign(name)).Architecture; got != away {
			t.Errorf("the image %s is for %s, want %s", name, got, away)
		}
		id := b.Docker(t, "create", "--platform", away, "--entrypoint", "mcpedge", foreign(name))
		file := filepath.Join(b.Dir, "foreign")
		b.Docker(t, "cp", id+":/usr/local/bin/mcpedge", file)
		b.Docker(t, "rm", id)
		program, err := elf.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if program.Machine != machine {
			t.Errorf("the program is for %v, want %v", program.Machine, machine)
		}
		program.Close()
	}
}

// registry: an index of both platforms goes to a registry, and each platform gets its image from there by one name.
func (b *builder) registry(t *testing.T) {
	registry := ociregistry.Start(t, b.Dir) // which engines take without TLS, since it is on loopback
	for _, local := range []string{edgeImage, servicesImage} {
		name := registry + "/mcpedge/" + local + ":" + build.version
		ids := map[string]string{here: b.image(t, local).ID, away: b.image(t, foreign(local)).ID}
		index := []string{"manifest", "create", "--insecure", name}
		for platform, from := range map[string]string{here: local, away: foreign(local)} {
			tag := name + "-" + filepath.Base(platform)
			b.Docker(t, "tag", from, tag)
			b.Docker(t, "push", "--quiet", tag)
			b.Docker(t, "image", "rm", tag, from)
			index = append(index, tag)
		}
		b.Docker(t, index...)
		b.Docker(t, "manifest", "push", "--insecure", name)
		for _, platform := range []string{away, here} {
			b.Docker(t, "pull", "--quiet", "--platform", platform, name)
			if got := b.image(t, name); got.ID != ids[platform] || "linux/"+got.Architecture != platform {
				t.Errorf("%s for %s is %s of %s, want %s", name, platform, got.ID, got.Architecture, ids[platform])
			}
			b.Docker(t, "image", "rm", name)
		}
		b.Docker(t, "pull", "--quiet", name) // without a platform: this machine's
		got, want := b.Docker(t, "run", "--rm", "--entrypoint", "mcpedge", name, "version"), says(build.version, build.commit, build.date)
		if got != want {
			t.Errorf("pulled, mcpedge version says %q, want %q", got, want)
		}
	}
}
