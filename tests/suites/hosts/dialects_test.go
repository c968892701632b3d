//go:build hosts

package hosts

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

func readAnthropic(body []byte) (t turn, _ error) {
	var in struct {
		Stream   bool
		Tools    []struct{ Name string }
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return t, err
	}
	t.stream, t.tools = in.Stream, map[string]string{}
	for _, tool := range in.Tools {
		t.tools[tool.Name] = ""
	}
	for _, m := range in.Messages {
		var blocks []struct {
			Type    string
			Content json.RawMessage
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue // a text
		}
		for _, b := range blocks {
			if b.Type == "tool_result" {
				t.results = append(t.results, string(b.Content))
			}
		}
	}
	return t, nil
}

func answerAnthropic(w http.ResponseWriter, m move, stream bool) {
	block, opening, reason := object{"type": "text", "text": m.text}, object{"type": "text", "text": ""}, "end_turn"
	delta := object{"type": "text_delta", "text": m.text}
	if m.tool != "" {
		id := fmt.Sprintf("toolu_%d", m.number)
		block, reason = object{"type": "tool_use", "id": id, "name": m.tool, "input": m.args}, "tool_use"
		opening = object{"type": "tool_use", "id": id, "name": m.tool, "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": encoded(m.args)}
	}
	message := object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "mock", "content": []object{block}, "stop_reason": reason,
		"stop_sequence": nil, "usage": object{"input_tokens": 10, "output_tokens": 10},
	}
	if !stream {
		writeJSON(w, message)
		return
	}
	message["content"], message["stop_reason"] = []object{}, nil
	writeEvents(w,
		object{"type": "message_start", "message": message},
		object{"type": "content_block_start", "index": 0, "content_block": opening},
		object{"type": "content_block_delta", "index": 0, "delta": delta},
		object{"type": "content_block_stop", "index": 0},
		object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": 10}},
		object{"type": "message_stop"})
}

func readChat(body []byte) (t turn, _ error) {
	var in struct {
		Stream   bool
		Tools    []struct{ Function struct{ Name string } }
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return t, err
	}
	t.stream, t.tools = in.Stream, map[string]string{}
	for _, tool := range in.Tools {
		t.tools[tool.Function.Name] = ""
	}
	for _, m := range in.Messages {
		if m.Role == "tool" {
			t.results = append(t.results, string(m.Content))
		}
	}
	return t, nil
}

func answerChat(w http.ResponseWriter, m move, stream bool) {
	message, reason := object{"role": "assistant", "content": m.text}, "stop"
	if m.tool != "" {
		call := object{"id": fmt.Sprintf("call_%d", m.number), "type": "function", "function": object{"name": m.tool, "arguments": encoded(m.args)}}
		if stream {
			call["index"] = 0
		}
		message, reason = object{"role": "assistant", "content": nil, "tool_calls": []object{call}}, "tool_calls"
	}
	usage := object{"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
	if !stream {
		writeJSON(w, object{
			"id": "c1", "object": "chat.completion", "created": 1, "model": "mock", "usage": usage,
			"choices": []object{{"index": 0, "message": message, "finish_reason": reason}},
		})
		return
	}
	chunk := func(usage any, choices ...object) object {
		if choices == nil {
			choices = []object{}
		}
		return object{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "mock", "choices": choices, "usage": usage}
	}
	writeEvents(w,
		chunk(nil, object{"index": 0, "delta": message, "finish_reason": nil}),
		chunk(nil, object{"index": 0, "delta": object{}, "finish_reason": reason}),
		chunk(usage))
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

func readResponses(body []byte) (t turn, _ error) {
	type tool struct{ Type, Name string }
	var in struct {
		Stream bool
		Tools  []struct {
			tool
			Tools []tool
		}
		Input json.RawMessage
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return t, err
	}
	t.stream, t.tools = in.Stream, map[string]string{}
	for _, one := range in.Tools {
		if one.Type == "function" {
			t.tools[one.Name] = ""
		}
		for _, inner := range one.Tools {
			t.tools[inner.Name] = one.Name
		}
	}
	var items []struct {
		Type   string
		Output json.RawMessage
	}
	_ = json.Unmarshal(in.Input, &items) // else a text
	for _, i := range items {
		if i.Type == "function_call_output" {
			t.results = append(t.results, string(i.Output))
		}
	}
	return t, nil
}

func answerResponses(w http.ResponseWriter, m move, stream bool) {
	part := object{"type": "output_text", "text": m.text, "annotations": []object{}}
	item := object{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []object{part}}
	opening := object{"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []object{}}
	if m.tool != "" {
		id := fmt.Sprint(m.number)
		item = object{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": m.tool, "arguments": encoded(m.args), "status": "completed"}
		opening = object{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": m.tool, "arguments": "", "status": "in_progress"}
		if m.group != "" {
			item["namespace"], opening["namespace"] = m.group, m.group
		}
	}
	response := object{
		"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "mock", "output": []object{item},
		"usage": object{
			"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": 10, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 20,
		},
	}
	if !stream {
		writeJSON(w, response)
		return
	}
	created := object{"id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": "mock", "output": []object{}}
	events := []object{
		{"type": "response.created", "response": created},
		{"type": "response.output_item.added", "output_index": 0, "item": opening},
	}
	if m.tool == "" {
		events = append(events, object{"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": m.text})
	}
	events = append(events, object{"type": "response.output_item.done", "output_index": 0, "item": item}, object{"type": "response.completed", "response": response})
	for i := range events {
		events[i]["sequence_number"] = i
	}
	writeEvents(w, events...)
}

func readGemini(body []byte) (t turn, _ error) {
	var in struct {
		Tools []struct {
			FunctionDeclarations []struct{ Name string }
		}
		Contents []struct {
			Parts []struct {
				FunctionResponse *struct{ Response json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return t, err
	}
	t.tools = map[string]string{}
	for _, group := range in.Tools {
		for _, tool := range group.FunctionDeclarations {
			t.tools[tool.Name] = ""
		}
	}
	for _, c := range in.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				t.results = append(t.results, string(p.FunctionResponse.Response))
			}
		}
	}
	return t, nil
}

func answerGemini(w http.ResponseWriter, m move, stream bool) {
	part := object{"text": m.text}
	if m.tool != "" {
		part = object{"functionCall": object{"name": m.tool, "args": m.args, "id": fmt.Sprint("f", m.number)}, "thoughtSignature": "AAAA"}
	}
	answer := object{
		"candidates":    []object{{"content": object{"role": "model", "parts": []object{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}, "modelVersion": "mock",
	}
	if stream {
		writeEvents(w, answer)
		return
	}
	writeJSON(w, answer)
}
