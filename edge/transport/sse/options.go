package sse

import (
	"log/slog"
	"time"

	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// Default paths of the transport.
const (
	StreamPath  = "/sse"
	MessagePath = "/message"
)

// Options configure the transport. The zero value of a field selects its default.
type Options struct {
	// Web are the settings that all HTTP transports share.
	Web web.Options
	// KeepAlive is the longest silence of a connection. 0 means 15 s.
	KeepAlive time.Duration
	// MaxConnections bounds the open connections of one principal, or of all anonymous callers. 0
	// means 100,000. Further ones are refused with 429.
	MaxConnections int
	// MaxExchanges bounds the messages of one connection that are served at the same time, waiting
	// calls included. 0 means 512. Further ones are refused with 429.
	MaxExchanges int
	// Relay forwards POSTs to the replica with their connection. nil means that there is only this
	// replica.
	Relay Relay
	// Logger logs what no client is sent. nil uses slog.Default.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.KeepAlive <= 0 {
		o.KeepAlive = 15 * time.Second
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = 100_000
	}
	if o.MaxExchanges <= 0 {
		o.MaxExchanges = 512
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

const (
	// endTimeout bounds one attempt to end a session; endAttempts is the number of attempts while
	// the state is unavailable. A session that is not ended expires.
	endTimeout  = 5 * time.Second
	endAttempts = 3
	// pause is the pause before a refused attachment or end is retried.
	pause = time.Second
	// maxToken and maxPrefix bound the parts of a request that are examined.
	maxToken, maxPrefix = 64, 256
)
