package app

import (
	"context"
	"fmt"
	"log/slog"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/certs"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/hook"
	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// opener converts the settings of backends for the pool, and opens the files that they name.
type opener struct {
	tls *ends
	// with are the identities of callers.
	with identities
	// lists are the hooks on lists; nil means none.
	lists *hook.Lists
	// learned bounds the memory of adapters; nil means no bound.
	learned *reflect.Memory
	log     *slog.Logger
}

// openBackend is a backend as the pool gets it.
type openBackend struct {
	backend.Config
	files *certs.Source // nil without TLS
}

// open opens the backends of the settings, in their order. Those of known, by name and revision,
// are used as they are. After an error, which begins with the place of its key, the result has
// those that were opened before it.
func (o *opener) open(cfg *config.Config, known []openBackend) (out []openBackend, err error) {
	for i := range cfg.Backends {
		b := &cfg.Backends[i]
		revision := b.Revision(cfg)
		if one := find(known, b.Name, revision); one != nil {
			out = append(out, *one)
			continue
		}
		one, err := o.openOne(cfg, b, fmt.Sprintf("backends[%d] %s", i, b.Name))
		if err != nil {
			return out, err
		}
		one.Revision = revision
		out = append(out, *one)
	}
	return out, nil
}

// openOne opens a backend and leaves its Revision empty. An error begins with the place of the backend
// in the settings, or with the name of its TLS.
func (o *opener) openOne(cfg *config.Config, b *config.Backend, place string) (*openBackend, error) {
	one := &openBackend{Config: configured(cfg, b)}
	if o.lists != nil {
		one.Review = func(ctx context.Context, entries []proto.Message) ([]proto.Message, error) {
			return o.lists.Review(ctx, b.Name, b.Prefix, entries)
		}
	}
	if who := o.with(b); who != nil {
		one.Identity = who
	}
	if err := addMetadata(&one.Config, b, o.log); err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	if b.Kind == config.KindReflect {
		one.Adapt = reflected(*b, o.learned, o.log)
	}
	if b.TLS != nil {
		var err error
		if one.files, err = o.tls.Open(backendFiles(b), o.log); err != nil {
			return nil, err
		}
		one.Credentials = one.files.Client(b.TLS.ServerName)
	}
	return one, nil
}

// find returns the backend with a name and a revision, or nil.
func find(list []openBackend, name, revision string) *openBackend {
	for i := range list {
		if list[i].Name == name && list[i].Revision == revision {
			return &list[i]
		}
	}
	return nil
}

// configured returns the settings of a backend that need no file.
func configured(cfg *config.Config, b *config.Backend) backend.Config {
	c := backend.Config{
		Name: b.Name, Target: b.Target, Prefix: b.Prefix, URIs: b.URIs, Timeout: b.Timeout,
		MaxConcurrent: b.MaxConcurrent, MaxMessageBytes: int(b.MaxMessage),
		Refresh: b.Refresh, StaleAfter: b.StaleAfter, OwnLists: b.OwnLists, Claims: b.Claims, Extensions: b.Extensions,
		FullSchemas: cfg.FullSchemas(b),
	}
	if o := b.Outliers; o != nil {
		c.Outliers = &backend.Outliers{Failures: o.Failures}
	}
	if b.Health != nil {
		if c.Health = b.Health.Service; c.Health == config.HealthOff {
			c.Health = backend.HealthOff
		}
	}
	return c
}

// checkDescriptors returns why the descriptor set of a backend that is not among the known ones
// cannot be used, or nil.
func checkDescriptors(ctx context.Context, cfg *config.Config, known []openBackend) error {
	for i := range cfg.Backends {
		b := &cfg.Backends[i]
		if b.DescriptorSet == "" || find(known, b.Name, b.Revision(cfg)) != nil {
			continue
		}
		if _, err := reflect.CheckDescriptorSet(ctx, reflection(b, nil, slog.New(slog.DiscardHandler))); err != nil {
			return fmt.Errorf("backends[%d] %s: descriptor-set: %w", i, b.Name, err)
		}
	}
	return nil
}

// configs returns the settings for the pool.
func configs(list []openBackend) []backend.Config {
	out := make([]backend.Config, len(list))
	for i := range list {
		out[i] = list[i].Config
	}
	return out
}

// newPool makes a pool of backends, which connects in Start. t may be nil.
func newPool(list []openBackend, log *slog.Logger, t *telemetry.Telemetry) (*backend.Pool, error) {
	o := backend.Options{Logger: log}
	if t.Tracing() {
		o.Tracing = t
	}
	return backend.NewPool(configs(list), o)
}

// Backends converts the settings of the backends for the pool, and reads certificates. log is for
// the adapters of backends without the contract.
func Backends(cfg config.Config, log *slog.Logger) ([]backend.Config, error) {
	with, err := signing(&cfg, log)
	if err != nil {
		return nil, err
	}
	list, err := (&opener{tls: new(ends), with: with, log: log}).open(&cfg, nil)
	if err != nil {
		return nil, err
	}
	return configs(list), nil
}
