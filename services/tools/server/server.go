// Package server is the bundled tools service. Its tools show what a backend can do: typed
// arguments and results, errors a model can act on, progress and log messages, and asking the user,
// the client's model and the client's roots.
package server

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

// Options adjust the service; the zero value is useful.
type Options struct {
	// Logger is the service's own log; nil: slog.Default.
	Logger *slog.Logger
	// Capability are further options of the server, such as capability.WithServerOptions; applied last.
	Capability []capability.Option
}

// service is the state of the tools.
type service struct {
	bookings atomic.Int64
}

// New returns the service, ready to be served.
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

// harmless are the options of a tool that only computes: it changes nothing, may be repeated, and
// reaches nothing outside.
func harmless(title string, more ...capability.ToolOption) []capability.ToolOption {
	return append([]capability.ToolOption{capability.Title(title), capability.ReadOnly(), capability.Idempotent(),
		capability.Destructive(false), capability.OpenWorld(false)}, more...)
}
