package app

import (
	"log/slog"
	"os"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/reflect"
)

// reflected returns the adapter that makes tools of the methods of a service without the contract. What it learns counts into learned; nil is no bound.
func reflected(b config.Backend, learned *reflect.Memory, log *slog.Logger) func(*grpc.ClientConn, grpc.ClientConnInterface) backend.Adapter {
	options := reflect.Options{
		Name: b.Name, Prefix: b.Prefix, Include: b.Include, Exclude: b.Exclude,
		MaxBytes: int(b.MaxMessage), StreamMessages: b.MaxStreamMessages,
		Memory: learned, Logger: log.With("backend", b.Name),
	}
	if b.DescriptorSet != "" {
		options.DescriptorSet = func() ([]byte, error) { return os.ReadFile(b.DescriptorSet) }
	}
	return func(target *grpc.ClientConn, calls grpc.ClientConnInterface) backend.Adapter {
		return reflect.New(target, calls, options)
	}
}
