package translate

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// notification checks an event's params, and validates it against the schema.
func notification(t *testing.T, r *revision.Rules, definition string, ev mcp.Event, want string) {
	t.Helper()
	head := `{"jsonrpc":"2.0","method":"` + string(ev.Method) + `","params":`
	same(t, r, definition, []byte(head+string(ev.Params)+`}`), head+want+`}`)
}

func TestProgress(t *testing.T) {
	tests := []struct {
		name, token string
		p           *pb.Progress
		want        byRevision
	}{
		{"least", `7`, &pb.Progress{}, byRevision{`{"progressToken":7,"progress":0}`}},
		{"full", `"t"`, &pb.Progress{Progress: 0.1, Total: ptr(1e21), Message: "m", MetaJson: `{"k":1,"io.modelcontextprotocol/x":2,"io.modelcontextprotocol/subscriptionId":3}`}, byRevision{
			0: `{"progressToken":"t","progress":0.1,"total":1e+21,"_meta":{"k":1}}`,
			1: `{"progressToken":"t","progress":0.1,"total":1e+21,"message":"m","_meta":{"k":1}}`,
			4: `{"progressToken":"t","progress":0.1,"total":1e+21,"message":"m","_meta":{"k":1,"io.modelcontextprotocol/x":2}}`,
		}},
		{"zero total", `1`, &pb.Progress{Progress: 50, Total: ptr(0.0)}, byRevision{`{"progressToken":1,"progress":50,"total":0}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.each(t, func(t *testing.T, r *revision.Rules, want string) {
				ev, err := Progress(r, json.RawMessage(tt.token), tt.p)
				if err != nil {
					t.Fatal(err)
				}
				notification(t, r, "ProgressNotification", ev, want)
				if ev.Method != mcp.NotifyProgress || ev.Progress != tt.p.Progress {
					t.Errorf("got %s with %v", ev.Method, ev.Progress)
				}
			})
		})
	}
	for part, p := range map[string]*pb.Progress{
		"progress.progress: NaN":            {Progress: math.NaN()},
		"progress.total: +Inf":              {Total: ptr(math.Inf(1))},
		"progress.meta_json: no valid JSON": {MetaJson: "{"},
	} {
		_, err := Progress(r2607, json.RawMessage(`1`), p)
		refused(t, err, mcp.KindContract, part)
	}
}

func TestLogMessage(t *testing.T) {
	for level := pb.LogLevel_LOG_LEVEL_DEBUG; level <= pb.LogLevel_LOG_LEVEL_EMERGENCY; level++ {
		want := `{"level":"` + mcp.LogLevel(level).String() + `","logger":"l","data":{"n":1.0},"_meta":{"k":1}}`
		byRevision{want}.each(t, func(t *testing.T, r *revision.Rules, want string) {
			ev, err := LogMessage(r, &pb.LogMessage{Level: level, Logger: "l", DataJson: "{\"n\":\r1.0}", MetaJson: `{"k":1}`})
			if err != nil {
				t.Fatal(err)
			}
			notification(t, r, "LoggingMessageNotification", ev, want)
		})
	}
	for part, m := range map[string]*pb.LogMessage{
		"log.level: LOG_LEVEL_UNSPECIFIED": {DataJson: `1`},
		"log.level: 9":                     {Level: 9, DataJson: `1`},
		"log.data_json: empty":             {Level: 1},
		"log.data_json: no valid JSON":     {Level: 1, DataJson: `nope`},
		"log.meta_json: of type null":      {Level: 1, DataJson: `1`, MetaJson: `null`},
	} {
		_, err := LogMessage(r2607, m)
		refused(t, err, mcp.KindContract, part)
	}
}
