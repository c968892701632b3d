package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/redact"
)

// Generation has the settings that a running edge replaces as a whole: its backends, the settings
// of discovered ones, its catalog, its sets, its policy, its hooks, its quotas and its redaction.
// It includes the files of other owners and the file of the lock. It is immutable.
type Generation struct {
	// Config has the settings that are in force with the generation: its own part, and everything
	// else as at the start.
	Config Config
	// Policy is nil without one, which allows everything.
	Policy *policy.Policy
	// Quotas are empty without any.
	Quotas []quota.Rule
	// Masker is nil if nothing is redacted.
	Masker *redact.Masker
	// Overlay is nil without a catalog.
	Overlay *overlay.Overlay
	// Sets are by name.
	Sets map[string]*OpenSet
	// Hooks are in the order of the settings.
	Hooks []OpenHook
	// Digest identifies the content in hexadecimal. It is equal on every replica that reads it.
	Digest string
	// Waiting are the keys that the file has changed since the start and that take a restart.
	Waiting []Waiting
}

// Waiting is a key of the settings file whose change takes a restart.
type Waiting struct {
	Key string
	// Place is the file and the line of the key, as in "edge.yaml:12". It is empty if the file does
	// not have the key any more.
	Place string
}

// Reader reads the generations of a running edge from the contents of its settings file. It is safe
// for concurrent use.
type Reader struct {
	// running has the settings at the start, and start those that the file had then.
	running, start Config
	// fixed are the running backends that are not in the file, such as those of the demo. They come
	// after the others.
	fixed []Backend
	taken []byte
	// included has the included files as they were read at the start.
	included Included
	// read is the content that Included has decoded last, with its settings. mu guards it.
	mu   sync.Mutex
	read struct {
		content []byte
		config  Config
	}
	// lock is the last reading of the file of the lock. mu guards it.
	lock lockReading
}

// NewReader returns the reader for an edge that starts with the given settings, which are valid.
func NewReader(running *Config) *Reader {
	r := &Reader{running: *running}
	r.running.ruled = running.Policy != nil || running.grantsPolicy()
	if p := running.origins; p != nil {
		r.taken, r.included = p.taken, p.included
	} else if running.File != "" { // Settings that were made in code, with a file.
		r.taken, _ = os.ReadFile(running.File)
	}
	r.start, _, _ = r.decode(r.taken) // An unreadable file has no keys.
	for _, b := range running.Backends {
		if !hasBackend(r.start.Backends, b.Name) {
			r.fixed = append(r.fixed, b)
		}
	}
	return r
}

func hasBackend(list []Backend, name string) bool {
	return slices.ContainsFunc(list, func(b Backend) bool { return b.Name == name })
}

// Taken returns the content of the file at the start; nil if there was none.
func (r *Reader) Taken() []byte { return r.taken }

// TakenIncluded returns the included files as they were read at the start.
func (r *Reader) TakenIncluded() Included { return r.included }

// Included reads the files that a content of the file includes, and that of its lock. It returns
// nil if the content cannot be decoded.
func (r *Reader) Included(content []byte) Included {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read.content == nil || !bytes.Equal(r.read.content, content) {
		c, _, err := r.decode(content)
		if err != nil || len(c.validateIncludes()) > 0 {
			c = Config{}
		}
		r.read.content, r.read.config = bytes.Clone(content), c
	}
	return r.read.config.readIncluded(&r.lock)
}

// First returns the generation of the settings at the start.
func (r *Reader) First() (*Generation, error) {
	return r.compile(r.running, r.start.Backends)
}

// Read returns the generation of a content of the file. in is the generation in force. An error has
// its place. It means that no part of the content may be used: an edge could not start with it, a
// running one cannot use it without a restart, or a section is missing. The file may be half
// written, and must not thereby remove a policy, quotas, a catalog, a redaction, or all backends.
//
// included has the files that the content includes. Each owner's files are used, or not,
// separately: see Config.Owners of the result. An unusable file of CatalogLock is an error.
//
// The errors contain no values of the file and no passwords of URLs.
func (r *Reader) Read(content []byte, included Included, in *Generation) (*Generation, error) {
	g, err := r.next(content, included, in)
	return g, withoutSecrets(err)
}

