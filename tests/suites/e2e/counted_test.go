package e2e

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// countedPackages are those whose functions TestRequestIsResolvedOnce counts.
var countedPackages = []string{"edge/access", "edge/catalog", "edge/jsonrpc", "edge/policy"}

// TestRequestIsResolvedOnce: from the moment that a backend serves a request until it serves the next one, an equal one, the edge looks up
// one target, evaluates the rules once, and scans one message once, over every transport, with and without a session. On the way to gRPC
// a request passes few packages. The edge counts with the counters of coverage.
func TestRequestIsResolvedOnce(t *testing.T) {
	harness.OneProcess(t)
	program := filepath.Join(t.TempDir(), "counted")
	packages := "./counted," + module + strings.Join(countedPackages, ","+module) // The command itself has the counters written.
	build := exec.CommandContext(t.Context(), "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+packages, "-o", program, "./counted")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Run("HTTP", func(t *testing.T) {
		p := startCounted(t, program, "http")
		line, err := p.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		url := strings.TrimSpace(line)
		host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
		p.count(t, "2026-07-28", newStateless(t, url))
		p.count(t, "2025-11-25", newSession(t, url, vNov))
		p.count(t, "2024-11-05 over SSE", newSSE(t, &harness.Edge{Host: host}, "/sse"))
	})
	for _, version := range []string{v2026, vNov} {
		t.Run("stdio "+version, func(t *testing.T) {
			p := startCounted(t, program, "stdio")
			c := &viaStdio{t: t, edge: &harness.Stdio{In: p.in, Out: p.out}, out: bufio.NewScanner(p.out)}
			c.begin(version)
			p.count(t, version, c)
		})
	}
}

// module begins the import paths of the project.
const module = "github.com/mcpedge/mcpedge/"

// countedEdge is a running program of ./counted.
type countedEdge struct {
	dir string
	in  io.WriteCloser
	out *bufio.Reader
	// served is the number of requests that the backend has served.
	served int
}

func startCounted(t *testing.T, program, transport string) *countedEdge {
	t.Helper()
	e := &countedEdge{dir: t.TempDir()}
	cmd := exec.CommandContext(t.Context(), program, e.dir, transport)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir())
	var out io.ReadCloser
	var err error
	if e.in, err = cmd.StdinPipe(); err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	e.out = bufio.NewReader(out)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, e.out)
		_ = cmd.Wait()
	})
	return e
}

// count makes each request of a client twice, and compares what is counted between the two.
func (e *countedEdge) count(t *testing.T, name string, c asker) {
	for _, one := range []struct{ method, params, lookup string }{
		{"tools/call", `{"name":"look","arguments":{"text":"a"}}`, "toolOf"},
		{"prompts/get", `{"name":"look"}`, "promptOf"},
		{"resources/read", `{"uri":"count://look"}`, "locate"},
	} {
		t.Run(name+" "+one.method, func(t *testing.T) {
			var before, after map[string]int
			for range 2 {
				if got := string(c.ask(one.method, one.params).want(200).body); !strings.Contains(got, "all is counted") {
					t.Fatal(got)
				}
				e.served++
				before, after = after, e.counters(t)
			}
			for function, want := range map[string]int{
				"catalog.(*Catalog).Resolve": 1, "catalog.(*View)." + one.lookup: 1, "catalog.(*views).forCall": 1,
				"access.(*Decider).Decide": 1, "policy.(*Policy).Decide": 1, "policy.(*Policy).Explain": 1,
				"jsonrpc.(*scanner).envelope": 1,
			} {
				now, known := after[function]
				if !known {
					t.Fatalf("%s does not exist any more: name what does its work", function)
				}
				if got := now - before[function]; got != want {
					t.Errorf("%s runs %d times, want %d", function, got, want)
				}
			}
			t.Logf("%d names of members are read", after["jsonrpc.(*scanner).key"]-before["jsonrpc.(*scanner).key"])
			stacks, err := os.ReadFile(filepath.Join(e.dir, strconv.Itoa(e.served), "stacks"))
			if err != nil {
				t.Fatal(err)
			}
			if got := packagesOnTheWay(string(stacks)); len(got) == 0 || len(got) > mostOnTheWay {
				t.Errorf("the request passes %d packages, at most %d are wanted: %s", len(got), mostOnTheWay, strings.Join(got, ", "))
			}
		})
	}
}

// coveredBlock is a line of the text form of a coverage profile: the file, the line and column where the block begins, and its count.
var coveredBlock = regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(module) + `([^:]*):(\d+)\.(\d+),\S+ \d+ (\d+)$`)

// counters returns how often each function of countedPackages had run when the last request was served.
func (e *countedEdge) counters(t *testing.T) map[string]int {
	t.Helper()
	dir := filepath.Join(e.dir, strconv.Itoa(e.served))
	text := filepath.Join(dir, "text")
	if out, err := exec.CommandContext(t.Context(), "go", "tool", "covdata", "textfmt", "-i="+dir, "-o="+text).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	profile, err := os.ReadFile(text)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	begins := bodies(t)
	for _, m := range coveredBlock.FindAllStringSubmatch(string(profile), -1) {
		if name, ok := begins[m[1]+":"+m[2]+"."+m[3]]; ok {
			if counts[name], err = strconv.Atoi(m[4]); err != nil {
				t.Fatal(err)
			}
		}
	}
	return counts
}

// bodies returns the functions of countedPackages by where their bodies begin, as FILE:LINE.COLUMN.
func bodies(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range countedPackages {
		files, err := filepath.Glob(filepath.Join("../../..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
					at := set.Position(fn.Body.Lbrace)
					out[dir+"/"+filepath.Base(file)+":"+strconv.Itoa(at.Line)+"."+strconv.Itoa(at.Column)] = nameOf(filepath.Base(dir), fn)
				}
			}
		}
	}
	return out
}

// nameOf returns the name of a function as stacks have it: package.Function or package.(*Type).Method.
func nameOf(pkg string, fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return pkg + "." + fn.Name.Name
	}
	if p, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok {
		if id, ok := p.X.(*ast.Ident); ok {
			return pkg + ".(*" + id.Name + ")." + fn.Name.Name
		}
	}
	if id, ok := fn.Recv.List[0].Type.(*ast.Ident); ok {
		return pkg + "." + id.Name + "." + fn.Name.Name
	}
	return pkg + ".?." + fn.Name.Name
}
