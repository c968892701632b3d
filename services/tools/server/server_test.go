package server

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(await.Leaks(m)) }

type outcome = capabilitytest.Outcome[mcpedgev1.CallToolResult]

// call calls a tool and fails the test unless there is a result.
func call(t *testing.T, c *capabilitytest.Client, name string, arguments any) *outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), await.Patience)
	defer cancel()
	out, err := c.CallTool(ctx, name, arguments)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

func text(o *outcome) string {
	var all []string
	for _, c := range o.Result.GetContent() {
		all = append(all, c.GetText().GetText())
	}
	return strings.Join(all, "\n")
}

func structured(t *testing.T, o *outcome, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.Result.GetStructuredContentJson()), into); err != nil {
		t.Fatalf("structured content %q: %v", o.Result.GetStructuredContentJson(), err)
	}
}

func TestToolsAreDescribed(t *testing.T) {
	c := capabilitytest.Start(t, New(Options{}))
	list, err := c.Tools.ListTools(context.Background(), &mcpedgev1.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	hints := map[string][2]bool{ // read-only, idempotent
		"calculator_arithmetic": {true, true}, "weather_current": {true, true}, "search_flights": {true, true},
		"book_trip": {false, false}, "recommend_flight": {true, true}, "list_workspace": {true, true}, "countdown": {true, true},
	}
	for _, tool := range list.GetTools() {
		want, known := hints[tool.GetName()]
		a := tool.GetAnnotations()
		if !known || tool.GetTitle() == "" || tool.GetDescription() == "" || a.GetReadOnly() != want[0] || a.GetIdempotent() != want[1] ||
			a.Destructive == nil || a.GetDestructive() || a.OpenWorld == nil || a.GetOpenWorld() {
			t.Errorf("%v", tool)
		}
		if !json.Valid([]byte(tool.GetInputSchemaJson())) {
			t.Errorf("%s: input schema %q", tool.GetName(), tool.GetInputSchemaJson())
		}
		delete(hints, tool.GetName())
	}
	if len(hints) > 0 {
		t.Errorf("not listed: %v", hints)
	}
}

func TestCalculator(t *testing.T) {
	c := capabilitytest.Start(t, New(Options{}))
	out := call(t, c, "calculator_arithmetic", map[string]any{"expression": "2*(3+4)^2"})
	var got arithmeticResult
	structured(t, out, &got)
	if text(out) != "98" || got != (arithmeticResult{98, "2*(3+4)^2"}) || out.Result.GetIsError() {
		t.Errorf("text %q, structured %+v", text(out), got)
	}
	out = call(t, c, "calculator_arithmetic", map[string]any{"expression": "1/0"})
	if !out.Result.GetIsError() || !strings.Contains(text(out), "at position 2: division by zero") {
		t.Errorf("1/0: %v %q", out.Result.GetIsError(), text(out))
	}
}

func TestTravel(t *testing.T) {
	c := capabilitytest.Start(t, New(Options{}))
	out := call(t, c, "weather_current", map[string]any{"city": "barcelona"})
	if again := call(t, c, "weather_current", map[string]any{"city": "BCN"}); text(out) != text(again) || !strings.Contains(text(out), "Barcelona, Spain, now: ") {
		t.Errorf("weather %q, then %q", text(out), text(again))
	}
	out = call(t, c, "weather_current", map[string]any{"city": "Atlantis"})
	if !out.Result.GetIsError() || !strings.Contains(text(out), `no weather for "Atlantis"; known cities: Amsterdam (AMS), `) {
		t.Errorf("Atlantis: %q", text(out))
	}
	out = call(t, c, "search_flights", map[string]any{"origin": "Zurich", "destination": "JFK", "date": "2026-07-28"})
	var list flightList
	structured(t, out, &list)
	if list.Origin != "Zurich" || list.Destination != "New York" || list.Date != "2026-07-28" || len(list.Flights) < 2 || list.Flights[0].PriceEUR <= 0 {
		t.Errorf("flights: %+v", list)
	}
	for arguments, want := range map[[3]string]string{
		{"Zurich", "Nowhere", ""}:        `destination "Nowhere" is not known`,
		{"Zurich", "zrh", ""}:            "both Zurich",
		{"Zurich", "London", "tomorrow"}: `date "tomorrow": write`,
	} {
		out := call(t, c, "search_flights", map[string]any{"origin": arguments[0], "destination": arguments[1], "date": arguments[2]})
		if !out.Result.GetIsError() || !strings.Contains(text(out), want) {
			t.Errorf("%v: %q", arguments, text(out))
		}
	}
}

func TestBookTrip(t *testing.T) {
	c := capabilitytest.Start(t, New(Options{}))
	var keys []string
	answer := map[string]*capability.InputResponse{
		"preferences":  capabilitytest.Accepted(`{"seat":"aisle","room":"suite","insurance":true}`),
		"confirmation": capabilitytest.Accepted(`{"confirm":true}`),
	}
	c.Answer = func(r *capability.InputRequest) *capability.InputResponse {
		keys = append(keys, r.GetKey())
		return answer[r.GetKey()]
	}
	for want := int64(1); want <= 2; want++ {
		out := call(t, c, "book_trip", map[string]any{"destination": "Barcelona"})
		var got tripResult
		structured(t, out, &got)
		if got.Status != "booked" || got.Booking != want || *got.Wishes != (tripWishes{"aisle", "suite", true}) || out.Rounds != 3 {
			t.Errorf("booking %d: %+v in %d rounds", want, got, out.Rounds)
		}
		if !strings.Contains(text(out), "3 nights in Barcelona: seat aisle, suite room, with insurance. Booking number") {
			t.Errorf("text: %q", text(out))
		}
	}
	if strings.Join(keys, " ") != "preferences confirmation preferences confirmation" {
		t.Errorf("asked %v", keys)
	}
	for name, test := range map[string]struct {
		first, second *capability.InputResponse
		status        string
	}{
		"declined at once":  {capabilitytest.Declined(), nil, "declined"},
		"cancelled at once": {capabilitytest.Dismissed(), nil, "cancelled"},
		"declined at last":  {answer["preferences"], capabilitytest.Declined(), "declined"},
		"not confirmed":     {answer["preferences"], capabilitytest.Accepted(`{"confirm":false}`), "declined"},
		"cancelled at last": {answer["preferences"], capabilitytest.Dismissed(), "cancelled"},
	} {
		c.Answer = func(r *capability.InputRequest) *capability.InputResponse {
			if r.GetKey() == "preferences" {
				return test.first
			}
			return test.second
		}
		out := call(t, c, "book_trip", map[string]any{"destination": "Rome", "nights": 1})
		var got tripResult
		structured(t, out, &got)
		if got.Status != test.status || got.Booking != 0 || out.Result.GetIsError() || !strings.Contains(text(out), "Nothing was booked") {
			t.Errorf("%s: %+v %q", name, got, text(out))
		}
	}
	if out := call(t, c, "book_trip", map[string]any{"destination": "Nowhere"}); !out.Result.GetIsError() {
		t.Errorf("nowhere: %q", text(out))
	}
}

func TestRecommendFlight(t *testing.T) {
	c := capabilitytest.Start(t, New(Options{}))
	var asked string
	c.Answer = func(r *capability.InputRequest) *capability.InputResponse {
		asked = r.GetCreateMessage().GetMessages()[0].GetContent()[0].GetText().GetText()
		return capabilitytest.Sampled("Take the first one.")
	}
	arguments := map[string]any{"origin": "Zurich", "destination": "New York", "preferences": "cheap"}
	out := call(t, c, "recommend_flight", arguments)
	if !strings.HasPrefix(text(out), "Take the first one.") || !strings.Contains(asked, "from Zurich to New York") || !strings.Contains(asked, "cheap") {
		t.Errorf("asked %q, got %q", asked, text(out))
	}
	c.Answer = func(*capability.InputRequest) *capability.InputResponse { return capabilitytest.Sampled(" ") }
	if out := call(t, c, "recommend_flight", arguments); !out.Result.GetIsError() {
		t.Errorf("an answer without text: %q", text(out))
	}
}

func TestListWorkspace(t *testing.T) {
	c := capabilitytest.Start(t, New(Options{}))
	c.Answer = func(*capability.InputRequest) *capability.InputResponse {
		return capabilitytest.Roots(&capability.Root{Uri: "file:///a", Name: "A"}, &capability.Root{Uri: "file:///b"})
	}
	out := call(t, c, "list_workspace", nil)
	if want := "The client has 2 roots.\nfile:///a (A)\nfile:///b"; text(out) != want {
		t.Errorf("%q, want %q", text(out), want)
	}
	c.Answer = func(*capability.InputRequest) *capability.InputResponse { return capabilitytest.Roots() }
	if out = call(t, c, "list_workspace", nil); out.Result.GetStructuredContentJson() != `{"roots":[]}` {
		t.Errorf("no roots: %q", out.Result.GetStructuredContentJson())
	}
}

func TestCountdown(t *testing.T) {
	c := capabilitytest.Start(t, New(Options{}))
	out := call(t, c, "countdown", map[string]any{"steps": 3, "interval_ms": 1})
	if len(out.Progress) != 3 || len(out.Logs) != 3 || out.Progress[2].GetProgress() != 3 || out.Progress[2].GetTotal() != 3 ||
		out.Logs[0].GetDataJson() != `"step 1 of 3, 2 left"` || out.Logs[0].GetLevel() != capability.LevelInfo {
		t.Errorf("%+v", out)
	}
	for _, arguments := range []map[string]any{{"steps": 0}, {"steps": 1001}, {"interval_ms": -1}, {"interval_ms": 60001}} {
		if out := call(t, c, "countdown", arguments); out.Failure == nil && !out.Result.GetIsError() {
			t.Errorf("%v was accepted", arguments)
		}
	}
}

func TestCountdownEndsWithItsCaller(t *testing.T) {
	c := capabilitytest.Start(t, New(Options{}))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := c.CallTool(ctx, "countdown", map[string]any{"steps": 1000, "interval_ms": 60000})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("error %v, want DEADLINE_EXCEEDED", err)
	}
}
