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

// Server holds what a service offers and serves it by the gRPC contract. New makes one; the zero
// value is not usable. Everything may be added and removed at any time, from any goroutine: those
// who watch are told. A Server is served once: after Close it stays closed.
type Server struct {
	info         *Implementation
	instructions string
	extensions   map[string]string
	cache        *mcpedgev1.CacheHint
	announce     mcpedgev1.DescribeResponse // which services are announced though they are empty
	log          *slog.Logger
	grpcOptions  []grpc.ServerOption
	tracing      trace.TracerProvider // nil: the global one, if there is one
	grace        time.Duration
	identities   *identities // nil: callers need none

	tools     *registry[*tool]
	prompts   *registry[*prompt]
	resources *registry[*resource]
	templates *registry[*template]

	cancels sync.Map // by tool: what OnCancel was given

	mu        sync.RWMutex // guards providers
	providers []*provided

	toolFeed, promptFeed, resourceFeed *feed // of the lists
	updates                            *feed // of single resources
	closeOnce                          sync.Once
}

// Option adjusts a Server.
type Option func(*Server)

// New returns a Server with nothing in it yet. Name and version are shown to operators, and to
// clients when this is the edge's only backend.
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

// WithTitle sets the service's name for people.
func WithTitle(title string) Option { return func(s *Server) { s.info.Title = title } }

// WithDescription says for people what the service is.
func WithDescription(text string) Option { return func(s *Server) { s.info.Description = text } }

// WithWebsite sets the service's home page.
func WithWebsite(url string) Option { return func(s *Server) { s.info.WebsiteUrl = url } }

// WithIcons sets the service's icons.
func WithIcons(icons ...*Icon) Option { return func(s *Server) { s.info.Icons = icons } }

// WithInstructions tells the model how to use this service. MCP: instructions.
func WithInstructions(text string) Option { return func(s *Server) { s.instructions = text } }

// WithExtension announces a protocol extension by its id, with its settings: a JSON object. Clients are told of it when it
// reaches them whole: MCP Apps (io.modelcontextprotocol/ui) does, and what the edge's configuration names.
// It panics when settings is not valid JSON. MCP: capabilities.extensions.
func WithExtension(id, settings string) Option {
	mustBeObject("settings of extension "+id, settings)
	return func(s *Server) { s.extensions[id] = settings }
}

// WithListCache says how long clients may keep the lists (0 to 30 days), and whether all callers
// may share them. Without it: not at all.
func WithListCache(ttl time.Duration, shared bool) Option {
	return func(s *Server) { s.cache = cacheHint(ttl, shared) }
}

// WithTools announces tools although none is there when the edge connects.
func WithTools() Option {
	return func(s *Server) { s.announce.Tools = &mcpedgev1.ToolFeatures{} }
}

// WithResources announces resources although none is there when the edge connects.
func WithResources() Option {
	return func(s *Server) { s.announce.Resources = &mcpedgev1.ResourceFeatures{} }
}

// WithPrompts announces prompts although none is there when the edge connects.
func WithPrompts() Option {
	return func(s *Server) { s.announce.Prompts = &mcpedgev1.PromptFeatures{} }
}

// WithLogger sets where the service's own log goes (panics of handlers, start and stop);
// without it slog.Default.
func WithLogger(log *slog.Logger) Option { return func(s *Server) { s.log = log } }

// WithTracerProvider has Serve and Main continue the edge's traces with spans of this provider; without
// it they do with the global one, if otel.SetTracerProvider set one before they are called.
func WithTracerProvider(p trace.TracerProvider) Option { return func(s *Server) { s.tracing = p } }

// WithServerOptions adds options to the gRPC server that Serve and Main make, after the package's
// own: credentials, interceptors.
func WithServerOptions(options ...grpc.ServerOption) Option {
	return func(s *Server) { s.grpcOptions = append(s.grpcOptions, options...) }
}

// WithGrace bounds how long Serve waits for running calls when it stops; without it 10 s.
func WithGrace(d time.Duration) Option { return func(s *Server) { s.grace = d } }

// ToolsChanged tells those who watch to list the tools again. AddTool and RemoveTool do it
// themselves.
func (s *Server) ToolsChanged() { s.toolFeed.publish("") }

// PromptsChanged tells those who watch to list the prompts again. AddPrompt and RemovePrompt do it
// themselves.
func (s *Server) PromptsChanged() { s.promptFeed.publish("") }

// ResourcesChanged tells those who watch to list resources and templates again. Adding and
// removing does it by itself; a ResourceProvider whose list changed needs it.
func (s *Server) ResourcesChanged() { s.resourceFeed.publish("") }

// ResourceUpdated tells those who watch this URI, or a parent of it (a URI ending in "/"), to read
// it again.
func (s *Server) ResourceUpdated(uri string) { s.updates.publish(uri) }

// Close ends all change feeds, for good. Serve calls it; who uses Register calls it before the
// gRPC server's GracefulStop, which would otherwise wait for the feeds.
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
