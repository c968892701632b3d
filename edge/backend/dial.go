package backend

import (
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// Keepalive pings are no more frequent than every gRPC server permits by default (5 minutes);
// keepAliveTimeout also bounds how long sent bytes may go unacknowledged, so that a dead peer is
// noticed with the first request that goes there.
const (
	keepAliveTime    = 6 * time.Minute
	keepAliveTimeout = 20 * time.Second
)

// Flow-control windows. streamWindow is how many bytes the edge buffers for a call whose client
// does not read; gRPC's default grows to 16 MiB. connWindow is shared by all calls of a connection.
const (
	streamWindow = 256 << 10
	connWindow   = 8 << 20
)

// headerList bounds the headers and the trailers of one answer, including a status' text and
// details.
const headerList = 64 << 10

// dial makes a connection. It stays idle until it is used or connected explicitly.
func dial(cfg Config, tune *tuning, extra ...grpc.DialOption) (*grpc.ClientConn, error) {
	creds := cfg.Credentials
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	all := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(serviceConfig(cfg.Outliers, cfg.Health)),
		grpc.WithDisableServiceConfig(), // DNS is queried for addresses only, and does not replace the config above
		grpc.WithResolvers(onSchedule(cfg.Resolve)),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(cfg.MaxMessageBytes), grpc.ForceCodecV2(newCodec())),
		grpc.WithMaxHeaderListSize(headerList),
		grpc.WithStaticStreamWindowSize(streamWindow),
		grpc.WithStaticConnWindowSize(connWindow),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepAliveTime, Timeout: keepAliveTimeout}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: tune.dialMin, Multiplier: 1.6, Jitter: 0.2, MaxDelay: tune.dialMax},
			MinConnectTimeout: tune.connect,
		}),
	}
	if cfg.Fixed != nil {
		all = append(all, grpc.WithPerRPCCredentials(cfg.Fixed))
	}
	if cfg.Resolver != nil {
		all = append(all, grpc.WithResolvers(cfg.Resolver))
	}
	all = append(all, extra...)
	conn, err := grpc.NewClient(cfg.Target, all...)
	if err != nil {
		return nil, fmt.Errorf("backend %q: target %q is not a gRPC target: %w", cfg.Name, cfg.Target, err)
	}
	return conn, nil
}
