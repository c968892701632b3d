package admin

import (
	"context"
	_ "embed"
	"errors"
	"net/http"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/admin/v1"
)

// API has the sources of mcpedge.admin.v1.
type API struct {
	// Server serves calls, and ends sessions.
	Server Server
	// Curated returns what the catalog changes of the tool with a name or an alias. nil means that it
	// changes nothing.
	Curated func(name string) Curated
	// Memory is charged with the memory of calls; nil disables the charge.
	Memory *budget.Holder
	// Sessions looks up sessions.
	Sessions Directory
	// Tasks looks up tasks.
	Tasks Tasks
	// Approvals are the calls that wait for an approval.
	Approvals Approvals
	// Disabler disables and enables what Find finds.
	Disabler Disabler
	Find     Finder
	// Replica is this process.
	Replica Replica
}

// newGateway serves the API as REST, except for the ApprovalService.
func newGateway(ready Readiness, pool *backend.Pool, api *API, acts operations) http.Handler {
	ctx, mux := context.Background(), newMux()
	return gatewayHandler(mux,
		pb.RegisterCatalogServiceHandlerServer(ctx, mux, &catalog{client: newClient(api.Server, api.Replica.Status().Version, api.Disabler.Loaded, api.Memory), curated: api.Curated}),
		pb.RegisterSessionServiceHandlerServer(ctx, mux, &sessions{server: api.Server, directory: api.Sessions, acts: acts}),
		pb.RegisterTaskServiceHandlerServer(ctx, mux, &taskService{tasks: api.Tasks, acts: acts}),
		pb.RegisterDisabledServiceHandlerServer(ctx, mux, &disabledService{disabler: api.Disabler, find: api.Find, acts: acts}),
		pb.RegisterReplicaServiceHandlerServer(ctx, mux, &replica{ready: ready, pool: pool, self: api.Replica, acts: acts}),
	)
}

// newDecisions serves the ApprovalService as REST. It is a separate gateway because
// Options.Approvers authenticates its callers, and a gateway accepts more spellings of a path than
// http.ServeMux, such as %2F for a slash.
func newDecisions(api *API, acts operations) http.Handler {
	mux := newMux()
	return gatewayHandler(mux, pb.RegisterApprovalServiceHandlerServer(context.Background(), mux, &approvalService{approvals: api.Approvals, acts: acts}))
}

// newMux returns a gateway without services. It calls them in process: there is no gRPC server.
func newMux() *runtime.ServeMux {
	return runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, marshaler{&runtime.JSONPb{
			MarshalOptions: protojson.MarshalOptions{EmitDefaultValues: true},
		}}),
		// A name may have any character, "/" as %2F too.
		runtime.WithUnescapingMode(runtime.UnescapingModeAllCharacters),
		// Otherwise a POST with a form, which any web page can send, would be treated as a GET.
		runtime.WithDisablePathLengthFallback(),
		runtime.WithIncomingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithErrorHandler(fail),
		runtime.WithRoutingErrorHandler(noRoute),
	)
}

// gatewayHandler returns the handler of a gateway after the registration of its services.
func gatewayHandler(mux *runtime.ServeMux, registered ...error) http.Handler {
	if err := errors.Join(registered...); err != nil {
		panic(err) // The generated code registers its own constant patterns.
	}
	return traced(mux)
}

// marshaler makes JSON in which all control characters are escaped, including those that JSON
// allows in strings. Clients and backends choose names, and operators read responses in terminals.
type marshaler struct{ *runtime.JSONPb }

// Marshal implements runtime.Marshaler.
func (m marshaler) Marshal(v any) ([]byte, error) {
	text, err := m.JSONPb.Marshal(v)
	return mcp.EscapeControls(text), err
}

// fail responds with an error, and with Retry-After if its status has a delay.
func fail(ctx context.Context, mux *runtime.ServeMux, m runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	code := runtime.HTTPStatusFromCode(status.Code(err))
	if h := (*runtime.HTTPStatusError)(nil); errors.As(err, &h) {
		code = h.HTTPStatus
	}
	web.RetryAfter(w, code, retryAfter(err))
	runtime.DefaultHTTPErrorHandler(ctx, mux, m, w, r, err)
}

// noRoute responds to requests without a route.
func noRoute(ctx context.Context, mux *runtime.ServeMux, m runtime.Marshaler, w http.ResponseWriter, r *http.Request, code int) {
	const see = ": see /openapi.json for what is"
	err := &runtime.HTTPStatusError{HTTPStatus: code, Err: status.Error(codes.NotFound, web.Quoted(r.URL.Path)+" is not served here"+see)}
	switch code {
	case http.StatusMethodNotAllowed:
		err.Err = status.Error(codes.Unimplemented, r.Method+" of "+web.Quoted(r.URL.Path)+" is not served here"+see)
	case http.StatusBadRequest:
		err.Err = status.Error(codes.InvalidArgument, "the path "+web.Quoted(r.URL.Path)+" is malformed"+see)
	}
	fail(ctx, mux, m, w, r, err)
}

// document is the OpenAPI description, generated from the services' comments.
//
//go:embed openapi/admin.swagger.json
var document []byte

func describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", web.TypeJSON)
	_, _ = w.Write(document)
}
