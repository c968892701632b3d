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

// What zero values of Options stand for.
const (
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
	// service is asked by server reflection. It is read anew at every learning.
	DescriptorSet func() ([]byte, error)
	// Include selects methods, Exclude takes some of them out again. Patterns of "package.Service/Method"
	// where * is any text; one without a slash is about whole services. No Include: all.
	Include, Exclude []string
	// MaxBytes bounds a result as JSON, and all messages of a stream together; 0: DefaultMaxBytes.
	MaxBytes int
	// StreamMessages bounds the messages of a stream; 0: DefaultStreamMessages.
	StreamMessages int
	// Memory bounds what is learned of all services together; nil: it is not bounded.
	Memory *Memory
	// Logger; nil: slog.Default().
	Logger *slog.Logger
}

// Adapter speaks the contract for one target, by its clients' interfaces. All methods are safe for concurrent use.
type Adapter struct {
	opts   Options
	target *grpc.ClientConn
	calls  grpc.ClientConnInterface
	log    *slog.Logger

	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup

	// answers bounds what the answers that are being read take in memory.
	answers *semaphore.Weighted
	share   *limit.Share

	mu sync.Mutex
	// pace says when the methods may be learned again.
	pace pace
	// users counts the calls that use a model, by model, replaced ones too.
	users map[*model]int
	// model is what was last learned; nil: nothing yet.
	model *model
	// changed closes when model is replaced.
	changed chan struct{}
	// fresh: model was learned since the target was last lost. losses counts how often it was.
	fresh  bool
	losses int
	// attempt is the learning of the methods that is under way; nil: there is none.
	attempt *attempt
	// due: the methods will be learned anew.
	due bool
	// watching: the connection to the target is being followed.
	watching, closed bool
}

var (
	_ pb.BackendServiceClient = (*Adapter)(nil)
	_ pb.ToolServiceClient    = (*Adapter)(nil)
)

// New makes an adapter. The target stays the caller's. Its methods are called through calls, which is the target or leads there; what it is asked
// about them goes to the target itself. Nothing is sent before the first request.
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

// Notes are sentences about what the tools cannot express of the service, and what became no tool.
func (a *Adapter) Notes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.model == nil {
		return nil
	}
	return slices.Clone(a.model.notes)
}

// Close ends all calls, and returns when no goroutine is left.
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
