package dispatch

import (
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestResourceRouting(t *testing.T) {
	var log lockedBuffer
	prefixes := func(p ...string) *pb.DescribeResponse {
		return &pb.DescribeResponse{Resources: &pb.ResourceFeatures{UriPrefixes: p}}
	}
	a := &fake{name: "a", prefix: "a_", describe: prefixes("files:", "deep:"),
		resources: []*pb.Resource{{Uri: "x://exact/1", Name: "1"}},
		templates: []*pb.ResourceTemplate{{UriTemplate: "x://items/{id}", Name: "t"}, {UriTemplate: "x://items/{id}{?q}", Name: "t"}, {UriTemplate: "plain://text", Name: "t"}}}
	b := &fake{name: "b", describe: prefixes("files:b/", "deep:"),
		resources: []*pb.Resource{{Uri: "x://items/special", Name: "2"}},
		templates: []*pb.ResourceTemplate{{UriTemplate: "x://{kind}/{id}", Name: "t"}, {UriTemplate: "tree://{+path}", Name: "t"}}}
	d := start(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, a, b)
	for uri, want := range map[string]string{
		"x://exact/1":                            "a",
		"x://items/special":                      "a", // the template of the first backend wins over the resource of another
		"x://items/7":                            "a", // ambiguous: the first backend
		"x://items/8?q=1":                        "a",
		"x://other/7":                            "b",
		"x://items/a%20b":                        "a",
		"x://items/a b":                          "a", // A space is equal to its escape.
		"X://items/%37":                          "a",
		"X://ITEMS/7":                            "b", // by x://{kind}/{id}
		"plain://text":                           "a",
		"tree://a/b/c":                           "b",
		"files:a":                                "a",
		"files:b/c":                              "a", // the first backend, although another prefix is longer
		"deep:x":                                 "a", // equal prefixes: the first backend
		"unknown:x":                              "",
		"x://items/" + strings.Repeat("y", 8000): "a",
		"files:" + strings.Repeat("y", 8000):     "a",
	} {
		reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodResourcesRead, `{"uri":"`+uri+`"}`), nil)
		if want == "" {
			if kindOf(t, err) != mcp.KindResourceNotFound || !strings.Contains(string(mcp.AsError(err).Data), `{"uri":"`+uri+`"}`) {
				t.Errorf("%.40s: %v, data %.60s", uri, err, mcp.AsError(err).Data)
			}
			continue
		}
		if err != nil || !strings.Contains(string(reply.Result), "read from "+want) {
			t.Errorf("%.40s: %s, %v; want %s", uri, reply.Result, err, want)
		}
	}
	if n := strings.Count(log.String(), "matches the resource templates of two backends"); n != 1 {
		t.Errorf("the ambiguity was reported %d times", n)
	}
}

func TestReadOutcomes(t *testing.T) {
	f := &fake{name: "a", resources: []*pb.Resource{{Uri: "x:1", Name: "1"}}}
	d := start(t, Options{}, f)
	for name, tc := range map[string]struct {
		err     error
		message *pb.ReadResourceResponse
		kind    mcp.Kind
		data    string
	}{
		"status": {status.Error(codes.NotFound, "gone"), nil, mcp.KindResourceNotFound, `{"uri":"x:1"}`},
		"failure": {nil, &pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Failure{
			Failure: &pb.Failure{Reason: pb.FailureReason_FAILURE_REASON_NOT_FOUND, Message: "gone"}}}, mcp.KindResourceNotFound, `{"uri":"x:1"}`},
		"empty": {nil, &pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: &pb.ReadResourceResult{}}}, mcp.KindContract, ``},
		"input": {nil, &pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_InputRequired{InputRequired: &pb.InputRequired{
			Requests: []*pb.InputRequest{{Key: "k", Request: &pb.InputRequest_ListRoots{ListRoots: &pb.ListRoots{}}}}}}}, mcp.KindMissingCapability, `"roots"`},
	} {
		f.onRead = func(_ *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
			if tc.message != nil {
				return s.Send(tc.message)
			}
			return tc.err
		}
		_, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodResourcesRead, `{"uri":"x:1"}`), nil)
		if kindOf(t, err) != tc.kind || !strings.Contains(string(mcp.AsError(err).Data), tc.data) {
			t.Errorf("%s: %v, data %s", name, err, mcp.AsError(err).Data)
		}
	}
	if _, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodResourcesRead, `{"uri":7}`), nil); kindOf(t, err) != mcp.KindInvalidParams {
		t.Errorf("a number is not a URI: %v", err)
	}
}