func (r *Reader) next(content []byte, included Included, in *Generation) (*Generation, error) {
	now, misplaced, err := r.decode(content)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(misplaced, r.missingSections(&now, in)); err != nil {
		return nil, err
	}
	own := now.Backends
	now.Backends = slices.Concat(own, r.fixed)
	if err := now.Locate(errors.Join(now.NothingServed(), now.validate(r.command()))); err != nil {
		return nil, err
	}
	next := r.running
	next.origins = now.origins
	next.Backends, next.Catalog, next.CatalogLock, next.Include, next.Sets = now.Backends, now.Catalog, now.CatalogLock, now.Include, now.Sets
	next.Redact = now.Redact
	next.Hooks = now.Hooks
	if k := r.running.Kubernetes; k != nil { // Its other keys take a restart.
		own := *k
		own.Backends = now.serviceEntries()
		next.Kubernetes = &own
	}
	if r.governs("policy") {
		next.Policy = now.Policy
	}
	if r.governs("quotas") {
		next.Quotas = now.Quotas
	}
	if err := next.Locate(next.validate(r.command())); err != nil {
		return nil, fmt.Errorf("restart the edge to use this file, because other keys that take a restart must change with it: %w", err)
	}
	if err := next.Locate(r.rulesWithoutPolicy(&next)); err != nil {
		return nil, err
	}
	next.takeIncluded(included, in.Config.teams)
	if err := next.Locate(next.takeLock(included)); err != nil {
		return nil, err
	}
	g, err := r.compile(next, own)
	if err != nil {
		return nil, err
	}
	g.Waiting = r.waiting(&now)
	return g, nil
}

// decode returns the settings of a content, with the environment and the flags of the start. They
// are not validated.
func (r *Reader) decode(content []byte) (c Config, misplaced, err error) {
	if p := r.running.origins; p != nil && p.again != nil {
		return p.again(content)
	}
	return fileSettings(r.running.File, content)
}

// command returns the command whose settings these are.
func (r *Reader) command() string {
	if p := r.running.origins; p != nil && p.command != "" {
		return p.command
	}
	return serve
}

// governs reports whether a section is part of generations. An edge that was started without a
// policy, or without quotas, takes a restart to get them.
func (r *Reader) governs(section string) bool {
	switch section {
	case "backends", "catalog", "catalog-lock", "include", "sets", "hooks", "redact":
		return true
	case "policy":
		return r.running.ruled
	case "quotas":
		return len(r.running.Quotas) > 0
	}
	return false
}

// rulesWithoutPolicy returns an error if settings give rules to an owner, and the edge was started without a
// policy.
func (r *Reader) rulesWithoutPolicy(next *Config) error {
	if r.governs("policy") || !next.grantsPolicy() {
		return nil
	}
	i := slices.IndexFunc(next.Include, func(g Include) bool { return g.grants(MayPolicy) })
	return fmt.Errorf("include[%d]: may: policy takes a restart, because the edge was started without a policy: start it again, or leave policy out", i)
}

// missingSections returns an error for each section that is in force and that the file does not have.
func (r *Reader) missingSections(now *Config, in *Generation) error {
	var errs []error
	gone := func(what, them, none string) {
		errs = append(errs, fmt.Errorf("config %s: there %s any more: put %s back, or %s to have none", now.File, what, them, none))
	}
	const restart = "start the edge again"
	if now.Backends == nil && len(in.Config.Backends) > len(r.fixed) {
		gone("are no backends", "them", "write backends: []")
	}
	if now.serviceEntries() == nil && len(in.Config.serviceEntries()) > 0 {
		gone("is no kubernetes.backends", "it", "write backends: [] under kubernetes")
	}
	if now.Catalog == nil && in.Config.Catalog != nil {
		gone("is no catalog", "it", "write catalog: {}")
	}
	if now.CatalogLock == nil && in.Config.locks() {
		gone("is no catalog-lock", "it", "write catalog-lock: {}")
	}
	if now.Include == nil && len(in.Config.Include) > 0 {
		gone("is no include", "it", "write include: []")
	}
	if now.Sets == nil && len(in.Config.Sets) > 0 {
		gone("are no sets", "them", "write sets: {}")
	}
	if now.Redact == nil && len(in.Config.Redact) > 0 {
		gone("is no redact", "it", "write redact: []")
	}
	if now.Hooks == nil && len(in.Config.Hooks) > 0 {
		gone("are no hooks", "them", "write hooks: []")
	}
	if now.Policy == nil && in.Config.Policy != nil {
		gone("is no policy", "it", restart)
	}
	if len(now.Quotas) == 0 && len(in.Config.Quotas) > 0 {
		gone("are no quotas", "them", restart)
	}
	return errors.Join(errs...)
}

