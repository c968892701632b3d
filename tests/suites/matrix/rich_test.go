package matrix

import (
	"encoding/json"
	"testing"
)

// What the fixture's objects, which have everything set, are in each revision: all that it can carry.

// rich is the object of that kind.
func rich(version, kind string) object {
	icons := []any{object{"src": "https://example.com/icon.png", "mimeType": "image/png", "sizes": []any{"48x48"}, "theme": "dark"}}
	o := object{"name": "rich", "description": "Everything set"}
	if version >= vJun {
		o["title"], o["_meta"] = "Rich", uiMeta()
	}
	if version >= vNov {
		o["icons"] = icons
	}
	switch kind {
	case "tool":
		return richTool(version, o)
	case "prompt":
		a := object{"name": "a", "description": "An argument", "required": true}
		if version >= vJun {
			a["title"] = "A"
		}
		o["arguments"] = []any{a, object{"name": "b"}}
	case "resource":
		o["uri"], o["size"] = "matrix://rich", 5.0
		o["mimeType"], o["annotations"] = "text/plain", annotations(version)
	case "template":
		o["uriTemplate"] = "matrix://rich/{id}"
		o["mimeType"], o["annotations"] = "text/plain", annotations(version)
	case "read":
		text := object{"uri": "matrix://rich", "mimeType": "text/plain", "text": "hello"}
		if version >= vJun {
			text["_meta"] = uiMeta()
		}
		return object{"_meta": uiMeta(), "contents": []any{text, object{"uri": "matrix://rich", "mimeType": "image/png", "blob": "AP8="}}}
	case "messages":
		var messages []any
		for _, block := range richBlocks(version) {
			messages = append(messages, object{"role": "user", "content": block})
		}
		return object{"_meta": uiMeta(), "description": "Filled in", "messages": messages}
	}
	return o
}

