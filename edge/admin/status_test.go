package admin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/admin/v1"
)

// Every kind has a code, and the page for operators has every code with its status.
func TestKindsHaveCodes(t *testing.T) {
	page, err := os.ReadFile("../../docs/admin.md")
	if err != nil {
		t.Fatal(err)
	}
	used := map[codes.Code]bool{}
	for k := mcp.KindNone + 1; k <= mcp.KindInternal; k++ {
		code, ok := kinds[k]
		if !ok || code == codes.OK {
			t.Errorf("kind %d has no code", k)
		}
		used[code] = true
	}
	if len(kinds) != int(mcp.KindInternal) {
		t.Errorf("the table has %d rows, there are %d kinds", len(kinds), mcp.KindInternal)
	}
	upper := regexp.MustCompile(`([a-z])([A-Z])`)
	for code := range used {
		name := strings.ToUpper(upper.ReplaceAllString(code.String(), "${1}_${2}"))
		if code == codes.Canceled {
			name = "CANCELLED"
		}
		as := runtime.HTTPStatusFromCode(code)
		if code == kinds[mcp.KindUnknownOutcome] {
			as = http.StatusBadGateway
		}
		if row := fmt.Sprintf("\n| %d | %s (%d) |", as, name, code); !strings.Contains(string(page), row) {
			t.Errorf("docs/admin.md lacks the row%s", row)
		}
	}
}

// An error keeps its message, JSON-RPC code and data; data that protobuf cannot hold are left out.
func TestErrorsKeepTheirData(t *testing.T) {
	for data, want := range map[string]string{`{"uri":"x"}`: "x", `{"uri":1e999}`: ""} {
		err := failed(&mcp.Response{Kind: mcp.KindResourceNotFound, Body: []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no \"x\"","data":` + data + `}}`)})
		st := status.Convert(err)
		if st.Code() != codes.NotFound || st.Message() != `no "x"` || len(st.Details()) != 1 {
			t.Fatalf("%v with details %v", st, st.Details())
		}
		d, ok := st.Details()[0].(*pb.ErrorDetail)
		if !ok || d.GetCode() != -32602 || d.GetData().GetStructValue().GetFields()["uri"].GetStringValue() != want {
			t.Errorf("detail %v", st.Details()[0])
		}
	}
	if st := status.Convert(failed(&mcp.Response{Kind: mcp.Kind(255), Body: []byte("{}")})); st.Code() != codes.Internal {
		t.Errorf("an unknown kind is %v", st.Code())
	}
}

// An unknown outcome is 502 without Retry-After.
func TestUnknownOutcomesAreBadGateways(t *testing.T) {
	err := failed(&mcp.Response{Kind: mcp.KindUnknownOutcome, Body: []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-31520,"message":"broke"}}`)})
	w := httptest.NewRecorder()
	fail(t.Context(), runtime.NewServeMux(), &runtime.JSONPb{}, w, httptest.NewRequest(http.MethodPost, "/", nil), err)
	if w.Code != http.StatusBadGateway || w.Header().Get("Retry-After") != "" || !strings.Contains(w.Body.String(), "-31520") {
		t.Errorf("%d, %v, %s", w.Code, w.Header(), w.Body)
	}
}
