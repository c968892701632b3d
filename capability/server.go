package capability

import (
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// Server holds the tools, resources and prompts of a service, and serves them by the gRPC contract.
// New returns one; the zero value is not usable. Entries may be added and removed at any time, from
// any goroutine; subscribers are notified. A Server can be served once; Close is final.
type Server struct {
	info         *Implementation
	instructions string
	extensions   map[string]string
	cache        *mcpedgev1.CacheHint
	announce     mcpedgev1.DescribeResponse // features announced even if empty
	log          *slog.Logger
	grpcOptions  []grpc.ServerOption
	tracing      trace.TracerProvider // nil uses the global provider, if one is set
	grace        time.Duration
	identities   *identities // nil disables verification of callers
	maskErrors   bool        // errors without a reason are hidden

	tools     *registry[*tool]
	prompts   *registry[*prompt]
	resources *registry[*resource]
	templates *registry[*template]

	cancels sync.Map // functions of OnCancel, by tool

	mu        sync.RWMutex // guards providers
	providers []*provided

	toolFeed, promptFeed, resourceFeed *feed // changes of lists
	updates                            *feed // changes of resources
	closeOnce                          sync.Once
}

// Option configures a Server.
type Option func(*Server)

// New returns an empty Server. Operators see name and version; clients see them if this is the
// edge's only backend.
func New(name, version string, options ...Option) *Server {
	s := &Server{
		info:         &Implementation{Name: name, Version: version},
		extensions:   map[string]string{},
		log:          slog.Default(),
		grace:        10 * time.Second,
		toolFeed:     newFeed(),
		promptFeed:   newFeed(),
		resourceFeed: newFeed(),
		updates:      newFeed(),
	}
	s.tools = newRegistry[*tool](s.toolFeed)
	s.prompts = newRegistry[*prompt](s.promptFeed)
	s.resources = newRegistry[*resource](s.resourceFeed)
	s.resources.normal = uris.Normal
	s.templates = newRegistry[*template](s.resourceFeed)
	for _, option := range options {
		option(s)
	}
	return s
}

// WithTitle sets the display name of the service.
func WithTitle(title string) Option { return func(s *Server) { s.info.Title = title } }

// WithDescription sets a description of the service for people.
func WithDescription(text string) Option { return func(s *Server) { s.info.Description = text } }

// WithWebsite sets the home page of the service.
func WithWebsite(url string) Option { return func(s *Server) { s.info.WebsiteUrl = url } }

// WithIcons sets the icons of the service.
func WithIcons(icons ...*Icon) Option { return func(s *Server) { s.info.Icons = icons } }

// WithInstructions sets the instructions for the model. MCP: instructions.
func WithInstructions(text string) Option { return func(s *Server) { s.instructions = text } }

// WithExtension announces a protocol extension by its id. settings is a JSON object. The edge
// announces to clients the extensions that it can carry: MCP Apps (io.modelcontextprotocol/ui), and
// those named in its configuration. WithExtension panics if settings is not a JSON object. MCP:
// capabilities.extensions.
func WithExtension(id, settings string) Option {
	mustBeObject("settings of extension "+id, settings)
	return func(s *Server) { s.extensions[id] = settings }
}

// WithListCache sets how long clients may cache the lists (0 to 30 days), and whether callers may
// share the cache entries. The default is no caching.
func WithListCache(ttl time.Duration, shared bool) Option {
	return func(s *Server) { s.cache = cacheHint(ttl, shared) }
}

// WithTools announces tools even if there are none when the edge connects.
func WithTools() Option {
	return func(s *Server) { s.announce.Tools = &mcpedgev1.ToolFeatures{} }
}

// WithResources announces resources even if there are none when the edge connects.
func WithResources() Option {
	return func(s *Server) { s.announce.Resources = &mcpedgev1.ResourceFeatures{} }
}

// WithPrompts announces prompts even if there are none when the edge connects.
func WithPrompts() Option {
	return func(s *Server) { s.announce.Prompts = &mcpedgev1.PromptFeatures{} }
}

// WithLogger sets the logger of the service, for start, stop and panics of handlers. The default is
// slog.Default.
func WithLogger(log *slog.Logger) Option { return func(s *Server) { s.log = log } }

// WithMaskedErrors hides errors of handlers that have no reason, as panics are hidden: the client
// sees that there was a fault, and the log has the error. A *Failure, a gRPC status and
// ErrUnanswered are shown. By default the model sees the text of any error.
func WithMaskedErrors() Option { return func(s *Server) { s.maskErrors = true } }

// WithTracerProvider sets the provider of the spans with which Serve and Main continue the edge's
// traces. The default is the global provider, if otel.SetTracerProvider was called before Serve.
func WithTracerProvider(p trace.TracerProvider) Option { return func(s *Server) { s.tracing = p } }

// WithServerOptions adds options, such as credentials and interceptors, to the gRPC server of Serve
// and Main, after those of this package.
func WithServerOptions(options ...grpc.ServerOption) Option {
	return func(s *Server) { s.grpcOptions = append(s.grpcOptions, options...) }
}

// WithGrace sets how long Serve waits for running calls when it stops. The default is 10 s.
func WithGrace(d time.Duration) Option { return func(s *Server) { s.grace = d } }

// ToolsChanged notifies subscribers that the list of tools has changed. AddTool and RemoveTool call
// it.
func (s *Server) ToolsChanged() { s.toolFeed.publish("") }

// PromptsChanged notifies subscribers that the list of prompts has changed. AddPrompt and
// RemovePrompt call it.
func (s *Server) PromptsChanged() { s.promptFeed.publish("") }

// ResourcesChanged notifies subscribers that the list of resources or templates has changed. The
// methods that add or remove them call it. A ResourceProvider calls it when its list changes.
func (s *Server) ResourcesChanged() { s.resourceFeed.publish("") }

// ResourceUpdated notifies subscribers of uri, or of a parent (a URI ending in "/"), that its
// contents have changed.
func (s *Server) ResourceUpdated(uri string) { s.updates.publish(uri) }

// Close ends all change feeds permanently. Serve calls it. A caller of Register must call it before
// the gRPC server's GracefulStop, which would otherwise wait for the feeds.
func (s *Server) Close() {
	s.closeOnce.Do(func() {
		for _, f := range []*feed{s.toolFeed, s.promptFeed, s.resourceFeed, s.updates} {
			f.close()
		}
	})
}

func cacheHint(ttl time.Duration, shared bool) *mcpedgev1.CacheHint {
	hint := &mcpedgev1.CacheHint{Ttl: durationpb.New(ttl.Truncate(time.Millisecond)),
		Scope: mcpedgev1.CacheScope_CACHE_SCOPE_PRIVATE}
	if shared {
		hint.Scope = mcpedgev1.CacheScope_CACHE_SCOPE_PUBLIC
	}
	return hint
}
