package matrix

import (
	"strings"
	"testing"
)

// TestSchemaCheck: what the check is for. Without schemas there is none to test.
func TestSchemaCheck(t *testing.T) {
	if schemaDir() == "" {
		t.Log("the schema check is left out: MCP_SCHEMA_DIR names no directory of schemas")
		return
	}
	loaded := map[string]*schemas{}
	for _, version := range versions {
		loaded[version] = loadSchemas(t, version)
	}
	result := func(r string) string { return `{"jsonrpc":"2.0","id":1,"result":` + r + `}` }
	tool := func(members string) string {
		return result(`{"tools":[{"name":"t","inputSchema":{"type":"object","x-any":1}` + members + `}]}`)
	}
	modern := func(r string) string {
		return result(strings.TrimSuffix(r, "}") + `,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
	}
	for _, tt := range []struct{ version, method, message, wrong string }{
		{vNov, "tools/list", tool(`,"title":"T"`), ""},
		{vMar, "tools/list", tool(`,"title":"T"`), "title"},
		{vOld, "tools/list", tool(`,"annotations":{}`), "annotations"},
		{vJun, "tools/list", tool(`,"icons":[]`), "icons"},
		{vNov, "tools/list", tool(`,"outputSchema":{"type":"array"}`), "outputSchema"},
		{vNov, "tools/list", modern(`{"tools":[]}`), "resultType"},
		{vNew, "tools/list", modern(`{"tools":[]}`), ""},
		{vNew, "tools/list", result(`{"tools":[]}`), "resultType"},
		{vNew, "tools/call", modern(`{"content":[]}`), "ttlMs"},
		{vMar, "tools/call", result(`{"content":[],"structuredContent":{}}`), "structuredContent"},
		{vNov, "tools/call", result(`{"content":[],"structuredContent":[]}`), "structuredContent"},
		{vOld, "tools/call", result(`{"content":[{"type":"audio","data":"","mimeType":"audio/wav"}]}`), "content"},
		{vNov, "ping", result(`{"_meta":{}}`), "empty"},
		{vNov, "roots/list", result(`{"roots":[]}`), "none"},
		{vNov, "", `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, ""},
		{vNew, "", `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, "no requests"},
		{vOld, "", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"m"}}`, "message"},
		{vNov, "", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":null,"progress":1}}`, "progressToken"},
		{vJun, "", `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"x"}}`, "no ElicitationComplete"},
		{vJun, "", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}}`, "mode"},
		{vNov, "", `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"m"}}`, "reserved"},
		{vNew, "", `{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"m"}}`, "data"},
		{vNew, "", `{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"m"}}`, "reserved"},
		{vNov, "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, "id"},
		{vMar, "", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`, ""},
	} {
		err := loaded[tt.version].message([]byte(tt.message), tt.method)
		switch {
		case tt.wrong == "" && err != nil:
			t.Errorf("%s refuses %s: %v", tt.version, tt.message, err)
		case tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)):
			t.Errorf("%s: %s gives %v, want it refused for %q", tt.version, tt.message, err, tt.wrong)
		}
	}
}
