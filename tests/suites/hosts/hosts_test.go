//go:build hosts

package hosts

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// patience limits a run of a host.
const patience = 3 * time.Minute

// tokenEnv is the variable from which hosts take the key.
const tokenEnv = "EDGE_KEY"

// run is a host at work: its home, the fleet before it, and what it printed.
type run struct {
	program
	t     *testing.T
	fleet *fleet
	rec   *recorder
	home  string
	// bin has the folders of programs, as PATH has them.
	bin string
	env []string
}

// newRun makes an empty home and lets mcpedge install write into it. key is empty for an edge that is open. flags replace those for the URL.
func newRun(t *testing.T, p program, f *fleet, bin, key string, flags ...string) *run {
	t.Helper()
	r := &run{program: p, t: t, fleet: f, rec: record(t, f), home: t.TempDir(), bin: bin}
	if err := os.Mkdir(filepath.Join(r.home, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { endLeft(r.home) })
	r.env = append(r.env, "HOME="+r.home, "PATH="+bin+":"+os.Getenv("PATH"), "LANG=C.UTF-8", "NO_COLOR=1")
	if p.before != nil {
		p.before(t, r.home)
	}
	args := []string{binary(t), "install", p.name, "--write"}
	if flags == nil {
		flags = []string{"--url", r.rec.url}
	}
	args = append(args, flags...)
	if key != "" && p.keyed == nil {
		r.env = append(r.env, tokenEnv+"="+key)
		args = append(args, "--token-env", tokenEnv)
	}
	if out, err := r.execute(r.env, args...); err != nil {
		t.Fatalf("mcpedge install: %v\n%s", err, out)
	}
	if key != "" && p.keyed != nil {
		p.keyed(t, r.home, key)
	}
	return r
}

// execute runs a command in the home.
func (r *run) execute(env []string, args ...string) (string, error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	for _, folder := range filepath.SplitList(r.bin) {
		if found := filepath.Join(folder, args[0]); !strings.Contains(args[0], "/") && exists(found) {
			cmd.Path, cmd.Err = found, nil
			break
		}
	}
	cmd.Dir, cmd.Env = filepath.Join(r.home, "work"), env
	process.Bind(cmd)
	cmd.Cancel = func() error { return process.KillGroup(cmd) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return colours.ReplaceAllString(string(out), ""), err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// colours are control sequences of terminals.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// environment is that of the host with a model.
func (r *run) environment(model string) []string {
	if r.program.env == nil {
		return r.env
	}
	return append(slices.Clone(r.env), r.program.env(model)...)
}

// job is a host that follows a script.
type job struct {
	*run
	model *model
	done  chan struct{}
	out   string
	err   error
}

// start lets the host follow a script. The caller calls wait.
func (r *run) start(prompt string, script ...step) *job {
	r.t.Helper()
	j := &job{run: r, model: startModel(r.t, r.script(script...)...), done: make(chan struct{})}
	if r.settings != nil {
		r.settings(r.t, r.home, j.model.url)
	}
	go func() {
		defer close(j.done)
		j.out, j.err = r.execute(r.environment(j.model.url), r.command(prompt, j.model.url)...)
	}()
	return j
}

// wait returns the results that the model got.
func (j *job) wait() []string {
	j.t.Helper()
	<-j.done // by patience
	results := j.model.said()
	j.t.Logf("it printed (%v):\n%s\nits model got %.1500q", j.err, j.out, results)
	return results
}

// saw reports whether the edge received a request that fits and answered it with a status of success.
func (r *run) saw(fits func(request) bool) bool {
	return slices.ContainsFunc(r.rec.requests(), func(q request) bool { return q.status/100 == 2 && fits(q) })
}

func (r *run) sawMethod(method, name string) bool {
	return r.saw(func(q request) bool { return q.method == method && (name == "" || q.name == name) })
}

// has reports whether one of the results has a text.
func has(results []string, text string) bool {
	return slices.ContainsFunc(results, func(r string) bool { return strings.Contains(r, text) })
}

// TestHosts drives each host, and compares what it did with its row in docs/hosts.md.
func TestHosts(t *testing.T) {
	bin := installed(t)
	w := newWorld(t)
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			seen := cells{}
			r := newRun(t, p, w.open, bin, "")
			notes := r.open(seen)
			r.lose(w.backend, seen, "drain")
			r.lose(w.backend, seen, "kill")
			newRun(t, p, w.locked, bin, w.key).again(seen, "key")
			newRun(t, p, w.open, bin, "", "--stdio", "--", "--backend", w.served).again(seen, "stdio")
			if p.keyed != nil {
				notes = append(notes, fmt.Sprintf("- %s: key: with the key in its file, added by hand: it reads no environment variables there.", p.title))
			}
			for _, q := range r.rec.requests() {
				t.Logf("%+v", q)
			}
			revisions := r.revisions()
			row, more := p.row(t, revisions, seen)
			compare(t, "table", append([]string{"revision"}, features...), p.title, row, append(notes, more...))
		})
	}
}

