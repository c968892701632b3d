package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/tasks"
)

// oneWaits has the task t, which waits for the approval b.
type oneWaits struct {
	// overtaken: another decision is made between MayDecide and Decide.
	overtaken bool
	decided   []string
}

func (*oneWaits) Approval(context.Context, string) (*tasks.Waiting, error) { return nil, nil }

func (*oneWaits) Approvals(context.Context, string, int) ([]*tasks.Waiting, string, error) {
	return nil, "", nil
}

func (w *oneWaits) MayDecide(_ context.Context, id, approval string, _ *mcp.Principal) (*tasks.Waiting, error) {
	if approval != "b" {
		return nil, tasks.ErrOtherApproval
	}
	return &tasks.Waiting{ID: id, ApprovalID: "b", Approval: mcp.Approval{Tool: "pay"}}, nil
}

func (w *oneWaits) Decide(ctx context.Context, id, approval string, by *mcp.Principal, grant bool, reason string) (*tasks.Waiting, error) {
	if w.overtaken {
		return nil, tasks.ErrOtherApproval
	}
	w.decided = append(w.decided, fmt.Sprint(id, " ", approval, " ", grant, " ", reason))
	return w.MayDecide(ctx, id, approval, by)
}

// decisions is an Auditor of decisions.
type decisions struct{ lines []string }

func (d *decisions) Operate(_ context.Context, a *Act) (func(string), error) {
	return func(outcome string) {
		d.lines = append(d.lines, fmt.Sprintf("%s of %s %q known %t: %s", a.Method, a.Task, a.Approval, a.Awaited != nil, outcome))
	}, nil
}

// TestDecisionsNameTheirApproval: a decision that names no approval, or another one than that which waits, is refused with what to do
// instead and changes nothing; the record has what it named.
func TestDecisionsNameTheirApproval(t *testing.T) {
	for name, x := range map[string]struct {
		path, body, want string
		overtaken        bool
		decided, record  string
	}{
		"granted":   {path: ":grant", body: `{"approval":"b"}`, want: `"approval":"b"`, decided: "t b true ", record: `admin/approvals/grant of t "b" known true: ok`},
		"refused":   {path: ":refuse", body: `{"approval":"b","reason":"no"}`, want: `"id":"t"`, decided: "t b false no", record: `admin/approvals/refuse of t "b" known true: ok`},
		"none":      {path: ":grant", body: `{}`, want: `"code":3,"message":"approval: it is missing: send the approval that GET /v1/approvals has beside the id`},
		"too long":  {path: ":refuse", body: `{"approval":"` + strings.Repeat("b", 65) + `"}`, want: `"code":3,"message":"approval: it has 65 bytes, the limit is 64`},
		"another":   {path: ":grant", body: `{"approval":"a"}`, want: `"code":9,"message":"the call waits for another approval than the one that the decision names`, record: `admin/approvals/grant of t "a" known false: failed_precondition`},
		"overtaken": {path: ":refuse", body: `{"approval":"b"}`, overtaken: true, want: `"code":9,"message":"the call waits for another approval`, record: `admin/approvals/refuse of t "b" known true: failed_precondition`},
	} {
		t.Run(name, func(t *testing.T) {
			waits, records := &oneWaits{overtaken: x.overtaken}, &decisions{}
			r, w := httptest.NewRequest(http.MethodPost, "/v1/approvals/t"+x.path, strings.NewReader(x.body)), httptest.NewRecorder()
			r.Header.Set("Content-Type", "application/json")
			newDecisions(&API{Approvals: waits}, operations{records}).ServeHTTP(w, r)
			body := strings.NewReplacer(`": "`, `":"`, `", "`, `","`, `": `, `":`, `, "`, `,"`).Replace(w.Body.String())
			if !strings.Contains(body, x.want) {
				t.Errorf("%d %s, want %s", w.Code, body, x.want)
			}
			if !slices.Equal(waits.decided, nonempty(x.decided)) || !slices.Equal(records.lines, nonempty(x.record)) {
				t.Errorf("decided %q, recorded %q", waits.decided, records.lines)
			}
		})
	}
}

// nonempty returns a text as a list, or nil if it is empty.
func nonempty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
