package reflect

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// The defaults of Options.
const (
	DefaultMaxBytes       = 16 << 20
	DefaultStreamMessages = 1_000
)

// Memory bounds the estimated memory of the models of several adapters, and separately, by the same
// amount, the memory of learning. A service that exceeds it is not learned, but each adapter is
// guaranteed an equal part.
type Memory = limit.Memory

// leastMemory is the least bound of a Memory, in bytes.
const leastMemory = 16 << 20

// NewMemory returns a Memory of so many bytes, at least 16 MiB. For 0 or less it returns nil, which
// means no bound.
func NewMemory(bytes int64) *Memory {
	if bytes <= 0 {
		return nil
	}
	return limit.NewMemory(max(bytes, leastMemory))
}

// Options of an Adapter.
type Options struct {
	// Name is the backend's name, returned by Describe.
	Name string
	// Prefix is prepended to the names of the tools by the edge. It counts towards the 64
	// characters of a name.
	Prefix string
	// DescriptorSet reads a serialized google.protobuf.FileDescriptorSet with all imports. It is
	// called each time the service is learned. nil uses server reflection.
	DescriptorSet func() ([]byte, error)
	// Include selects methods, and Exclude removes methods from these. They are patterns of
	// "package.Service/Method" in which * is any text; a pattern without a slash matches services.
	// An empty Include means all.
	Include, Exclude []string
	// MaxBytes bounds the JSON of a result, and of all messages of a stream together; 0 means
	// DefaultMaxBytes.
	MaxBytes int
	// StreamMessages bounds the messages of a stream; 0 means DefaultStreamMessages.
	StreamMessages int
	// Memory bounds the memory of all adapters together; nil means no bound.
	Memory *Memory
	// Logger of the adapter; nil uses slog.Default().
	Logger *slog.Logger
}

// Adapter implements the clients of the contract for one target. All methods are safe for
// concurrent use.
type Adapter struct {
	opts   Options
	target *grpc.ClientConn
	calls  grpc.ClientConnInterface
	log    *slog.Logger

	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup

	// answers bounds the memory of the answers that are being decoded.
	answers *semaphore.Weighted
	share   *limit.Share

	mu sync.Mutex
	// pace determines when the methods may be learned again.
	pace pace
	// users counts the calls that use a model. It includes replaced models.
	users map[*model]int
	// model is the last learned model; nil before the first.
	model *model
	// changed closes when model is replaced.
	changed chan struct{}
	// fresh reports that model was learned since the target was last lost. losses counts the
	// losses.
	fresh  bool
	losses int
	// attempt is the running attempt to learn the methods. nil means that there is none.
	attempt *attempt
	// due reports that learning is scheduled.
	due bool
	// watching reports that a goroutine follows the connection to the target.
	watching, closed bool
}

var (
	_ pb.BackendServiceClient = (*Adapter)(nil)
	_ pb.ToolServiceClient    = (*Adapter)(nil)
)

// New returns an Adapter. The target remains the caller's. Methods are called through calls, which
// is the target or wraps it; reflection uses the target directly. New sends nothing.
func New(target *grpc.ClientConn, calls grpc.ClientConnInterface, opts Options) *Adapter {
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
		opts: opts, target: target, calls: calls, log: log, answers: semaphore.NewWeighted(limit.MaxAnswersMemory),
		changed: make(chan struct{}), share: opts.Memory.Join(), users: map[*model]int{},
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// Notes returns sentences about the parts of the service that the tools cannot express, and about
// methods that did not become tools.
func (a *Adapter) Notes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.model == nil {
		return nil
	}
	return slices.Clone(a.model.notes)
}

// Close cancels all calls, and returns after all goroutines have ended.
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
