// Package server implements the bundled tools service. Its tools show what a backend can do: typed
// arguments and results, errors that a model can act on, progress and log messages, and questions
// to the user, to the client's model and to the client.
package server

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

// Options configure the service. The zero value is usable.
type Options struct {
	// Logger is the logger of the service. nil uses slog.Default.
	Logger *slog.Logger
	// Capability are further options of the server, such as capability.WithServerOptions. They are
	// applied last.
	Capability []capability.Option
}

// service holds the state of the tools.
type service struct {
	bookings atomic.Int64
}

// New returns the service, ready to serve.
func New(o Options) *capability.Server {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := capability.New("mcpedge-tools", "1.0.0", append([]capability.Option{
		capability.WithTitle("Sample tools"),
		capability.WithDescription("Arithmetic, and the tools of a made-up travel agency."),
		capability.WithInstructions("Flights, weather and bookings are sample data: nothing is really booked. " +
			"Search flights before recommending or booking one."),
		capability.WithListCache(time.Minute, true),
		capability.WithLogger(o.Logger),
	}, o.Capability...)...)
	t := &service{}
	addCalculator(s)
	addTravel(s)
	addTrip(s, t)
	addRecommendation(s)
	addWorkspace(s)
	addCountdown(s)
	return s
}

// readOnlyOptions returns the options of a tool that only computes: it changes nothing, may be repeated,
// and accesses no external system.
func readOnlyOptions(title string, more ...capability.ToolOption) []capability.ToolOption {
	return append([]capability.ToolOption{capability.Title(title), capability.ReadOnly(), capability.Idempotent(),
		capability.Destructive(false), capability.OpenWorld(false)}, more...)
}