// checked reports whether the host says so, if it has a check of its own.
func (r *run) checked() bool {
	r.t.Helper()
	if r.health == nil {
		return true
	}
	out, err := r.execute(r.environment(""), r.health...)
	if !strings.Contains(out, r.connected) {
		r.t.Logf("%q says (%v):\n%s", r.health, err, out)
		return false
	}
	return true
}

// open fills the cells of an open edge, and returns notes.
func (r *run) open(seen cells) (notes []string) {
	script := []step{{"say_back", object{"text": "one"}}, {"count_up", object{}}, {"ask_name", object{}}}
	if r.reads.tool != "" {
		script = append(script, r.reads)
	}
	healthy := r.checked()
	j := r.start("Begin.", script...)
	results := j.wait()
	seen.see("connect", healthy && (r.sawMethod("initialize", "") || r.sawMethod("server/discover", "")))
	seen.see("list", r.sawMethod("tools/list", "") && has(results, "said one"))
	seen.see("call", r.sawMethod("tools/call", "say_back") && has(results, "said one"))
	seen.see("progress", has(results, "counted") && r.saw(func(q request) bool { return q.name == "count_up" && q.wantsProgress }))
	seen.see("resources", r.sawMethod("resources/read", note) && has(results, "noted"))
	for _, q := range r.rec.requests() {
		if q.action != "" {
			seen["ask"] = yes
			notes = append(notes, fmt.Sprintf("- %s: ask: without a terminal, it answers every question with `%s`.", r.title, q.action))
		}
	}
	if r.health == nil {
		notes = append(notes, fmt.Sprintf("- %s: connect: it has no command that checks its servers; seen in its runs.", r.title))
	}
	if r.prompts != "" {
		r.start(r.prompts).wait()
	}
	seen.see("prompts", r.sawMethod("prompts/get", prompt))
	return notes
}

// again fills the cell of another way to an edge.
func (r *run) again(seen cells, feature string) {
	healthy := r.checked()
	seen.see(feature, has(r.start("Begin.", step{"say_back", object{"text": "two"}}).wait(), "said two") && healthy)
}

// lose ends the replica that runs a call, and fills the cells of whether that call and the next one succeed.
func (r *run) lose(b *backend, seen cells, how string) {
	name := r.name + "-" + how
	g := b.gate(name)
	j := r.start("Begin.", step{"hold_on", object{"text": name}}, step{"say_back", object{"text": "after"}})
	select {
	case <-g.arrived:
	case <-j.done:
		close(g.open)
		j.wait()
		r.t.Errorf("%s: it ended before its call came", how)
		return
	}
	// After several events, the host has read the first, with the id that it needs to resume the stream: some lose what they have not read.
	// A host that asks for no progress gets the first when the edge opens the stream, and no more.
	await.Until(r.t, "the call has reported its progress five times, or its stream has begun", func() bool {
		return r.saw(func(q request) bool {
			return q.name == "hold_on" && q.took == 0 && (q.parts >= 5 || !q.wantsProgress && q.parts > 0)
		})
	})
	e := r.fleet.group[r.fleet.proxy.Busiest()]
	ended := make(chan error, 1)
	if how == "kill" {
		ended <- e.Kill()
	} else {
		go func() { ended <- e.Stop() }()
		await.Until(r.t, "the replica is not ready", func() bool {
			resp, err := http.Get("http://" + e.Admin + "/readyz")
			if err == nil {
				_ = resp.Body.Close()
			}
			return err != nil || resp.StatusCode != http.StatusOK
		})
	}
	close(g.open)
	if err := <-ended; err != nil {
		r.t.Error(err)
	}
	results := j.wait()
	if has(results, "said after") {
		if seen[how] = nextCall; has(results, "held") {
			seen[how] = yes
		}
	}
	r.fleet.restore(r.t, e)
}
