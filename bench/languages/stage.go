package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/bench/internal/load"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// subject is one server of the tool.
type subject struct {
	name string
	addr string
	pid  int // of the process that has the tool
	call load.Call
}

// stage has the processes.
type stage struct {
	dir     string
	running []*process.Process
}

// servers has the programs of official SDKs.
const servers = "bench/languages/servers"

// direct are the servers of official SDKs that have the same tool, by the language that they stand beside: how what they need is put into
// a folder, {dir}, by commands of a shell in the root of the repository, and how they are started. Their versions are those of tests/programs/interop.
var direct = map[string]struct {
	name    string
	install string
	command []string
}{
	"java": {
		"Java SDK", "mvn -q -B -f " + servers + "/java/pom.xml -Dout={dir} compile",
		[]string{"java", "-cp", "{dir}/classes:{dir}/lib/*", "Server"},
	},
	"python": {
		"FastMCP", "python3 -m venv {dir} && {dir}/bin/pip install --quiet --disable-pip-version-check -r tests/programs/interop/fastmcp/requirements.txt",
		[]string{"{dir}/bin/python", servers + "/server.py"},
	},
	"rust": {
		"rmcp", "cargo build --quiet --locked --release --manifest-path " + servers + "/rust/Cargo.toml --target-dir {dir}",
		[]string{"{dir}/release/server"},
	},
	"typescript": { // its imports are looked for from where it is
		"TypeScript SDK", "mkdir -p {dir} && cp tests/programs/interop/typescript-v1/package*.json " + servers + "/server.mjs {dir} && npm ci --silent --prefix {dir}",
		[]string{"node", "{dir}/server.mjs"},
	},
}

// deployed says how fixtures are built and started where sdk/LANG/fixture/run is missing, or has them start quickly rather than run quickly.
var deployed = map[string]struct{ build, command string }{
	"go":   {"go build -o {dir}/fixture ./tests/suites/capability/fixture", "{dir}/fixture"},
	"java": {`echo "-cp $(sdk/java/build.sh)" >{dir}/java.arguments`, "java @{dir}/java.arguments Fixture"},
	"rust": {
		"cargo build --quiet --locked --release --package fixture --manifest-path sdk/rust/Cargo.toml --target-dir {dir}/fixture-rust",
		"{dir}/fixture-rust/release/fixture",
	},
}

// start starts an edge with the fixture of each language behind it, and the official servers beside, and returns what can be called.
func (s *stage) start(ctx context.Context, languages []string) ([]subject, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	if err := process.Build(ctx, s.dir, "./edge"); err != nil {
		return nil, err
	}
	var out []subject
	for _, language := range languages {
		one, err := s.behindAnEdge(ctx, language)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
		if _, ok := direct[language]; !ok {
			continue
		}
		if one, err = s.alone(ctx, language); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// behindAnEdge starts a language's fixture, and an edge in front of it.
func (s *stage) behindAnEdge(ctx context.Context, language string) (subject, error) {
	addrs, err := process.FreeAddrs(3)
	if err != nil {
		return subject{}, err
	}
	listen, mcp, admin := addrs[0], addrs[1], addrs[2]
	command := []string{filepath.Join("sdk", language, "fixture", "run")}
	if d, ok := deployed[language]; ok {
		in := strings.NewReplacer("{dir}", s.dir)
		if err := shell(ctx, in.Replace(d.build)); err != nil {
			return subject{}, fmt.Errorf("the fixture of %s cannot be built: %w", language, err)
		}
		command = strings.Fields(in.Replace(d.command))
	}
	backend, err := s.run("backend-"+language, command[0], append(command[1:], "--listen", listen)...)
	if err != nil {
		return subject{}, err
	}
	if err := process.AwaitListening(ctx, listen, backend); err != nil {
		return subject{}, err
	}
	edge, err := s.run("edge-"+language, filepath.Join(s.dir, "edge"), "--listen", mcp, "--admin", admin, "--backend", "fixture="+listen)
	if err != nil {
		return subject{}, err
	}
	if err := process.AwaitOK(ctx, "http://"+admin+"/readyz", backend, edge); err != nil {
		return subject{}, err
	}
	header := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"large"}}
	meta := `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	return subject{language, mcp, backend.Pid(), calling(mcp, header, meta)}, nil
}

// alone starts the official server that stands beside a language. It has no sessions, and answers with JSON.
func (s *stage) alone(ctx context.Context, language string) (subject, error) {
	d := direct[language]
	dir := filepath.Join(s.dir, language)
	in := strings.NewReplacer("{dir}", dir)
	if err := shell(ctx, in.Replace(d.install)); err != nil {
		return subject{}, fmt.Errorf("%s cannot be installed: %w", d.name, err)
	}
	addrs, err := process.FreeAddrs(1)
	if err != nil {
		return subject{}, err
	}
	_, port, _ := strings.Cut(addrs[0], ":")
	var command []string
	for _, word := range append(d.command, port) {
		command = append(command, in.Replace(word))
	}
	server, err := s.run("alone-"+language, command[0], command[1:]...)
	if err != nil {
		return subject{}, err
	}
	if err := process.AwaitListening(ctx, addrs[0], server); err != nil {
		return subject{}, fmt.Errorf("%w\n%s", err, server.Tail())
	}
	return subject{d.name + ", alone", addrs[0], server.Pid(), calling(addrs[0], http.Header{"Mcp-Protocol-Version": {"2025-06-18"}}, "")}, nil
}

// shell runs commands in the root of the repository. Its error has what they said.
func shell(ctx context.Context, commands string) error {
	if text, err := exec.CommandContext(ctx, "sh", "-c", commands).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

// calling is the call of the tool, which gives as many x as it is asked for.
func calling(addr string, header http.Header, meta string) load.Call {
	header["Content-Type"] = []string{"application/json"}
	header["Accept"] = []string{"application/json, text/event-stream"}
	body := `{"jsonrpc":"2.0","id":` + load.IDPlaceholder + `,"method":"tools/call","params":{"name":"large","arguments":{"bytes":8}` + meta + `}}`
	return load.Wanting(load.Prepare(http.MethodPost, addr, "/mcp", header, body), `"text":"xxxxxxxx"`, 0)
}

// run starts a process whose output is in a file of the stage.
func (s *stage) run(name, program string, args ...string) (*process.Process, error) {
	p, err := process.Start(name, program, filepath.Join(s.dir, name+".log"), args...)
	if err == nil {
		s.running = append(s.running, p)
	}
	return p, err
}

// stop ends what runs, the last first.
func (s *stage) stop() error {
	var err error
	for i := len(s.running) - 1; i >= 0; i-- {
		err = errors.Join(err, s.running[i].Stop())
	}
	return err
}

// residentMiB reads the resident memory of a process from the kernel (Linux).
func residentMiB(pid int) (float64, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(text), "VmRSS:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0, fmt.Errorf("process %d tells no resident memory", pid)
	}
	kib, err := strconv.ParseFloat(fields[0], 64)
	return kib / 1024, err
}
