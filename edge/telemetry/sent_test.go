package telemetry

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// A client's error is a failure whatever its code, and all codes of its own make one series.
func TestCodesOfClientsMakeNoSeries(t *testing.T) {
	tel, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tel.Shutdown(t.Context()) }()
	for code := range 1000 {
		tel.Answered(&Sent{Method: mcp.MethodElicit, At: time.Now(), Failed: true, Code: code})
	}
	tel.Answered(&Sent{Method: mcp.MethodElicit, At: time.Now(), Failed: true, Code: -1})
	tel.Answered(&Sent{Method: mcp.MethodElicit, At: time.Now()})
	families, err := tel.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, f := range families {
		if f.GetName() != "mcp_client_operation_duration_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			kind := ""
			for _, l := range m.GetLabel() {
				if l.GetName() == "error_type" {
					kind = l.GetValue()
				}
			}
			got[kind] += m.GetHistogram().GetSampleCount()
		}
	}
	if want := map[string]uint64{"_OTHER": 1000, "-1": 1, "": 1}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("series %v, want %v", got, want)
	}
}
