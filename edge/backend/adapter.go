package backend

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
)

// Adapter speaks the contract for a target that does not, on connections within this process. All
// methods are safe for concurrent use.
type Adapter interface {
	// Dial opens a connection to a server of the contract. It fails while the target is away, with an error that may be
	// a status; when the target goes, so do the connections.
	Dial(ctx context.Context) (net.Conn, error)
	// Notes are sentences, for operators, about what the contract cannot say of the target.
	Notes() []string
	// Progress says how far the target was learned, as long as nothing can be served before it is: "learned 31 of 59 files".
	// Empty: it is not being learned.
	Progress() string
	// Canonical rewrites the arguments of a tool, by the tool's own name, to the one form in which the target is to see them.
	// They are a JSON object that is known to be valid; the result may be the same bytes. An error says in one line why the
	// target would not take them.
	Canonical(tool string, arguments []byte) ([]byte, error)
	// Close ends all connections, and returns when no goroutine is left.
	Close()
}

// adapted is an adapter and the connection to its target. A nil one is that of a target without.
type adapted struct {
	target  *grpc.ClientConn
	adapter Adapter
	// refused is the error of the last Dial.
	refused atomic.Pointer[error]
}

// refusal is why the adapter could not be dialed the last time; nil: it could.
func (a *adapted) refusal() error {
	if a == nil {
		return nil
	}
	if err := a.refused.Load(); err != nil {
		return *err
	}
	return nil
}

// dial opens a connection to the adapter.
func (a *adapted) dial(ctx context.Context, _ string) (net.Conn, error) {
	conn, err := a.adapter.Dial(ctx)
	if err == nil {
		a.refused.Store(nil)
		return conn, nil
	}
	a.refused.Store(&err)
	return nil, errors.New(err.Error()) // a status in a dialer's error would be taken for the channel's
}

// adapt makes the adapter. What Options adds to connections goes on the connection to the adapter, not on the
// one to its target: the adapter passes metadata on, and a call is counted once.
func adapt(cfg Config, tune *tuning) (*adapted, error) {
	target, err := dial(cfg, Options{}, tune, grpc.WithIdleTimeout(0))
	if err != nil {
		return nil, err
	}
	return &adapted{target: target, adapter: cfg.Adapt(target)}, nil
}

// inside is the settings for connections to the adapter.
func (a *adapted) inside(cfg Config, opts Options) (Config, Options) {
	cfg.Fixed = nil // The target's own connection has it.
	cfg.Target = "passthrough:///" + cfg.Name
	cfg.Credentials = insecure.NewCredentials()
	cfg.Health, cfg.Outliers = HealthOff, nil
	opts.DialOptions = append(opts.DialOptions[:len(opts.DialOptions):len(opts.DialOptions)],
		grpc.WithContextDialer(a.dial))
	return cfg, opts
}

// redialMin is the least time between two resets of the backoff by follow. It bounds how often a target that changes its health quickly has its
// methods learned anew.
const redialMin = time.Second

// follow resets the backoff of inside, the connection to the adapter, whenever the target becomes ready, until ctx ends. Without that the adapter
// would be dialed up to tuning.dialMax later.
func (a *adapted) follow(ctx context.Context, inside *grpc.ClientConn) {
	var last time.Time
	for state := a.target.GetState(); ; state = a.target.GetState() {
		if state == connectivity.Ready {
			select {
			case <-time.After(redialMin - time.Since(last)):
			case <-ctx.Done():
				return
			}
			inside.ResetConnectBackoff()
			last = time.Now()
		}
		if !a.target.WaitForStateChange(ctx, state) {
			return
		}
	}
}

func (a *adapted) notes() []string {
	if a == nil {
		return nil
	}
	return a.adapter.Notes()
}

func (a *adapted) progress() string {
	if a == nil {
		return ""
	}
	return a.adapter.Progress()
}

// Adapted reports whether the backend's tools are made by the edge, for a target that does not speak the contract.
func (b *Backend) Adapted() bool { return b.adapted != nil }

// Canonical is Adapter.Canonical; a target that speaks the contract gets arguments as they are.
func (b *Backend) Canonical(tool string, arguments []byte) ([]byte, error) {
	if b.adapted == nil {
		return arguments, nil
	}
	return b.adapted.adapter.Canonical(tool, arguments)
}

func (a *adapted) close() {
	if a == nil {
		return
	}
	a.adapter.Close()
	_ = a.target.Close()
}
