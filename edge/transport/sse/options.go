package sse

import (
	"log/slog"
	"time"

	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// Where the transport is served unless Options say otherwise.
const (
	StreamPath  = "/sse"
	MessagePath = "/message"
)

// Options are the settings of the transport. The zero value of each member is its documented default.
type Options struct {
	// Web are the settings that all HTTP transports have.
	Web web.Options
	// KeepAlive is the longest silence of a connection; 0: 15 s.
	KeepAlive time.Duration
	// MaxConnections bounds the open connections of one principal, or of all anonymous callers; 0:
	// 100,000. One more is refused with 429.
	MaxConnections int
	// MaxExchanges bounds the messages of one connection that are served at the same time, waiting
	// calls included; 0: 512. One more is refused with 429.
	MaxExchanges int
	// Relay brings POSTs to the replica that has their connection; nil: there is only this one.
	Relay Relay
	// Logger for what no client is told; nil: slog.Default.
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
	// endTimeout bounds one attempt to end a session; endAttempts how many are made while the state
	// cannot be reached. A session that is not ended expires.
	endTimeout  = 5 * time.Second
	endAttempts = 3
	// pause is how long to wait before a refused attachment or ending is tried again.
	pause = time.Second
	// maxToken and maxPrefix bound what is looked at of a request.
	maxToken, maxPrefix = 64, 256
)
