package translate

import (
	"strconv"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

const (
	needSampling      = `{"sampling":{}}`
	needSamplingTools = `{"sampling":{"tools":{}}}`
)

// appendCreateMessage appends the params of sampling/createMessage (Client Features, "Sampling").
func appendCreateMessage(dst []byte, r *revision.Rules, x *pb.CreateMessage) ([]byte, error) {
	switch {
	case len(x.GetMessages()) == 0:
		return dst, contractError("messages", "empty; send at least one message")
	case x.GetMaxTokens() <= 0:
		return dst, contractError("max_tokens", "%d; send a number above 0", x.GetMaxTokens())
	}
	dst = append(dst, `{"messages":`...)
	start := len(dst)
	for i, m := range x.GetMessages() {
		var err error
		if dst, err = appendSamplingMessage(append(dst, ','), r, m); err != nil {
			return dst, withElement("messages", i, err)
		}
	}
	dst = closeArray(dst, start)
	dst = strconv.AppendInt(append(dst, `,"maxTokens":`...), x.GetMaxTokens(), 10)
	dst = appendText(dst, `,"systemPrompt":`, x.GetSystemPrompt())
	dst, err := appendSamplingOptions(dst, x)
	if err == nil {
		dst, err = appendSamplingTools(dst, r, x)
	}
	if err == nil {
		dst, err = appendMessageMeta(dst, r, x.GetMetaJson())
	}
	return append(dst, '}'), err
}

// appendSamplingOptions appends the options for the model.
func appendSamplingOptions(dst []byte, x *pb.CreateMessage) ([]byte, error) {
	var err error
	if x.Temperature != nil {
		if dst, err = appendFloat(append(dst, `,"temperature":`...), "temperature", *x.Temperature); err != nil {
			return dst, err
		}
	}
	dst = appendStrings(dst, `,"stopSequences":`, x.GetStopSequences())
	if dst, err = appendModelPreferences(dst, x.GetModelPreferences()); err != nil {
		return dst, withField("model_preferences", err)
	}
	switch x.GetIncludeContext() {
	case "", "none", "thisServer", "allServers":
		dst = appendText(dst, `,"includeContext":`, x.GetIncludeContext())
	default:
		return dst, contractError("include_context", "%q is not known; send \"none\", \"thisServer\" or \"allServers\"", x.GetIncludeContext())
	}
	if x.GetMetadataJson() != "" {
		dst, err = appendJSONObject(append(dst, `,"metadata":`...), "metadata_json", x.GetMetadataJson())
	}
	return dst, err
}

// appendSamplingTools appends the tools and the choice of tools.
func appendSamplingTools(dst []byte, r *revision.Rules, x *pb.CreateMessage) ([]byte, error) {
	mode := x.GetToolChoiceMode()
	if len(x.GetTools()) == 0 && mode == "" {
		return dst, nil
	}
	if !r.SamplingTools {
		return dst, unsupportedError(r, needSamplingTools, samplingTools)
	}
	if len(x.GetTools()) > 0 {
		dst = append(dst, `,"tools":`...)
		start := len(dst)
		for i, tool := range x.GetTools() {
			var err error
			if dst, err = AppendTool(append(dst, ','), r, tool, tool.GetName()); err != nil {
				return dst, withElement("tools", i, err)
			}
		}
		dst = closeArray(dst, start)
	}
	switch mode {
	case "":
	case "auto", "required", "none":
		dst = append(append(append(dst, `,"toolChoice":{"mode":"`...), mode...), `"}`...)
	default:
		return dst, contractError("tool_choice_mode", "%q is not known; send \"auto\", \"required\" or \"none\"", mode)
	}
	return dst, nil
}

func appendModelPreferences(dst []byte, p *pb.ModelPreferences) ([]byte, error) {
	if p == nil {
		return dst, nil
	}
	dst = append(dst, `,"modelPreferences":`...)
	start := len(dst)
	if len(p.GetHints()) > 0 {
		dst = append(dst, `,"hints":`...)
		list := len(dst)
		for _, name := range p.GetHints() {
			dst = append(jsonrpc.AppendString(append(dst, `,{"name":`...), name), '}')
		}
		dst = closeArray(dst, list)
	}
	dst, err := appendFraction(dst, `,"costPriority":`, "cost_priority", p.CostPriority)
	if err == nil {
		dst, err = appendFraction(dst, `,"speedPriority":`, "speed_priority", p.SpeedPriority)
	}
	if err == nil {
		dst, err = appendFraction(dst, `,"intelligencePriority":`, "intelligence_priority", p.IntelligencePriority)
	}
	if err != nil {
		return dst, err
	}
	return closeObject(dst, start), nil
}

// appendSamplingMessage appends a turn: a single block as an object, which every revision supports,
// several as an array.
func appendSamplingMessage(dst []byte, r *revision.Rules, m *pb.SamplingMessage) ([]byte, error) {
	role, err := roleName("role", m.GetRole())
	if err != nil {
		return dst, err
	}
	dst = append(append(append(dst, `{"role":"`...), role...), `","content":`...)
	switch blocks := m.GetContent(); {
	case len(blocks) == 0:
		return dst, contractError("content", "empty; send at least one block")
	case len(blocks) == 1:
		if dst, err = appendSamplingContent(dst, r, blocks[0]); err != nil {
			return dst, withElement("content", 0, err)
		}
	case !r.SamplingTools:
		return dst, unsupportedError(r, needSampling, samplingBlocks)
	default:
		start := len(dst)
		for i, block := range blocks {
			if dst, err = appendSamplingContent(append(dst, ','), r, block); err != nil {
				return dst, withElement("content", i, err)
			}
		}
		dst = closeArray(dst, start)
	}
	start := len(dst)
	if dst, err = appendObjectMeta(dst, r, m.GetMetaJson()); err != nil {
		return dst, err
	}
	if !r.SamplingTools {
		dst = dst[:start] // messages of these revisions have no _meta
	}
	return append(dst, '}'), nil
}

// appendSamplingContent appends one block of a message.
func appendSamplingContent(dst []byte, r *revision.Rules, block *pb.SamplingContent) ([]byte, error) {
	var err error
	switch c := block.GetContent().(type) {
	case *pb.SamplingContent_Text:
		dst = appendTextBlock(dst, c.Text.GetText())
	case *pb.SamplingContent_Image:
		dst, err = appendMedia(dst, "image", c.Image.GetData(), c.Image.GetMimeType())
	case *pb.SamplingContent_Audio:
		if !r.Audio {
			return dst, unsupportedError(r, needSampling, samplingAudio)
		}
		dst, err = appendMedia(dst, "audio", c.Audio.GetData(), c.Audio.GetMimeType())
	case *pb.SamplingContent_ToolUse:
		dst, err = appendToolUse(dst, r, c.ToolUse)
		err = withField("tool_use", err)
	case *pb.SamplingContent_ToolResult:
		dst, err = appendToolResult(dst, r, c.ToolResult)
		err = withField("tool_result", err)
	case *pb.SamplingContent_RawJson:
		if block.GetAnnotations() != nil || block.GetMetaJson() != "" {
			return dst, contractError("raw_json", "a whole block, yet annotations or meta_json are set beside it; put them inside")
		}
		return appendRawBlock(dst, c.RawJson, func(kind string) bool { return hasSamplingBlock(r, kind) })
	default:
		return dst, contractError("content", "unset, or of a kind that the edge does not know; set one of its fields, or raw_json")
	}
	if err != nil {
		return dst, err
	}
	return closeBlock(dst, r, block.GetAnnotations(), block.GetMetaJson())
}

// hasSamplingBlock reports whether a revision has a type of block in sampling.
func hasSamplingBlock(r *revision.Rules, kind string) bool {
	switch kind {
	case "text", "image":
		return true
	case "audio":
		return r.Audio
	case "tool_use", "tool_result":
		return r.SamplingTools
	}
	return false
}

func appendToolUse(dst []byte, r *revision.Rules, x *pb.ToolUse) ([]byte, error) {
	switch {
	case !r.SamplingTools:
		return dst, noToolBlocks(r)
	case x.GetId() == "":
		return dst, contractError("id", "empty; send the id that the model gave")
	case x.GetName() == "":
		return dst, contractError("name", "empty; send the tool's name")
	}
	dst = jsonrpc.AppendString(append(dst, `{"type":"tool_use","id":`...), x.GetId())
	dst = jsonrpc.AppendString(append(dst, `,"name":`...), x.GetName())
	dst = append(dst, `,"input":`...)
	if x.GetInputJson() == "" {
		return append(dst, '{', '}'), nil
	}
	return appendJSONObject(dst, "input_json", x.GetInputJson())
}

func appendToolResult(dst []byte, r *revision.Rules, x *pb.ToolResult) ([]byte, error) {
	switch {
	case !r.SamplingTools:
		return dst, noToolBlocks(r)
	case x.GetToolUseId() == "":
		return dst, contractError("tool_use_id", "empty; send the id of the tool_use that it answers")
	}
	dst = jsonrpc.AppendString(append(dst, `{"type":"tool_result","toolUseId":`...), x.GetToolUseId())
	return appendToolOutput(append(dst, ','), r, x.GetContent(), x.GetStructuredContentJson(), x.GetIsError())
}

func noToolBlocks(r *revision.Rules) error {
	return unsupportedError(r, needSamplingTools, samplingTools)
}