func richTool(version string, o object) object {
	all, none := any(object{}), any(object{"not": object{}})
	if version >= vNew {
		all, none = true, false
	}
	input := object{"type": "object", "allOf": []any{object{"required": []any{}}}, "additionalProperties": false,
		"properties": object{"any": all, "none": none, "n": object{"type": "integer", "x-mcp-header": "N"}}}
	if version >= vNov {
		input["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	}
	if version >= vNew {
		o["outputSchema"] = object{"type": "array", "items": object{"type": "integer"}}
	}
	o["inputSchema"] = input
	if version >= vMar {
		hints := object{"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}
		if version < vJun {
			hints["title"] = "Rich"
		}
		o["annotations"] = hints
	}
	return o
}

func uiMeta() object { return object{"io.example/ui": object{"resourceUri": "ui://x"}} }

func annotations(version string) object {
	a := object{"audience": []any{"user", "assistant"}, "priority": 0.5}
	if version >= vJun {
		a["lastModified"] = "2025-01-12T15:00:58Z"
	}
	return a
}

// Places of the blocks.
const (
	textBlock = iota
	imageBlock
	audioBlock
	linkBlock
	embeddedBlock
	blobBlock
)

// richBlocks are the fixture's content blocks.
func richBlocks(version string) []object {
	blocks := []object{
		textBlock:     {"type": "text", "text": "a \"text\"\nof two lines"},
		imageBlock:    {"type": "image", "mimeType": "image/png", "data": "aW1hZ2U="},
		audioBlock:    {"type": "audio", "mimeType": "audio/wav", "data": "c291bmQ="},
		linkBlock:     rich(version, "resource"),
		embeddedBlock: {"type": "resource", "resource": object{"uri": "matrix://inside", "mimeType": "text/plain", "text": "inside"}},
		blobBlock:     {"type": "resource", "resource": object{"uri": "matrix://blob", "mimeType": "application/octet-stream", "blob": "AP8="}},
	}
	blocks[linkBlock]["type"], blocks[linkBlock]["uri"] = "resource_link", "matrix://linked"
	if version < vJun {
		blocks[linkBlock] = object{"type": "text", "text": "Rich: matrix://linked\nEverything set"}
	} else {
		inside, _ := blocks[embeddedBlock]["resource"].(object)
		inside["_meta"] = uiMeta()
	}
	if version < vMar {
		blocks[audioBlock] = object{"type": "resource", "resource": object{"uri": "mcpedge:audio/2", "mimeType": "audio/wav", "blob": "c291bmQ="}}
	}
	for _, b := range blocks {
		b["annotations"] = annotations(version)
		if version >= vJun {
			b["_meta"] = uiMeta()
		}
	}
	return blocks
}

// talk is what the tools that talk with a model send it.
func talk(version, tool string) []any {
	media := func(kind, mime, data string) object {
		block := object{"type": kind, "mimeType": mime, "data": data, "annotations": annotations(version)}
		if version >= vJun {
			block["_meta"] = uiMeta()
		}
		return block
	}
	say := func(role string, content any) object {
		message := object{"role": role, "content": content}
		if version >= vNov {
			message["_meta"] = uiMeta()
		}
		return message
	}
	image, audio := media("image", "image/png", "aW1hZ2U="), media("audio", "audio/wav", "c291bmQ=")
	switch tool {
	case "talk_image":
		return []any{say("user", image)}
	case "talk_audio":
		return []any{say("user", audio)}
	case "talk_blocks":
		return []any{say("user", []any{image, audio})}
	}
	used := object{"type": "tool_result", "toolUseId": "1", "content": richBlocks(version), "isError": true, "_meta": uiMeta()}
	if version >= vNew {
		used["structuredContent"] = []any{1.0}
	}
	return []any{
		object{"role": "user", "content": object{"type": "text", "text": "Weather?"}},
		say("assistant", object{"type": "tool_use", "id": "1", "name": "weather", "input": object{"in": "Rome"}, "_meta": uiMeta()}),
		say("user", used),
	}
}

// bare checks what every result of a stateless revision has, and returns the rest.
func (c *cell) bare(t *testing.T, result object, cacheable bool) object {
	t.Helper()
	if !stateless(c.version) {
		return result
	}
	meta, _ := result["_meta"].(object)
	if dig(meta, "io.modelcontextprotocol/serverInfo", "name") != "mcpedge" || result["resultType"] != "complete" ||
		(result["ttlMs"] != nil) != cacheable || (result["cacheScope"] != nil) != cacheable {
		t.Errorf("not what a result of %s has: %v", c.version, result)
	}
	for _, m := range []string{"resultType", "ttlMs", "cacheScope"} {
		delete(result, m)
	}
	delete(meta, "io.modelcontextprotocol/serverInfo")
	return result
}

const contents = "Content of a tool's result"

func contentRows() []row {
	return []row{
		{group: contents, name: "text, image, embedded resource", in: "xxxxx", works: blocks(textBlock, imageBlock, embeddedBlock, blobBlock)},
		{group: contents, name: "audio", in: "-xxxx", works: blocks(audioBlock), lacks: blocks(audioBlock)},
		{group: contents, name: "resource_link", in: "--xxx", works: blocks(linkBlock), lacks: blocks(linkBlock)},
		{group: contents, name: "raw blocks", in: "xxxxx", works: rawBlocks},
		{group: contents, name: "structuredContent: an object", in: "--xxx", works: structuredObject, lacks: structuredObject},
		{group: contents, name: "structuredContent: any JSON", in: "----x", works: structuredAny, lacks: structuredAny},
	}
}

// blocks checks blocks of the rich tool, in place and whole: what a revision has no block for is there
// as something that it has.
func blocks(places ...int) func(*testing.T, *cell) {
	return func(t *testing.T, c *cell) {
		got := c.bare(t, c.call(t, "rich", nil), false)
		want := richBlocks(c.version)
		list, _ := got["content"].([]any)
		if len(list) != len(want) {
			t.Fatalf("%d blocks, want %d: %v", len(list), len(want), got)
		}
		for _, i := range places {
			same(t, "the block", list[i], want[i])
		}
		same(t, "_meta", got["_meta"], uiMeta())
	}
}

// rawBlocks: those whose type the revision has are themselves, others a text that holds them.
func rawBlocks(t *testing.T, c *cell) {
	link := object{"type": "resource_link", "uri": "matrix://raw", "name": "raw"}
	if c.version < vJun {
		link = object{"type": "text", "text": rawLink}
	}
	same(t, "the blocks", c.call(t, "raw", nil)["content"], []any{object{"type": "text", "text": hologram}, link})
}

// structuredObject: its text is there in every revision.
func structuredObject(t *testing.T, c *cell) {
	want := object{"content": []any{object{"type": "text", "text": `{"n":1}`}}, "_meta": uiMeta()}
	if c.row.exists(c.version, c.transport) {
		want["structuredContent"] = object{"n": 1.0}
	}
	same(t, "the result", c.bare(t, c.call(t, "structured", nil), false), want)
	tools, _ := listed(t, c, "tools/list", "tools", "name")
	tool := entry(t, tools, "name", "structured")
	if (tool["outputSchema"] != nil) != c.row.exists(c.version, c.transport) {
		t.Errorf("outputSchema does not go with structuredContent: %v", tool)
	}
}

// structuredAny: beside blocks of the tool's own, and alone.
func structuredAny(t *testing.T, c *cell) {
	got := c.call(t, "rich", nil)
	want := json.RawMessage("null")
	if c.row.exists(c.version, c.transport) {
		want = json.RawMessage("[1,2,3]")
	}
	var value any
	if err := json.Unmarshal(want, &value); err != nil {
		t.Fatal(err)
	}
	same(t, "structuredContent", got["structuredContent"], value)
	alone := object{"content": []any{object{"type": "text", "text": "7"}}, "_meta": uiMeta()}
	if value != nil {
		alone["structuredContent"] = 7.0
	}
	same(t, "the result", c.bare(t, c.call(t, "scalar", nil), false), alone)
}
