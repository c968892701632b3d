package stdio

import (
	"log/slog"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
)

// Options configure the transport. The zero value of a field selects its default.
type Options struct {
	// MaxLine bounds one message, in bytes. 0 means DefaultMaxLine. A longer one is answered with
	// an error, and the next line is served.
	MaxLine int
	// Set is the set that the client uses. Empty means the root.
	Set string
	// MaxInFlight bounds the exchanges that have not ended and are not streams. 0 means 1,024. At
	// the bound nothing more is read. The eras bound the cost of streams.
	MaxInFlight int
	// Grace is how long running calls may continue after the client closed its end, or the context
	// ended. 0 means 2 s. Calls that have not ended by then delay the end by as much again, twice
	// at most.
	Grace time.Duration
	// Drain is called when serving ends, before the grace period: streams that would never end then
	// end with their result. It may be nil.
	Drain func()
	// Holder is charged for what messages hold in memory. It may be nil.
	Holder *budget.Holder
	// Logger logs what operators need. nil uses slog.Default.
	Logger *slog.Logger
}

// DefaultMaxLine fits into a gRPC message of the default size (4 MiB) with its context.
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
