package reflect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
)

// What zero values of Options stand for.
const (
	DefaultRefresh        = time.Minute
	DefaultMaxBytes       = 16 << 20
	DefaultStreamMessages = 1_000
)

// Memory bounds what the models of several adapters take together, as it is estimated, and what learning takes beside them as much again. What is beyond
// is not learned, but each adapter has an equal part in any case.
type Memory = limit.Memory

// leastMemory is the least bound of a Memory, in bytes.
const leastMemory = 16 << 20

// NewMemory returns a Memory of so many bytes, but no fewer than 16 MiB; with 0 or less, nil, which is no bound.
func NewMemory(bytes int64) *Memory {
	if bytes <= 0 {
		return nil
	}
	return limit.NewMemory(max(bytes, leastMemory))
}

// Options of an Adapter.
type Options struct {
	// Name is the backend's, for Describe.
	Name string
	// Prefix is what the edge puts before the names of the tools: it counts into the 64 characters that a name may have.
	Prefix string
	// DescriptorSet reads a serialized google.protobuf.FileDescriptorSet with all imports; nil: the
	// service is asked by server reflection. It is read anew at every refresh.
	DescriptorSet func() ([]byte, error)
	// Include selects methods, Exclude takes some of them out again. Patterns of "package.Service/Method"
	// where * is any text; one without a slash is about whole services. No Include: all.
	Include, Exclude []string
	// Refresh is how often the methods are learned anew, beside when the service comes back; 0: DefaultRefresh.
	Refresh time.Duration
	// MaxBytes bounds a result as JSON, and all messages of a stream together; 0: DefaultMaxBytes.
	MaxBytes int
	// StreamMessages bounds the messages of a stream; 0: DefaultStreamMessages.
	StreamMessages int
	// Memory bounds what is learned of all services together; nil: it is not bounded.
	Memory *Memory
	// Logger; nil: slog.Default().
	Logger *slog.Logger
}

// Adapter speaks the contract for one target. All methods are safe for concurrent use.
type Adapter struct {
	opts   Options
	target *grpc.ClientConn
	log    *slog.Logger

	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup

	// answers bounds what the answers that are being read take in memory.
	answers *semaphore.Weighted
	// opening is held by whoever opens a link.
	opening chan struct{}
	// kick asks for the methods to be learned anew.
	kick chan struct{}

	share *limit.Share

	mu sync.Mutex
	// pace says when the methods may be learned again.
	pace pace
	// stale: the next link was opened without learning the methods, and learns them when pace lets it.
	stale bool
	// users counts the calls that use a model, by model, replaced ones too.
	users map[*model]int
	// model is what was last learned; nil: nothing yet.
	model *model
	// changed closes when model is replaced.
	changed chan struct{}
	// attempt is the first learning of the methods on a connection, until its outcome was used; nil: there is none.
	attempt *attempt
	// link serves; nil: the target is away.
	link   *link
	closed bool
}

// New makes an adapter. The target stays the caller's, who closes it after the adapter. Nothing is
// connected before the first Dial.
func New(target *grpc.ClientConn, opts Options) *Adapter {
	if opts.Refresh == 0 {
		opts.Refresh = DefaultRefresh
	}
	if opts.MaxBytes == 0 {
		opts.MaxBytes = DefaultMaxBytes
	}
	if opts.StreamMessages == 0 {
		opts.StreamMessages = DefaultStreamMessages
	}
	log := opts.Logger
	if log == nil {
		log = slog.Default()
	}
	a := &Adapter{
		opts: opts, target: target, log: log, answers: semaphore.NewWeighted(limit.MaxAnswersMemory),
		opening: make(chan struct{}, 1), kick: make(chan struct{}, 1), changed: make(chan struct{}),
		share: opts.Memory.Join(), users: map[*model]int{},
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// Dial opens a connection to the contract's server in this process. It fails while the target cannot be
// reached, or its methods cannot be learned; the error says why.
func (a *Adapter) Dial(ctx context.Context) (net.Conn, error) {
	l, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	return l.listener.DialContext(ctx)
}

// Notes are sentences about what the tools cannot express of the service, and what became no tool.
func (a *Adapter) Notes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.model == nil {
		return nil
	}
	return slices.Clone(a.model.notes)
}

// Close ends all connections and calls, and returns when no goroutine is left.
func (a *Adapter) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.cancel()
	a.group.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.model != nil {
		a.model.room.Release()
	}
	if a.share != nil {
		a.share.Leave()
		a.share = nil
	}
}

var errClosed = errors.New("the adapter is closed")