// compile returns the generation of valid settings. own are the backends of the file.
func (r *Reader) compile(c Config, own []Backend) (*Generation, error) {
	g := &Generation{Config: c, Overlay: c.Overlay()}
	var err error
	if g.Policy, err = c.CompilePolicy(); err != nil {
		return nil, err
	}
	if g.Quotas, err = c.QuotaRules(); err != nil {
		return nil, err
	}
	if g.Sets, err = c.OpenSets(); err != nil {
		return nil, err
	}
	if g.Masker, err = c.Masker(); err != nil {
		return nil, err
	}
	if g.Hooks, err = c.OpenHooks(); err != nil {
		return nil, err
	}
	g.Digest = digest(c.File, struct {
		Backends []Backend
		Catalog  *Catalog
		Sets     map[string]Set
		Policy   *Policy
		Quotas   []Quota
	}{own, c.Catalog, c.Sets, c.Policy, c.Quotas})
	if len(c.Hooks)+len(c.Redact) > 0 {
		g.Digest = digest(c.File, struct {
			Others string
			Hooks  []Hook
			Redact []Redaction
		}{g.Digest, c.Hooks, c.Redact})
	}
	if services := c.serviceEntries(); len(services) > 0 {
		g.Digest = digest(c.File, struct {
			Others   string
			Services []Backend
		}{g.Digest, services})
	}
	if c.locks() {
		g.Digest = digest(c.File, struct {
			Others string
			Lock   CatalogLock
			Digest string
		}{g.Digest, *c.CatalogLock, c.lockInForce().Digest()})
	}
	if len(c.Redact) > 0 {
		g.Digest = digest(c.File, struct {
			Others string
			Redact []Redaction
		}{g.Digest, c.Redact})
	}
	if len(c.Include) > 0 {
		g.Digest = digest(c.File, append([]string{g.Digest}, c.owned()...))
	}
	return g, nil
}

// owned returns a digest for each Include: of its grant and of the settings in force from its files.
func (c *Config) owned() (out []string) {
	for i := range c.Include {
		t := c.teamOf(i)
		one := struct {
			Grant  Include
			Hidden bool
			Parts  []partSettings
		}{Grant: c.Include[i], Hidden: t.hidden}
		if !t.hidden {
			one.Parts = t.settings()
		}
		out = append(out, digest(c.File, one))
	}
	return out
}

// Renew returns an equal generation whose policy has no counts, and whose Masker is not in use.
func (g *Generation) Renew() (*Generation, error) {
	next := *g
	var err error
	if next.Policy, err = g.Config.CompilePolicy(); err != nil {
		return nil, err
	}
	next.Masker, err = g.Config.Masker()
	return &next, err
}

// waiting returns the keys that differ from those at the start and that are not part of
// generations.
func (r *Reader) waiting(now *Config) (out []Waiting) {
	locate := now.Locator()
	for _, key := range Differences(&r.start, now) {
		section, _, _ := strings.Cut(key, ".")
		if key == "kubernetes.backends" && r.running.Kubernetes != nil {
			continue
		}
		if !r.governs(section) {
			out = append(out, Waiting{Key: key, Place: locate(key + ": ")})
		}
	}
	return out
}

// Revision identifies the settings of a backend and of the hooks on its lists. Equal settings have
// equal revisions.
func (b *Backend) Revision(c *Config) string {
	return digest("", struct {
		Backend Backend
		Full    bool
		Lists   []Hook
	}{*b, c.FullSchemas(b), c.listHooks()})
}
