package external

import (
	"strings"
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/genproto/googleapis/rpc/status"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// A reason is of bounded length, and shows nothing that it is not.
func TestReason(t *testing.T) {
	denied := func(body, message string) *authv3.CheckResponse {
		return &authv3.CheckResponse{
			Status:       &status.Status{Code: 7, Message: message},
			HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{Body: body}},
		}
	}
	for _, x := range []struct {
		resp *authv3.CheckResponse
		want string
	}{
		{denied("of the body", "of the status"), "of the body"},
		{denied("", "of the status"), "of the status"},
		{denied("", ""), ""},
		{&authv3.CheckResponse{Status: &status.Status{Code: 7}}, ""},
		{denied("a\x00\r\n\x1b[31m\u202eb\u2028\n", ""), "a[31mb"},
		{denied(strings.Repeat("ü", MaxReason), ""), strings.Repeat("ü", MaxReason)},
		{denied(strings.Repeat("\n", 300)+strings.Repeat("ü", MaxReason+1), ""), strings.Repeat("ü", MaxReason)},
	} {
		if got := reason(x.resp); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}

// An id is sent as the client sent it, a number or a text.
func TestID(t *testing.T) {
	for raw, want := range map[string]any{`7`: 7.0, `"seven"`: "seven"} {
		id, err := jsonrpc.NewID(raw)
		if err != nil {
			t.Fatal(err)
		}
		req, _, err := request(&mcp.Call{Method: mcp.MethodToolsCall, Envelope: mcp.Envelope{ID: id}}, DefaultMaxParams)
		if err != nil {
			t.Fatal(err)
		}
		if got := req.GetAttributes().GetMetadataContext().GetFilterMetadata()[Namespace].AsMap()["id"]; got != want {
			t.Errorf("%s is told as %v", raw, got)
		}
	}
}
