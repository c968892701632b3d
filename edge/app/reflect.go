package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/reflect"
)

// reflected returns the adapter that makes tools of the methods of a service without the contract.
// learned is charged with its memory; nil means no bound.
func reflected(b config.Backend, learned *reflect.Memory, log *slog.Logger) func(*grpc.ClientConn, grpc.ClientConnInterface) backend.Adapter {
	options := reflection(&b, learned, log)
	return func(target *grpc.ClientConn, calls grpc.ClientConnInterface) backend.Adapter {
		return reflect.New(target, calls, options)
	}
}

func reflection(b *config.Backend, learned *reflect.Memory, log *slog.Logger) reflect.Options {
	options := reflect.Options{
		Name: b.Name, Prefix: b.Prefix, Include: b.Include, Exclude: b.Exclude,
		MaxBytes: int(b.MaxMessage),
		Memory:   learned, Logger: log.With("backend", b.Name),
	}
	if b.DescriptorSet != "" {
		options.DescriptorSet = func() ([]byte, error) {
			return os.ReadFile(b.DescriptorSet) // #nosec G304 G703 -- the operator names the file
		}
	}
	return options
}

// CheckDescriptors reads the descriptor sets of backends. It writes to out, one line each, the
// number of their tools or why they cannot be used, which is also the error. It opens no
// connection.
func CheckDescriptors(ctx context.Context, cfg config.Config, out io.Writer) error {
	var errs []error
	look := func(b *config.Backend, place string) {
		if b.DescriptorSet == "" {
			return
		}
		what := place + ": descriptor-set"
		tools, err := reflect.CheckDescriptorSet(ctx, reflection(b, nil, slog.New(slog.DiscardHandler)))
		if err != nil {
			_, _ = fmt.Fprintf(out, "error   %s: %v\n", what, err)
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
			return
		}
		_, _ = fmt.Fprintf(out, "ok      %s: it makes %d tools\n", what, tools)
	}
	for i := range cfg.Backends {
		look(&cfg.Backends[i], fmt.Sprintf("backends[%d] %s", i, cfg.Backends[i].Name))
	}
	if k := cfg.Kubernetes; k != nil {
		for i := range k.Backends {
			look(&k.Backends[i], fmt.Sprintf("kubernetes.backends[%d] %s", i, k.Backends[i].Name))
		}
	}
	return errors.Join(errs...)
}
