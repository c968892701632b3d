package translate

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// The page for authors of backends lists each reason with its effect for a client, by a Failure and
// by a status.
func TestFailuresAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../docs/backends/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	newest, oldest := revision.Stateless(), revision.Assumed()
	code := func(r *revision.Rules, k mcp.Kind) string {
		return "−" + strings.TrimPrefix(fmt.Sprint(r.Code(k)), "-")
	}
	shown := func(e *mcp.Error, m mcp.Method) string {
		e = ForMethod(e, m, "x")
		if m == mcp.MethodToolsCall {
			if _, model := ToolError(newest, NewServer(&pb.Implementation{}), e); model {
				return "tool error"
			}
		}
		out := code(newest, e.Kind)
		if before := code(oldest, e.Kind); before != out {
			out += ", before " + newest.Version + " " + before
		}
		return out
	}
	row := func(e *mcp.Error) string {
		return fmt.Sprintf("| %s | %s | %s |", shown(e, mcp.MethodToolsCall), shown(e, mcp.MethodResourcesRead), shown(e, mcp.MethodPromptsGet))
	}
	for reason, of := range reasons {
		name := strings.TrimPrefix(reason.String(), "FAILURE_REASON_")
		byFailure, byStatus := row(Failure(&pb.Failure{Reason: reason, Message: "x"}, "b")), row(Status(status.Error(of, "x"), "b", 0))
		if byFailure != byStatus {
			t.Errorf("%s: a Failure is %s, a status %s", name, byFailure, byStatus)
		}
		if want := "\n| " + name + " " + byFailure + "\n"; !strings.Contains(page, want) {
			t.Errorf("docs/backends/failures.md lacks%s", want)
		}
	}
	if want := "\n| OUT_OF_RANGE (a status only) " + row(Status(status.Error(codes.OutOfRange, "x"), "b", 0)) + "\n"; !strings.Contains(page, want) {
		t.Errorf("docs/backends/failures.md lacks%s", want)
	}
	_, rest, _ := strings.Cut(page, "That of a status is sent for ")
	list, _, found := strings.Cut(rest, ";")
	if !found {
		t.Fatal("docs/backends/failures.md does not say which messages are sent")
	}
	for _, of := range outcomes {
		if strings.Contains(list, of.name) != (of.text == "") {
			t.Errorf("%s: its message is sent: %v; the page says %q", of.name, of.text == "", list)
		}
	}
}
