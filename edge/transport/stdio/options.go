package stdio

import (
	"log/slog"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
)

// Options are the settings of the transport. The zero value of each member is its documented default.
type Options struct {
	// MaxLine bounds one message, in bytes; 0: DefaultMaxLine. A longer one is answered with an error,
	// and the next line is served.
	MaxLine int
	// MaxInFlight bounds the exchanges that are neither over nor streams; 0: 1,024. While there are so
	// many, nothing more is read. What streams may cost is bounded by the eras.
	MaxInFlight int
	// Grace is how long calls in flight may go on after the client closed its end, or the context
	// ended; 0: 2 s. What has not ended by then delays the end by as much again, twice at most.
	Grace time.Duration
	// Drain, if set, is called when serving ends, before the grace: streams that would go on for ever
	// end with their result.
	Drain func()
	// Holder is charged with what messages hold in memory; nil: nobody is.
	Holder *budget.Holder
	// Logger gets what operators should know; nil: slog.Default.
	Logger *slog.Logger
}

// DefaultMaxLine is what fits into a gRPC message of the default size (4 MiB) beside its context.
const DefaultMaxLine = 4<<20 - 64<<10

func (o Options) withDefaults() Options {
	if o.MaxLine == 0 {
		o.MaxLine = DefaultMaxLine
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = 1024
	}
	if o.Grace == 0 {
		o.Grace = 2 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}
