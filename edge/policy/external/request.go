package external

import (
	"fmt"
	"maps"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcpedge/mcpedge/edge/mcp"
	envoyv1 "github.com/mcpedge/mcpedge/gen/mcpedge/envoy/v1"
)

const (
	// Namespace is the metadata namespace of Envoy's MCP filter. It has the members method; id, as
	// the client sent it; params; MetaOmitted and ParamsOmitted.
	Namespace = "envoy.filters.http.mcp"
	// MetaOmitted is true if `_meta` and the sealed requestState were removed from the params
	// because the params were too large.
	MetaOmitted = "meta_omitted"
	// ParamsOmitted is true if more than that was removed, see Options.AskOmitted.
	ParamsOmitted = "params_omitted"
	// DefaultMaxParams is the default of Options.MaxParams.
	DefaultMaxParams = 64 << 10
	// MaxDepth bounds the nesting of params. Each level needs three levels in protobuf, and many
	// servers accept 100 levels.
	MaxDepth = 28
	// CallerNamespace is the metadata namespace with the caller's attributes in addition to
	// source.principal: issuer, client_id, scopes, roles and subject_is_client. It also has the set of the
	// request, unless that is the root.
	CallerNamespace = "mcpedge.principal"
	// MaxReason bounds a reason, in characters.
	MaxReason = 200
)

// withheld are the headers that are not sent: credentials, and session ids.
var withheld = map[string]bool{"authorization": true, "proxy-authorization": true, "cookie": true, "dpop": true, "mcp-session-id": true}

// request describes a call as Envoy's ext_authz filter does. Bytes that are not UTF-8 become
// U+FFFD, because protobuf cannot represent them. most bounds the params, in bytes of JSON. omitted
// describes the omitted params other than `_meta`, with the reason; empty means none. The error
// means that the params cannot be sent at all, which is the client's fault.
func request(call *mcp.Call, most int) (req *envoyv1.CheckRequest, omitted string, _ error) {
	about := map[string]*structpb.Value{"method": structpb.NewStringValue(string(call.Method))}
	if id := call.Envelope.ID; !id.IsZero() {
		v, err := valueOf([]byte(id.Raw()))
		if err != nil {
			return nil, "", fmt.Errorf("the id: %w", err)
		}
		about["id"] = v
	}
	params, err := show(call.Params.Raw(), most)
	if err != nil {
		return nil, "", err
	}
	if params.value != nil {
		about["params"] = params.value
	}
	if params.meta {
		about[MetaOmitted] = structpb.NewBoolValue(true)
	}
	if params.omitted != "" {
		about[ParamsOmitted] = structpb.NewBoolValue(true)
	}
	p := &call.Principal
	caller := map[string]*structpb.Value{
		"issuer": structpb.NewStringValue(text(p.Issuer)), "client_id": structpb.NewStringValue(text(p.Client)),
		"scopes": list(p.Scopes), "roles": list(p.Roles), "subject_is_client": structpb.NewBoolValue(p.SubjectIsClient),
	}
	if call.Set != "" {
		caller["set"] = structpb.NewStringValue(call.Set)
	}
	return &envoyv1.CheckRequest{Attributes: &envoyv1.AttributeContext{
		Source:  &envoyv1.AttributeContext_Peer{Address: addressOf(call), Principal: text(p.Subject)},
		Request: &envoyv1.AttributeContext_Request{Http: httpOf(call)},
		MetadataContext: &envoyv1.Metadata{FilterMetadata: map[string]*structpb.Struct{
			Namespace:       {Fields: about},
			CallerNamespace: {Fields: caller},
		}},
	}}, params.omitted, nil
}

func httpOf(call *mcp.Call) *envoyv1.AttributeContext_HttpRequest {
	out := &envoyv1.AttributeContext_HttpRequest{Id: call.ID, Method: "POST"}
	if call.HTTP.Header == nil {
		return out
	}
	out.Path, out.Host = text(call.HTTP.Path), text(call.HTTP.Host)
	out.Headers = map[string]string{":method": out.Method, ":path": out.Path, ":authority": out.Host}
	for name, values := range call.HTTP.Header {
		if name = strings.ToLower(text(name)); !withheld[name] {
			out.Headers[name] = text(strings.Join(values, ","))
		}
	}
	if call.Params.Wrapped != nil {
		unwrapHeaders(out.Headers, call)
	}
	return out
}

// unwrapHeaders replaces the headers that mirror a call of a tool of the edge by those of the
// wrapped request. It removes the headers that mirror arguments.
func unwrapHeaders(headers map[string]string, call *mcp.Call) {
	for name, value := range map[string]string{"mcp-method": string(call.Method), "mcp-name": mcp.EncodeHeader(call.Params.Sent.Target)} {
		if _, sent := headers[name]; sent {
			headers[name] = value
		}
	}
	maps.DeleteFunc(headers, func(name, _ string) bool { return strings.HasPrefix(name, "mcp-param-") })
}

func addressOf(call *mcp.Call) *envoyv1.Address {
	if !call.From.IsValid() {
		return nil
	}
	return &envoyv1.Address{Address: &envoyv1.Address_SocketAddress{SocketAddress: &envoyv1.SocketAddress{
		Address: call.From.String(), PortSpecifier: &envoyv1.SocketAddress_PortValue{},
	}}}
}

func list(texts []string) *structpb.Value {
	out := &structpb.ListValue{}
	for _, s := range texts {
		out.Values = append(out.Values, structpb.NewStringValue(text(s)))
	}
	return structpb.NewListValue(out)
}

func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// reason returns the text of a denial: the body of the response that Envoy would send, or else the
// message of the status.
func reason(resp *envoyv1.CheckResponse) string {
	said := resp.GetDeniedResponse().GetBody()
	if said == "" {
		said = resp.GetStatus().GetMessage()
	}
	var b strings.Builder
	n := 0
	for _, r := range said {
		if mcp.IsControl(r) {
			continue
		}
		if n++; n > MaxReason {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}
