package admin

import (
	"context"
	"math"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/admin/v1"
)

// Replica is the administered process. It must be safe for concurrent use.
type Replica interface {
	// Status returns a snapshot.
	Status() Status
	// Drain begins the shutdown of the process and returns at once. It may be called again.
	Drain()
	// Problems returns one sentence for each tool and prompt of a backend that the setting catalog
	// hides because it cannot change it as it should.
	Problems(backend string) []string
	// RollBack puts the previous settings in force again. After an error nothing has changed.
	RollBack(ctx context.Context) error
}

// Status is the state of a replica.
type Status struct {
	// Version of the edge, and the replica's name.
	Version, Name string
	// Started is when the process began.
	Started time.Time
	// Draining is true while it shuts down.
	Draining bool
	// Sessions is the number of sessions of which the replica has a copy. Streams is the number of
	// their open streams.
	Sessions, Streams int
	// State is the store of sessions, calls and tasks.
	State State
	// Settings is nil without a file of settings.
	Settings *Settings
	// Disabled is what operators have disabled; nil if nothing is.
	Disabled *disabled.List
}

// Settings is the file of settings as it was last read.
type Settings struct {
	File string
	// Unusable is why it cannot be used, in which case the previous settings remain in force; nil
	// if it can be used.
	Unusable error
	// Restart has the changed keys that take effect only after a restart. The slice must not be
	// changed.
	Restart []string
	// Generation counts the settings that were in force in this process, from 1. Digest identifies
	// those that are: it is equal on every replica. Since is when they were put in force.
	Generation int64
	Digest     string
	Since      time.Time
	// RolledBack is true if RollBack has put the settings in force and File has others. Previous is
	// the digest of the settings to which RollBack would return. Empty means none.
	RolledBack bool
	Previous   string
	// Owners are the owners of included files, in the order of the settings. The slice must not be
	// changed.
	Owners []Owner
}

// Owner is an owner of included files of settings.
type Owner struct {
	// Name of its grant, and the Pattern of its files.
	Name, Pattern string
	// Files are those in force.
	Files []string
	// State is in-force, stale or hidden. Digest identifies the settings in force since Since. It is
	// empty if State is hidden.
	State, Digest string
	Since         time.Time
	// Err is why the files cannot be used; nil if they can.
	Err error
}

// State is the store of sessions, calls and tasks.
type State struct {
	// Kind is StateMemory or StateRedis.
	Kind string
	// Reachable means that the replica can use it, or not, since the time Since.
	Reachable bool
	Since     time.Time
	// Err is why the replica cannot use it. nil means that it can, or that the reason is unknown.
	Err error
}

// Kinds of a State.
const (
	StateMemory = "memory"
	StateRedis  = "redis"
)

// replica implements ReplicaService.
type replica struct {
	pb.UnimplementedReplicaServiceServer
	ready Readiness
	pool  *backend.Pool
	self  Replica
	acts  operations
}

// int32Of converts a count to the API's type. Larger values become the maximum.
func int32Of(n int) int32 { return int32(min(n, math.MaxInt32)) } // #nosec G115 -- no number of things is negative

// GetStatus implements ReplicaService.
func (r *replica) GetStatus(context.Context, *pb.GetStatusRequest) (*pb.GetStatusResponse, error) {
	s := r.self.Status()
	out := &pb.GetStatusResponse{
		Version: s.Version, Replica: s.Name, Ready: true, Draining: s.Draining,
		StartTime: timestamppb.New(s.Started), Uptime: durationpb.New(time.Since(s.Started)),
		Sessions: int32Of(s.Sessions), Streams: int32Of(s.Streams),
		State: &pb.State{Kind: s.State.Kind, Reachable: s.State.Reachable, Since: timestamppb.New(s.State.Since)},
	}
	if err := s.State.Err; err != nil {
		out.State.Error = err.Error()
	}
	out.Settings, out.Disabled = settingsOf(s.Settings), disabledOf(s.Disabled)
	if err := r.ready.Ready(); err != nil {
		out.Ready, out.Reason = false, err.Error()
	}
	for _, b := range r.pool.Backends() {
		out.Calls += int32Of(b.Status().Calls)
	}
	return out, nil
}

// settingsOf converts the state of the settings file; nil without one.
func settingsOf(f *Settings) *pb.Settings {
	if f == nil {
		return nil
	}
	out := &pb.Settings{
		File: f.File, RestartKeys: f.Restart, Generation: f.Generation, Digest: f.Digest, Since: timestamppb.New(f.Since),
		RolledBack: f.RolledBack, PreviousDigest: f.Previous,
	}
	if f.Unusable != nil {
		out.Error = f.Unusable.Error()
	}
	for _, o := range f.Owners {
		one := &pb.SettingsOwner{Name: o.Name, Pattern: o.Pattern, Files: o.Files, State: o.State, Digest: o.Digest, Since: timestamppb.New(o.Since)}
		if o.Err != nil {
			one.Error = o.Err.Error()
		}
		out.Owners = append(out.Owners, one)
	}
	return out
}

// RollBackSettings implements ReplicaService.
func (r *replica) RollBackSettings(ctx context.Context, _ *pb.RollBackSettingsRequest) (*pb.RollBackSettingsResponse, error) {
	err := r.acts.do(ctx, Act{Method: ActRollBack}, func() error {
		if err := r.self.RollBack(ctx); err != nil {
			return status.Error(codes.FailedPrecondition, err.Error())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &pb.RollBackSettingsResponse{Settings: settingsOf(r.self.Status().Settings)}, nil
}

// Drain implements ReplicaService.
func (r *replica) Drain(ctx context.Context, _ *pb.DrainRequest) (*pb.DrainResponse, error) {
	err := r.acts.do(ctx, Act{Method: ActDrain}, func() error {
		r.self.Drain()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &pb.DrainResponse{}, nil
}

// ListBackends implements ReplicaService.
func (r *replica) ListBackends(context.Context, *pb.ListBackendsRequest) (*pb.ListBackendsResponse, error) {
	out := &pb.ListBackendsResponse{}
	for _, b := range r.pool.Backends() {
		s, c := b.Status(), b.Catalog()
		one := &pb.Backend{
			Name: s.Name, Target: s.Target, Prefix: b.Prefix(), State: s.State.String(), Since: timestamppb.New(s.Since),
			LastError: s.LastError, Problems: slices.Concat(s.Problems, r.self.Problems(s.Name)), Present: s.Present,
			Tools: int32Of(len(c.Tools)), Resources: int32Of(len(c.Resources)),
			ResourceTemplates: int32Of(len(c.Templates)), Prompts: int32Of(len(c.Prompts)),
			Calls: int32Of(s.Calls), Watches: int32Of(s.Watches),
		}
		if !s.Loaded.IsZero() {
			one.Loaded = timestamppb.New(s.Loaded)
		}
		out.Backends = append(out.Backends, one)
	}
	return out, nil
}
