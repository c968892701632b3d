package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability/hook"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
)

func TestAsk(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Tool      string
			Arguments map[string]any
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		switch {
		case in.Arguments["n"] == 1.0:
			_, _ = w.Write([]byte(`{"allow":true}`))
		case in.Tool == "down":
			w.WriteHeader(http.StatusBadGateway)
		default:
			_, _ = w.Write([]byte(`{"allow":false,"reason":"no"}`))
		}
	}))
	defer s.Close()
	check := ask(s.URL)
	call := func(tool, args string) error {
		return check(context.Background(), &hook.Call{Target: &hookv1.Target{Name: tool}, ArgumentsJson: args})
	}
	if err := call("x", `{"n":1}`); err != nil {
		t.Error(err)
	}
	if err := call("x", `{"n":2}`); err == nil || err.Error() != hook.Deny("no").Error() {
		t.Errorf("a denial gave %v", err)
	}
	if err := call("down", `{}`); err == nil || !strings.Contains(err.Error(), "502") {
		t.Errorf("a failure gave %v", err)
	}
}
