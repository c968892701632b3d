package packages

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes the files of a module and loads it.
func write(t *testing.T, files map[string]string) *Module {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestOnMachine(t *testing.T) {
	m := write(t, map[string]string{
		"go.mod": "module m\n\ngo 1.26\n",
		"helpers/server/server.go": `package server
import "os/exec"
type Server struct{ cmd *exec.Cmd }
func Start() *Server { return &Server{} }
func Name() string { return "x" }
`,
		"helpers/process/process.go": `package process
import "os/exec"
func Build() { exec.Command("go") }
func Start(name, program string) { exec.Command(program) }
`,
		"helpers/harness/harness.go": "package harness\n\nfunc InRedis() bool { return false }\n",
		"product/product.go":         "package product\n\nimport \"os\"\n\nfunc Home() string { h, _ := os.UserHomeDir(); return h }\n\nfunc Plain() {}\n",
		"product/product_test.go":    "package product\n\nimport \"testing\"\n\nfunc TestHome(t *testing.T) { Home() }\n\nfunc TestPlain(t *testing.T) { Plain() }\n",
		"outside/outside.go":         "package outside\n\nimport \"os\"\n\nfunc Home() { os.Getenv(\"HOME\") }\n",
		"outside/x_test.go":          "package outside_test\n\nimport (\n\t\"testing\"\n\n\t\"m/outside\"\n)\n\nfunc ExampleHome() { outside.Home() }\n\nfunc TestNone(t *testing.T) {}\n",
		"suite/suite_test.go": `package suite
import (
	"os"
	"syscall"
	"testing"

	"m/helpers/harness"
	"m/helpers/process"
	"m/helpers/server"
	"m/product"
)
type world struct{ s *server.Server }
func open() *world { return nil }
type sink struct{}
func (sink) Write(p []byte) (int, error) { return syscall.Write(1, p) }
func (sink) named() { syscall.Getpid() }
var shared = server.Start()
func fixture() { if harness.InRedis() { server.Start() } }
func TestMain(m *testing.M) { os.Exit(m.Run()) }
func TestServer(t *testing.T) { server.Start() }
func TestName(t *testing.T) { server.Name() }
func TestWorld(t *testing.T) { open() }
func TestShared(t *testing.T) { _ = shared }
func TestFixture(t *testing.T) { fixture() }
func TestProduct(t *testing.T) { product.Home() }
func TestCallback(t *testing.T) { _ = sink{} }
func TestMethod(t *testing.T) { var x interface{ named() }; x.named() }
func TestError(t *testing.T) { _ = syscall.ENOENT }
func TestOwn(t *testing.T) { os.Getenv("MCP_DIR") }
func TestHome(t *testing.T) { os.Getenv("HOME") }
func TestBuilt(t *testing.T) { process.Build(); process.Start("it", t.TempDir()) }
func TestNamed(t *testing.T) { process.Start("it", "dockerd") }
func TestMode(t *testing.T) { os.Chmod("x", 0) }
func FuzzServer(f *testing.F) { server.Start() }
`,
		"all/all_test.go":   "package all\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Getuid(); os.Exit(m.Run()) }\n\nfunc TestX(t *testing.T) {}\n",
		"init/init_test.go": "package init\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc init() { os.Getuid() }\n\nfunc TestX(t *testing.T) {}\n",
		"none/none_test.go": "package none\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n",
	})
	got, err := m.OnMachine()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"m/product": "TestHome", "m/outside": "ExampleHome", "m/all": "TestX", "m/init": "TestX",
		"m/suite": "TestServer TestWorld TestShared TestCallback TestMethod TestHome TestNamed TestMode FuzzServer",
	}
	for path, names := range got {
		if said := strings.Join(names, " "); said != want[path] {
			t.Errorf("of %s: %s\nwant %s", path, said, want[path])
		}
		delete(want, path)
	}
	if len(want) > 0 {
		t.Error("missing:", fmt.Sprint(want))
	}
}
