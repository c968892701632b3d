package admin

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/transport/web"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/admin/v1"
)

// administrator is the caller by REST without authentication. Every token's issuer has a scheme, so
// no authenticated principal equals it.
var administrator = mcp.Principal{Subject: "admin", Issuer: "mcpedge"}

// allCapabilities are the capabilities of a caller that declares none: it receives all requests, and may
// answer them.
const allCapabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{}}`

// client sends requests in the newest stateless revision to the edge of which it is a part.
type client struct {
	server Server
	// info is the clientInfo.
	info []byte
	// loaded is Disabler.Loaded. Earlier requests are refused, because their targets may be
	// disabled.
	loaded func() bool
	// memory is charged with results until the response is made.
	memory *budget.Holder
}

func newClient(s Server, version string, loaded func() bool, memory *budget.Holder) *client {
	info := jsonrpc.AppendString([]byte(`{"name":"mcpedge-admin","version":`), version)
	return &client{server: s, info: append(info, '}'), loaded: loaded, memory: memory}
}

// params are a request's params while they are being written.
type params []byte

func (p *params) key(name string) {
	if len(*p) == 0 {
		*p = append(*p, '{')
	} else {
		*p = append(*p, ',')
	}
	*p = append(jsonrpc.AppendString(*p, name), ':')
}

func (p *params) text(name, value string) {
	p.key(name)
	*p = jsonrpc.AppendString(*p, value)
}

func (p *params) raw(name string, value []byte) {
	p.key(name)
	*p = append(*p, value...)
}

// object writes a Struct; nil is omitted.
func (p *params) object(name string, value *structpb.Struct) error {
	if value == nil {
		return nil
	}
	raw, err := protojson.Marshal(value)
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "%s: %v", name, err)
	}
	p.raw(name, raw)
	return nil
}

// round writes the data of previous rounds that a later round needs.
func (p *params) round(r *pb.Round) error {
	if r.GetState() != "" {
		p.text("requestState", r.GetState())
	}
	if len(r.GetResponses()) == 0 {
		return nil
	}
	var answers params
	for _, key := range slices.Sorted(maps.Keys(r.GetResponses())) {
		if err := answers.object(key, r.GetResponses()[key]); err != nil {
			return err
		}
	}
	p.raw("inputResponses", append(answers, '}'))
	return nil
}

// call sends one request and returns its result. nil capabilities mean everything.
func (c *client) call(ctx context.Context, method mcp.Method, p params, capabilities *structpb.Struct) (json.RawMessage, error) {
	if !c.loaded() {
		return nil, errNotLoaded
	}
	var meta params
	meta.text(mcp.MetaVersion, revision.Stateless().Version)
	meta.raw(mcp.MetaClientInfo, c.info)
	if capabilities == nil {
		meta.raw(mcp.MetaCapabilities, []byte(allCapabilities))
	} else if err := meta.object(mcp.MetaCapabilities, capabilities); err != nil {
		return nil, err
	}
	for _, name := range traceHeaders {
		if v, ok := ctx.Value(traceKey(name)).(string); ok {
			meta.text(name, v)
		}
	}
	p.raw("_meta", append(meta, '}'))
	body := append([]byte(`{"jsonrpc":"2.0","id":1,"method":`), jsonrpc.AppendString(nil, string(method))...)
	body = append(append(body, `,"params":`...), p...)
	var out unary
	memory := c.memory.Begin()
	defer memory.Release()
	c.server.Post(ctx, &mcp.Incoming{Body: append(body, "}}"...), HTTP: requestOf(ctx), Principal: caller(ctx), Memory: &memory}, &out)
	return out.result(ctx)
}

// traceHeaders are forwarded as the members of `_meta` with the same names.
var traceHeaders = [...]string{mcp.MetaTraceParent, mcp.MetaTraceState, mcp.MetaBaggage}

type traceKey string

type requestKey struct{}

// requestOf returns the HTTP request for which a call is made.
func requestOf(ctx context.Context) mcp.HTTP {
	h, _ := ctx.Value(requestKey{}).(mcp.HTTP)
	return h
}

// traced passes an HTTP request, and its trace context, to the calls that are made for it.
func traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), requestKey{}, web.PolicyRequest(r))
		for _, name := range traceHeaders {
			if v := r.Header.Get(name); v != "" {
				ctx = context.WithValue(ctx, traceKey(name), v)
			}
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
