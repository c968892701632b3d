package translate

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Progress renders notifications/progress (Base Protocol, "Progress") for a token, which keeps its
// JSON type. It does not check that the value increases.
func Progress(r *revision.Rules, token json.RawMessage, p *pb.Progress) (mcp.Event, error) {
	dst := append(make([]byte, 0, 96+len(token)+stringSize(p.GetMessage())+len(p.GetMetaJson())), `{"progressToken":`...)
	dst = append(append(dst, token...), `,"progress":`...)
	dst, err := appendFloat(dst, "progress", p.GetProgress())
	if err == nil && p != nil && p.Total != nil {
		dst, err = appendFloat(append(dst, `,"total":`...), "total", p.GetTotal())
	}
	if err == nil {
		if r.ProgressMessage {
			dst = appendText(dst, `,"message":`, p.GetMessage())
		}
		dst, err = appendMessageMeta(dst, r, p.GetMetaJson())
	}
	if err != nil {
		return mcp.Event{}, withField("progress", err)
	}
	return mcp.Event{Method: mcp.NotifyProgress, Params: append(dst, '}'), Progress: p.GetProgress()}, nil
}

// LogMessage renders notifications/message (Server Features, "Logging"). It does not filter by
// level.
func LogMessage(r *revision.Rules, m *pb.LogMessage) (mcp.Event, error) {
	level := m.GetLevel()
	if level <= pb.LogLevel_LOG_LEVEL_UNSPECIFIED || level > pb.LogLevel_LOG_LEVEL_EMERGENCY {
		return mcp.Event{}, contractError("log.level", "%v is not a level; send LOG_LEVEL_DEBUG to LOG_LEVEL_EMERGENCY", level)
	}
	if m.GetDataJson() == "" {
		return mcp.Event{}, contractError("log.data_json", "empty; send a JSON value, such as a string")
	}
	dst := append(make([]byte, 0, 64+len(m.GetLogger())+len(m.GetDataJson())+len(m.GetMetaJson())), `{"level":"`...)
	dst = append(append(dst, mcp.LogLevel(level).String()...), '"')
	dst = appendText(dst, `,"logger":`, m.GetLogger())
	dst, err := appendJSON(append(dst, `,"data":`...), "data_json", m.GetDataJson())
	if err == nil {
		dst, err = appendMessageMeta(dst, r, m.GetMetaJson())
	}
	if err != nil {
		return mcp.Event{}, withField("log", err)
	}
	return mcp.Event{Method: mcp.NotifyMessage, Params: append(dst, '}')}, nil
}