// open returns the link that serves, made when there is none.
func (a *Adapter) open(ctx context.Context) (*link, error) {
	select {
	case a.opening <- struct{}{}:
		defer func() { <-a.opening }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	a.mu.Lock()
	l, closed := a.link, a.closed
	a.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed
	case l != nil:
		return l, nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(a.ctx, stop)()
	if err := a.connect(ctx); err != nil {
		return nil, err
	}
	if err := a.learned(ctx); err != nil {
		return nil, err
	}
	return a.serve()
}

// patience is how long a target that failed before has to come back within one Dial.
const patience = time.Second

// connect waits until the target is connected, or found to be unreachable.
func (a *Adapter) connect(ctx context.Context) error {
	a.target.Connect()
	if a.target.GetState() == connectivity.TransientFailure {
		a.target.ResetConnectBackoff()
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	failing := a.target.GetState() == connectivity.TransientFailure
	for {
		state := a.target.GetState()
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.Idle:
			a.target.Connect()
		case connectivity.TransientFailure:
			if !failing {
				return a.reason()
			}
		case connectivity.Shutdown:
			return errClosed
		}
		if !a.target.WaitForStateChange(ctx, state) {
			return a.reason()
		}
	}
}

// reason finds out why the target cannot be reached: its channel fails calls with it at once.
func (a *Adapter) reason() error {
	ctx, cancel := context.WithTimeout(a.ctx, patience)
	defer cancel()
	if _, err := a.target.NewStream(ctx, &grpc.StreamDesc{}, "/grpc.health.v1.Health/Check"); err != nil {
		return err
	}
	return fmt.Errorf("%s is being connected", a.target.Target())
}

// attempt is a learning of the methods that may outlast the dial that began it.
type attempt struct {
	done  chan struct{}
	err   error // once done is closed
	began time.Time
	// files is how many files have come, known how many there are as far as it is known.
	files, known atomic.Int64
}

// String is the progress in words.
func (t *attempt) String() string {
	return fmt.Sprintf("learned %d of %d files", t.files.Load(), t.known.Load())
}

// Progress says how far the methods are learned while no call can be served before they are; empty: they are not being learned.
func (a *Adapter) Progress() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.attempt == nil {
		return ""
	}
	return a.attempt.String()
}

// learned waits until the methods are learned. The learning goes on when ctx ends, and the next call waits for it. The
// caller holds opening.
func (a *Adapter) learned(ctx context.Context) error {
	a.mu.Lock()
	t := a.attempt
	wait := a.pace.wait(time.Now())
	if t == nil && wait > 0 { // They are served as they were until then.
		defer a.mu.Unlock()
		if a.model == nil {
			return fmt.Errorf("%w (tried again in %s)", a.pace.why, wait.Round(time.Second/10))
		}
		a.stale = true
		return nil
	}
	if t == nil && !a.closed {
		t = &attempt{done: make(chan struct{}), began: time.Now()}
		a.attempt = t
		a.group.Go(func() {
			defer close(t.done)
			ctx, cancel := context.WithTimeout(a.ctx, limit.MaxTime)
			defer cancel()
			t.err = a.load(ctx, func(files, known int) {
				t.files.Store(int64(files))
				t.known.Store(int64(known))
			})
		})
	}
	a.mu.Unlock()
	if t == nil {
		return errClosed
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		since := time.Since(t.began).Round(time.Second / 10)
		a.log.Info("the service's methods are not learned yet: "+t.String(), "since", since)
		return fmt.Errorf("its methods are not learned yet: %s in %s", t, since)
	}
	a.mu.Lock()
	a.attempt = nil
	a.mu.Unlock()
	return t.err
}

// load learns the methods and swaps the model if they differ. One load runs at a time: while there is no
// link, by the attempt of who opens one, then by the link's follower.
func (a *Adapter) load(ctx context.Context, progress func(files, known int)) error {
	before, done := a.use()
	defer done()
	began := time.Now()
	room := a.share.Room()
	m, err := learn(ctx, a.target, &a.opts, before, progress, room)
	if err == nil && (before == nil || before.version != m.version) {
		err = a.swap(m)
	} else {
		room.Release()
		m = before
	}
	a.mu.Lock()
	switch {
	case err == nil:
		a.pace.ended(began, time.Now(), m != before)
	case ctx.Err() == nil && !isAway(err):
		a.pace.failed(began, time.Now(), err)
	}
	a.mu.Unlock()
	if err != nil || m == before {
		return err
	}
	a.log.Info("the service's methods were learned", "tools", len(m.tools), "version", m.version)
	known := map[string]bool{}
	if before != nil {
		for _, note := range before.notes {
			known[note] = true
		}
	}
	for _, note := range m.notes {
		if !known[note] {
			a.log.Info("a tool cannot express all of its method", "note", note)
		}
	}
	return nil
}

// isAway reports whether learning failed since the service is away, so that trying again costs little.
func isAway(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
		return true
	}
	return false
}
