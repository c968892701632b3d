package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// settled is an edge that does not run, whose settings file is read on demand.
type settled struct {
	*App
	t    *testing.T
	file string
	log  *bytes.Buffer
}

// settle makes an edge from a file of settings.
func settle(t *testing.T, file, text string) *settled {
	t.Helper()
	s := &settled{t: t, file: file, log: new(bytes.Buffer)}
	s.write(text)
	cfg, err := config.Load("serve", []string{"--config", file}, func(string) (string, bool) { return "", false }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if s.App, err = New(cfg, slog.New(slog.NewTextHandler(s.log, nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.pool.Close)
	return s
}

// at returns the name of a file of settings in a folder of its own.
func at(t *testing.T) string { return filepath.Join(t.TempDir(), "edge.yaml") }

func (s *settled) write(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// read reads the file so often that what it has is in force, or refused.
func (s *settled) read() {
	for range 2 {
		s.refreshSettings(context.Background())
	}
}

// has fails the test unless the generation of a number is in force, with these backends.
func (s *settled) has(number int64, backends ...string) {
	s.t.Helper()
	var names []string
	for _, b := range s.pool.Backends() {
		names = append(names, b.Name())
	}
	if g := s.current.Load(); g.number != number || !slices.Equal(names, backends) {
		s.t.Errorf("generation %d with %q is in force, want %d with %q\n%s", g.number, names, number, backends, s.log)
	}
}

const oneBackend = "- {name: one, target: '127.0.0.1:1'}\n"

// What a file has is in force as a whole once two readings of it are equal: backends in their order,
// catalog, policy and quotas. The number and the digest are in the status, in records and in the
// log.
func TestGenerationIsInForceAsAWhole(t *testing.T) {
	s := settle(t, at(t), "backends:\n"+oneBackend+"- {name: two, target: '127.0.0.1:2'}\npolicy: {default: allow}\nquotas: [{per: tool, rate: 1/h}]\n")
	s.read()
	s.has(1, "one", "two")
	before, first := s.pool.Backends(), s.settings.status.Load()
	if first.Generation != 1 || len(first.Digest) != 64 || s.recorded() != first.Digest[:12] || first.Since.IsZero() {
		t.Errorf("at the start the status is %+v, records have %q", first, s.recorded())
	}
	policy := s.access.Policy()
	s.write("backends:\n- {name: three, target: '127.0.0.1:3'}\n- {name: two, target: '127.0.0.1:4'}\n" + oneBackend +
		"policy: {default: deny}\nquotas: [{per: tool, rate: 2/h}]\ncatalog: {tools: [{backend: three, tool: x, hide: true}]}\n")
	s.refreshSettings(t.Context())
	s.has(1, "one", "two")
	s.refreshSettings(t.Context())
	s.has(2, "three", "two", "one")
	if after := s.pool.Backends(); after[2] != before[0] || after[1] == before[1] {
		t.Error("want the changed backend replaced, and the other one kept")
	}
	if s.access.Policy() == policy || s.access.Policy().ID() != s.current.Load().Policy.ID() {
		t.Error("the policy is that of before")
	}
	now := s.settings.status.Load()
	if now.Generation != 2 || now.Digest == first.Digest || s.recorded() != now.Digest[:12] || now.Since.Before(first.Since) || now.Unusable != nil {
		t.Errorf("the status is %+v, records have %q", now, s.recorded())
	}
	if log := s.log.String(); !strings.Contains(log, `changed="backends, catalog, policy, quotas"`) || !strings.Contains(log, "digest="+s.recorded()) {
		t.Errorf("it is not logged what changed:\n%s", log)
	}
	policy = s.access.Policy()
	s.write("# The same.\n" + "backends:\n- {name: three, target: '127.0.0.1:3'}\n- {name: two, target: '127.0.0.1:4'}\n" + oneBackend +
		"policy: {default: deny}\nquotas: [{per: tool, rate: 2/h}]\ncatalog: {tools: [{backend: three, tool: x, hide: true}]}\n")
	s.read()
	s.has(2, "three", "two", "one")
	s.write("backends:\n- {name: three, target: '127.0.0.1:3'}\npolicy: {default: deny}\nquotas: [{per: tool, rate: 2/h}]\ncatalog: {}\n")
	s.read()
	s.has(3, "three")
	if s.access.Policy() != policy {
		t.Error("a policy that did not change is replaced, and its counts with it")
	}
	if p, q, c := s.exchanges.policy.Load(), s.exchanges.quotas.Load(), s.exchanges.catalog.Load(); p != 1 || q != 1 || c != 2 {
		t.Errorf("the policy was replaced %d times, the quotas %d times, the catalog %d times", p, q, c)
	}
}

// A caller has the claims that the policy in force inspects, also while another one is put in force
// that inspects others: no request is allowed that both deny.
func TestClaimsOfBothGenerationsAreKept(t *testing.T) {
	id := issuer.Serve(t)
	text := func(claim string) string {
		return "listen: {public-url: https://mcp.example.com}\nbackends:\n" + oneBackend + "auth: {issuers: [{issuer: '" + id.URL + "'}]}\n" +
			"policy: {default: allow, rules: [{name: r, when: has(principal.claims." + claim + "), then: deny}]}\n"
	}
	s := settle(t, at(t), text("suspended"))
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header.Set("Authorization", "Bearer "+id.Token("ann", "https://mcp.example.com", map[string]any{"suspended": true, "blocked": true}))
	tool := policy.Target{Kind: policy.Tool, Method: mcp.MethodToolsCall, Name: "t", Backend: "one"}
	s.auth.Start(t.Context())
	t.Cleanup(s.auth.Wait)
	await.Until(t, "the keys of the issuer", func() bool { _, denial := s.auth.Authenticate(r); return denial == nil })
	decide := func() error {
		inForce := s.access.Policy()
		who, denial := s.auth.Authenticate(r)
		if denial != nil {
			return fmt.Errorf("not authenticated: %+v", denial)
		}
		_, err := s.access.InForce().Decide(t.Context(), revision.Stateless(), &mcp.Call{Principal: who}, &tool, func() (map[string]any, error) { return nil, nil })
		if s.access.Policy() == inForce && (err == nil || mcp.AsError(err).Kind != mcp.KindForbidden) {
			return fmt.Errorf("with the claims %s: %w", who.Claims, cmp.Or(err, errors.New("allowed")))
		}
		return nil
	}
	if err := decide(); err != nil {
		t.Fatal(err)
	}
	for i := range 500 { // feeds of callers with other claims, which an exchange compares before and after
		claims := map[string]json.RawMessage{"suspended": json.RawMessage(strconv.Itoa(i)), "blocked": json.RawMessage(strconv.Itoa(i))}
		feed, err := s.dispatch.Changes(t.Context(), "", mcp.Principal{Issuer: "i", Subject: strconv.Itoa(i), Claims: claims}, mcp.Filter{Tools: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(feed.Close)
	}
	over, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(failed)
		for {
			if err := decide(); err != nil {
				failed <- err
				return
			}
			select {
			case <-over:
				return
			default:
			}
		}
	}()
	for i := range 20 {
		s.write(text([]string{"blocked", "suspended"}[i%2]))
		s.read()
	}
	close(over)
	if err := <-failed; err != nil {
		t.Error(err)
	}
	s.has(21, "one")
	who, _ := s.auth.Authenticate(r)
	if len(who.Claims) != 1 || who.Claims["suspended"] == nil {
		t.Errorf("in the end principals have the claims %s", who.Claims)
	}
}

// If a file of a backend, or of the policy server, cannot be opened, nothing is in force of what
// the settings changed, and nothing stays open. Once it can be, all of it is.
func TestGenerationNeedsItsFiles(t *testing.T) {
	ca := authority.New(t, "ca").PEM
	for text, want := range map[string]string{
		"- {name: new, target: '127.0.0.1:2', tls: {ca: needed}}\n":                                      ":3: backends.new.tls.ca: ",
		"- {name: new, target: '127.0.0.1:2', metadata: {x-key: {file: needed}}}\n":                      ":3: backends[1] new: metadata.x-key: file: ",
		"- {name: new, target: '127.0.0.1:2', kind: reflect, descriptor-set: needed}\n":                  ":3: backends[1] new: descriptor-set: ",
		"policy: {default: deny, external: {target: '127.0.0.1:3', tls: {ca: needed}}}\n":                ":3: policy.external.tls.ca: ",
		"- {name: new, target: '127.0.0.1:2', tls: {}}\n- {name: x, target: 'h:1', tls: {ca: needed}}\n": ":4: backends.x.tls.ca: ",
	} {
		s := settle(t, at(t), "backends:\n"+oneBackend+"policy: {default: allow}\n")
		before, policy := s.pool.Backends(), s.access.Policy()
		whole := "backends:\n" + oneBackend + text
		if !strings.Contains(text, "policy") {
			whole += "policy: {default: deny}\n"
		}
		s.write(whole)
		s.read()
		s.has(1, "one")
		if s.pool.Backends()[0] != before[0] || s.access.Policy() != policy || len(s.tls.Sources()) > 0 {
			t.Errorf("%s: a part of it is in force, or %d files are open", text, len(s.tls.Sources()))
		}
		if now := s.settings.status.Load(); now.Unusable == nil || !strings.Contains(now.Unusable.Error(), s.file+want) || !s.settings.stale.Load() {
			t.Errorf("%s: the status says %v, want %s", text, now.Unusable, want)
		}
		if n := strings.Count(s.log.String(), "cannot be used"); n != 1 {
			t.Errorf("%s: it is logged %d times:\n%s", text, n, s.log)
		}
		content := []byte(ca)
		if strings.Contains(text, "descriptor-set") {
			content = nil
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(s.file), "needed"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "metadata") || content == nil {
			continue // A certificate is no value of metadata, and an empty file no descriptor set.
		}
		s.read()
		if s.current.Load().number != 2 || s.settings.stale.Load() || s.access.Policy() == policy {
			t.Errorf("%s: once the file is there, it is not in force:\n%s", text, s.log)
		}
	}
}

// A comment above a rule or a set of an owner makes no generation, and the log names the lines as they are then.
func TestLinesOfOwnersMove(t *testing.T) {
	file := at(t)
	own := filepath.Join(filepath.Dir(file), "own.yaml")
	const text = "policy: {rules: [{name: x, when: arguments.n == 1, then: deny}]}\nsets: {a: {include: {tools: [x]}, when: principal.claims.n == 1}}\n"
	write := func(text string) {
		if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	s := settle(t, file, "policy: {default: allow}\nbackends:\n"+oneBackend+"include: [{name: own, file: own.yaml, owns: {backends: [one], sets: [a]}, may: [policy, sets]}]\n")
	refused := func() string {
		target := &policy.Target{Kind: policy.Tool, Method: mcp.MethodToolsCall, Name: "t", Backend: "one"}
		d, err := s.access.Policy().Decide(&mcp.Principal{Subject: "alice"}, target, func() (map[string]any, error) { return nil, nil })
		if err != nil || d.Err == nil {
			t.Fatalf("%+v, %v", d, err)
		}
		return d.Err.Error()
	}
	s.read()
	if got := refused(); !strings.HasPrefix(got, own+":1: ") || s.current.Load().Sets["a"].Place != own+":2" {
		t.Errorf("at the start: %s, %s", got, s.current.Load().Sets["a"].Place)
	}
	write("# a comment\n" + text)
	s.read()
	s.has(1, "one")
	if got := refused(); !strings.HasPrefix(got, own+":2: ") || s.current.Load().Sets["a"].Place != own+":3" {
		t.Errorf("with a comment: %s, %s", got, s.current.Load().Sets["a"].Place)
	}
	if n := s.gone.with(s.current.Load().Policy)["own/x"]; n.denied+n.failed < 2 {
		t.Errorf("the counts are %+v", n)
	}
}

// The files of a backend stay open while it stays, and are closed when it goes.
func TestFilesOfBackends(t *testing.T) {
	file := at(t)
	authority.File(t, filepath.Join(filepath.Dir(file), "ca.crt"), authority.New(t, "ca").PEM)
	const secure = "- {name: secure, target: '127.0.0.1:2', tls: {ca: ca.crt}%s}\n"
	s := settle(t, file, "backends:\n"+fmt.Sprintf(secure, ""))
	before := s.tls.Sources()
	s.write("backends:\n" + oneBackend + fmt.Sprintf(secure, ""))
	s.read()
	s.has(2, "one", "secure")
	if got := s.tls.Sources(); !slices.Equal(got, before) {
		t.Error("the files of a backend that stays are opened again")
	}
	s.write("backends:\n" + oneBackend + fmt.Sprintf(secure, ", timeout: 3s"))
	s.read()
	s.has(3, "one", "secure")
	if got := s.tls.Sources(); len(got) != 1 || got[0] == before[0] {
		t.Errorf("%d files are open after it was changed", len(got))
	}
	s.write("backends:\n" + oneBackend)
	s.read()
	s.has(4, "one")
	if got := s.tls.Sources(); len(got) != 0 {
		t.Errorf("%d files are open after it was removed", len(got))
	}
}

// A file that is being written changes nothing, though what it has so far may be valid.
func TestHalfWrittenFile(t *testing.T) {
	const whole = "backends:\n" + oneBackend + "- {name: two, target: '127.0.0.1:2'}\n"
	s := settle(t, at(t), whole)
	before := slices.Clone(s.pool.Backends())
	for n := range len(whole) {
		s.write(whole[:n])
		s.refreshSettings(t.Context())
		s.write(whole)
		s.refreshSettings(t.Context())
	}
	s.read()
	s.has(1, "one", "two")
	if !slices.Equal(s.pool.Backends(), before) || s.settings.stale.Load() || strings.Contains(s.log.String(), "cannot be used") {
		t.Errorf("a file that was being written had an effect:\n%s", s.log)
	}
}

// The file is found by its name at each reading: Kubernetes replaces the folder that a link leads
// to, and editors replace the file, or remove it for a moment.
func TestFileThatIsReplaced(t *testing.T) {
	dir := t.TempDir()
	text := func(n int) string { return fmt.Sprintf("backends:\n- {name: b%d, target: '127.0.0.1:1'}\n", n) }
	mount := func(n int) {
		t.Helper()
		version := filepath.Join(dir, fmt.Sprintf("..version%d", n))
		next, data := filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")
		for _, err := range []error{
			os.Mkdir(version, 0o700), os.WriteFile(filepath.Join(version, "edge.yaml"), []byte(text(n)), 0o600),
			os.Symlink(filepath.Base(version), next), os.Rename(next, data),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	mount(1)
	file := filepath.Join(dir, "edge.yaml")
	if err := os.Symlink(filepath.Join("..data", "edge.yaml"), file); err != nil {
		t.Fatal(err)
	}
	s := settle(t, file, text(1))
	mount(2)
	if err := os.RemoveAll(filepath.Join(dir, "..version1")); err != nil {
		t.Fatal(err)
	}
	s.read()
	s.has(2, "b2")

	if err := os.Rename(file, file+"~"); err != nil {
		t.Fatal(err)
	}
	s.refreshSettings(t.Context())
	other := filepath.Join(dir, ".edge.yaml.swp")
	if err := os.WriteFile(other, []byte(text(3)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, file); err != nil {
		t.Fatal(err)
	}
	s.read()
	s.has(3, "b3")
	if s.settings.stale.Load() || strings.Contains(s.log.String(), "cannot be used") {
		t.Errorf("it is reported as unusable:\n%s", s.log)
	}
}

// A key that takes a restart is warned of once, with its line, and keeps nothing else from being in
// force; a mistake is logged once until there is another.
func TestKeysThatTakeARestart(t *testing.T) {
	s := settle(t, at(t), "backends:\n"+oneBackend)
	warnings := func(want ...string) {
		t.Helper()
		var got []string
		for line := range strings.Lines(s.log.String()) {
			if _, rest, ok := strings.Cut(line, "restart the edge to put it in force"); ok {
				_, key, _ := strings.Cut(rest, " key=")
				got = append(got, strings.TrimSpace(key))
			}
		}
		if s.log.Reset(); !slices.Equal(got, want) {
			t.Errorf("warned of %q, want %q", got, want)
		}
	}
	s.write("backends:\n" + oneBackend + "- {name: two, target: '127.0.0.1:2'}\nshutdown: {grace: 1m}\nredis: {url: 'redis://h:1'}\n")
	s.read()
	s.read()
	s.has(2, "one", "two")
	warnings("redis.url place="+s.file+":5", "shutdown.grace place="+s.file+":4")
	if keys := s.settings.status.Load().Restart; !slices.Equal(keys, []string{"redis.url", "shutdown.grace"}) {
		t.Errorf("the status names %q", keys)
	}
	s.write("backends:\n" + oneBackend + "shutdown: {grace: 2m}\nquotas: [{per: tool, rate: 1/h}]\n")
	s.read()
	s.has(3, "one")
	warnings("quotas place=" + s.file + ":4")
	for _, bad := range []string{"nonsense: 1\n", "other: 1\n"} {
		s.write("backends:\n" + bad)
		s.read()
		s.read()
		if n := strings.Count(s.log.String(), "cannot be used"); n != 1 {
			t.Errorf("%q is logged %d times:\n%s", bad, n, s.log)
		}
		s.log.Reset()
	}
	s.write("backends:\n" + oneBackend)
	s.read()
	s.has(3, "one")
	if log := s.log.String(); !strings.Contains(log, "can be used again") || !strings.Contains(log, "waits for a restart any more") {
		t.Error(log)
	}
}

// A warning that settings cause at the start is logged when a change causes it, and not again.
func TestWarningsOfChanges(t *testing.T) {
	s := settle(t, at(t), "backends:\n"+oneBackend)
	s.log.Reset()
	s.write("backends:\n" + oneBackend + "- {name: two, target: 'h'}\n")
	s.read()
	s.write("backends:\n" + oneBackend + "- {name: two, target: 'h', timeout: 3s}\n")
	s.read()
	s.has(3, "one", "two")
	if n := strings.Count(s.log.String(), "has no port"); n != 1 {
		t.Errorf("warned %d times:\n%s", n, s.log)
	}
}

// Settings that were made in code, with a file for some of them, keep their own backends.
func TestFileWithoutBackends(t *testing.T) {
	file := at(t)
	cfg := config.Default()
	cfg.Backends, cfg.File = []config.Backend{{Name: "own", Target: "127.0.0.1:1"}}, file
	cfg.Policy = &config.Policy{Default: "allow"}
	if err := os.WriteFile(file, []byte("policy: {default: allow}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.pool.Close()
	s := &settled{App: a, t: t, file: file, log: new(bytes.Buffer)}
	s.read()
	s.has(1, "own")
	own := s.pool.Backends()[0]
	s.write("policy: {default: deny}\n")
	s.read()
	s.has(2, "own")
	if s.pool.Backends()[0] != own {
		t.Error("its backend was replaced")
	}
}

// After a rollback and a repair of the file no earlier settings are kept, and the error of another rollback says so.
func TestRollBackAfterARepair(t *testing.T) {
	file := at(t)
	const first = "backends:\n" + oneBackend + "policy: {default: allow}\n"
	s := settle(t, file, first)
	s.read()
	s.write("backends:\n" + oneBackend + "policy: {default: deny}\n")
	s.read()
	if err := s.RollBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.write(first)
	s.read()
	if err := s.RollBack(t.Context()); err == nil || s.settings.status.Load().RolledBack ||
		!strings.Contains(err.Error(), "the settings in force are those of the last rollback, and the file has the same") {
		t.Errorf("with a repaired file: %v", err)
	}
}

// The log names the file that has changed: that of the settings, an included one, or that of the lock.
func TestTheLogNamesTheChangedFile(t *testing.T) {
	file := at(t)
	dir := filepath.Dir(file)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("team.yaml", "catalog: {tools: [{tool: a, title: A}]}\n")
	write("lock.json", `{"definitions":[]}`)
	const settings = "backends:\n" + oneBackend + "catalog-lock: {file: lock.json}\npolicy: {default: allow}\ninclude: [{file: team.yaml, owns: {backends: [one]}, may: [catalog]}]\n"
	s := settle(t, file, settings)
	for name, text := range map[string]string{
		"team.yaml":         "catalog: {tools: [{tool: a, title: B}]}\n",
		"lock.json":         `{"definitions":[{"backend":"one","tool":"a"}]}`,
		filepath.Base(file): strings.Replace(settings, "allow", "deny", 1),
	} {
		s.log.Reset()
		write(name, text)
		s.read()
		if log := s.log.String(); !strings.Contains(log, "changed settings are in force") || !strings.Contains(log, "files="+filepath.Join(dir, name)) {
			t.Errorf("%s: the log is %s", name, log)
		}
	}
}

// The settings before are in force again until the content of the file changes. There is one step
// back, and none from what cannot be opened any more.
func TestRollBack(t *testing.T) {
	file := at(t)
	s := settle(t, file, "backends:\n"+oneBackend+"policy: {default: allow}\n")
	s.read()
	if err := s.RollBack(t.Context()); err == nil || !strings.Contains(err.Error(), "no other settings were in force") {
		t.Errorf("at the start: %v", err)
	}
	first := s.settings.status.Load()
	const second = "backends:\n" + oneBackend + "- {name: two, target: '127.0.0.1:2'}\npolicy: {default: deny}\n"
	s.write(second)
	s.read()
	s.has(2, "one", "two")
	if now := s.settings.status.Load(); now.Previous != first.Digest || now.RolledBack {
		t.Errorf("the status is %+v", now)
	}
	if err := s.RollBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.has(3, "one")
	if now := s.settings.status.Load(); now.Digest != first.Digest || !now.RolledBack || now.Previous != "" || now.Unusable != nil {
		t.Errorf("the status is %+v", now)
	}
	if s.access.Policy().ID() != s.current.Load().Policy.ID() || s.recorded() != first.Digest[:12] {
		t.Error("the policy, or the digest in records, is another")
	}
	s.read()
	s.has(3, "one")
	if err := s.RollBack(t.Context()); err == nil || !strings.Contains(err.Error(), "rolled back already") {
		t.Errorf("the second time: %v", err)
	}
	s.write("nonsense: 1\n")
	s.read()
	s.has(3, "one")
	if s.settings.status.Load().Unusable == nil || !s.settings.stale.Load() {
		t.Error("a file that cannot be used is not reported")
	}
	if err := s.RollBack(t.Context()); err == nil || !strings.Contains(err.Error(), "only one step back is possible; the files cannot be used now, so they have no effect: repair them: ") {
		t.Errorf("while a file cannot be used: %v", err)
	}
	s.write(second)
	s.read()
	s.has(3, "one") // The file is as it was rolled back from.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s.read()
	s.write(second)
	s.read()
	s.has(3, "one")
	if now := s.settings.status.Load(); now.Unusable != nil || s.settings.stale.Load() || !now.RolledBack {
		t.Errorf("with the file as it was the status is %+v", now)
	}
	s.write("# Changed.\n" + second)
	s.read()
	s.has(4, "one", "two")
	if now := s.settings.status.Load(); now.RolledBack || now.Previous != first.Digest {
		t.Errorf("the status is %+v", now)
	}

	ca := filepath.Join(filepath.Dir(file), "ca.crt")
	authority.File(t, ca, authority.New(t, "ca").PEM)
	s.write(second + "catalog: {}\n")
	s.read()
	s.write("backends:\n- {name: secure, target: '127.0.0.1:3', tls: {ca: ca.crt}}\npolicy: {default: deny}\ncatalog: {}\n")
	s.read()
	s.has(6, "secure")
	s.write(second + "catalog: {}\n")
	s.read()
	s.has(7, "one", "two")
	if err := os.Remove(ca); err != nil {
		t.Fatal(err)
	}
	if err := s.RollBack(t.Context()); err == nil || !strings.Contains(err.Error(), "backends.secure.tls.ca") {
		t.Errorf("without a file that it needs: %v", err)
	}
	s.has(7, "one", "two")
}

// Once the file has what the edge was rolled back to, nothing is rolled back any more.
func TestRollBackEndsWithTheFileBefore(t *testing.T) {
	s := settle(t, at(t), "backends:\n"+oneBackend)
	s.read()
	s.write("backends:\n" + oneBackend + "- {name: two, target: '127.0.0.1:2'}\n")
	s.read()
	if err := s.RollBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.log.Reset()
	s.read()
	if now := s.settings.status.Load(); !now.RolledBack || s.log.Len() > 0 {
		t.Errorf("the file has not changed, and the status is %+v\n%s", now, s.log)
	}
	s.write("backends:\n" + oneBackend + "# As it was.\n")
	s.read()
	s.has(3, "one")
	if now := s.settings.status.Load(); now.RolledBack || strings.Count(s.log.String(), "the file of settings now has the settings of the rollback") != 1 {
		t.Errorf("the status is %+v\n%s", now, s.log)
	}
}

// A file that is unreadable for a while and returns as it was does not undo a rollback, and neither
// does a file that was no good when the settings were rolled back and would be good now.
func TestRollBackStaysInForce(t *testing.T) {
	s := settle(t, at(t), "backends:\n"+oneBackend)
	const second = "backends:\n" + oneBackend + "- {name: two, target: '127.0.0.1:2'}\n"
	s.read()
	s.write(second)
	s.read()
	held := func(number int64, unusable bool) {
		t.Helper()
		s.read()
		s.has(number, "one")
		if now := s.settings.status.Load(); !now.RolledBack || (now.Unusable != nil) != unusable || s.settings.stale.Load() != unusable {
			t.Errorf("the status is %+v\n%s", now, s.log)
		}
	}
	away := func() {
		t.Helper()
		if err := os.Remove(s.file); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RollBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	away()
	held(3, true)
	s.write(second)
	held(3, false)

	s.write("# Changed.\n" + second)
	s.read()
	s.has(4, "one", "two")
	const secure = "backends:\n- {name: secure, target: '127.0.0.1:3', tls: {ca: ca.crt}}\n"
	s.write(secure)
	s.read()
	if err := s.RollBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	held(5, true)
	authority.File(t, filepath.Join(filepath.Dir(s.file), "ca.crt"), authority.New(t, "ca").PEM)
	held(5, true)
	away()
	held(5, true)
	s.write(secure)
	held(5, true)
	if why := s.settings.status.Load().Unusable.Error(); !strings.Contains(why, "ca.crt") {
		t.Errorf("the file cannot be used: %s", why)
	}
	s.write("# Now it is there.\n" + secure)
	s.read()
	s.has(6, "secure")
	if now := s.settings.status.Load(); now.RolledBack || now.Unusable != nil {
		t.Errorf("the status is %+v", now)
	}
}

// A request to read the file again is answered in the log once: by what the reading finds, or else by
// how it is.
func TestRequestedReadingIsLoggedOnce(t *testing.T) {
	s := settle(t, at(t), "backends:\n"+oneBackend)
	s.read()
	logged := func(want string) {
		t.Helper()
		s.log.Reset()
		s.rereadSettings(t.Context())
		if got := s.log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
			t.Errorf("%q is logged, want one line with %q", got, want)
		}
	}
	logged("asked to read the settings again: the file was read and is in force")
	s.write("backends:\n- {name: two, target: '127.0.0.1:2'}\n")
	logged(`msg="changed settings are in force"`)
	if err := s.RollBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	logged("asked to read the settings again: the file has not changed since the rollback: the settings of the rollback stay in force until it changes")
	s.write("nonsense: 1\n")
	logged(`msg="the file of settings cannot be used: what was read before stays in force"`)
	logged("asked to read the settings again: the file cannot be used, and what was read before stays in force")
	s.write("backends:\n" + oneBackend + "lists: {page-size: 7}\n")
	s.rereadSettings(t.Context())
	logged("asked to read the settings again: the file was read, and these keys take a restart")
	s.write("backends:\n" + oneBackend)
	logged(`msg="no key of the file of settings waits for a restart any more"`)
}
