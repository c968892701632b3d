package capability

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// This file converts results of other libraries, such as the official Go SDK and mcp-go. None of
// them is imported: a value is a result if its JSON is one of MCP. A value with some members of a
// result that is not a complete result is an error that says what to write.

// forValue is the advice if a value that looks like a result is meant as structured content.
const forValue = "for a value, return it as a json.RawMessage or in &capability.Result{Structured: …}"

// ResultOf converts a tool result of another library, such as *mcp.CallToolResult of the official
// Go SDK, by its JSON. Handlers may return one as it is: AddTool converts it. A nil v, or JSON that
// is not a tool result, is an error.
func ResultOf(v any) (*Result, error) {
	text, err := encodeJSON(v)
	if err != nil {
		return nil, err
	}
	r, err := officialResult([]byte(text))
	if err != nil {
		return nil, err
	}
	out := &Result{Content: r.GetContent(), IsError: r.GetIsError(), Meta: json.RawMessage(r.GetMetaJson())}
	if s := r.GetStructuredContentJson(); s != "" {
		out.Structured = json.RawMessage(s)
	}
	return out, nil
}

// PromptResultOf converts a prompt result of another library, such as *mcp.GetPromptResult of the
// official Go SDK, by its JSON. JSON that is not a prompt result is an error.
func PromptResultOf(v any) (*PromptResult, error) {
	has, err := officialMembers(v, "a prompt", "messages", "description", "_meta")
	if err != nil {
		return nil, err
	}
	var messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	out := &PromptResult{MetaJson: string(has["_meta"])}
	if err := json.Unmarshal(has["messages"], &messages); err != nil {
		return nil, misfit("a prompt", "messages", "a list of messages")
	}
	if d := has["description"]; d != nil && json.Unmarshal(d, &out.Description) != nil {
		return nil, misfit("a prompt", "description", "a string")
	}
	for _, m := range messages {
		role, ok := roles[m.Role]
		if !ok {
			return nil, fmt.Errorf("a message has the role %q; roles are user and assistant", m.Role)
		}
		content, err := officialContent(m.Content)
		if err != nil {
			return nil, err
		}
		out.Messages = append(out.Messages, Message(role, content))
	}
	return out, nil
}

// ContentsOf converts a read result of another library, such as *mcp.ReadResourceResult of the
// official Go SDK, or a list of contents, as read handlers of mcp-go return it, by its JSON. JSON that
// is neither is an error.
func ContentsOf(v any) ([]*ResourceContents, error) {
	if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		if reflect.ValueOf(v).IsNil() {
			return nil, nil
		}
		v = map[string]any{"contents": v}
	}
	has, err := officialMembers(v, "a read", "contents", "_meta")
	if err != nil {
		return nil, err
	}
	var all []json.RawMessage
	if err := json.Unmarshal(has["contents"], &all); err != nil {
		return nil, misfit("a read", "contents", "a list of contents")
	}
	out := make([]*ResourceContents, len(all))
	for i, c := range all {
		if out[i], err = officialContents(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// isOfficialNotFound reports whether err is a JSON-RPC error about a resource that does not exist,
// as ResourceNotFoundError of the official Go SDK returns it: the code −32002, or −32602 with the URI
// in its data.
func isOfficialNotFound(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		v := reflect.ValueOf(err)
		if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
			continue
		}
		code, data := v.Elem().FieldByName("Code"), v.Elem().FieldByName("Data")
		if !code.IsValid() || !code.CanInt() || !data.IsValid() || data.Type() != reflect.TypeFor[json.RawMessage]() {
			continue
		}
		if code.Int() == -32002 || code.Int() == -32602 && missingMember(data.Bytes(), []string{"uri"}) == "" {
			return true
		}
	}
	return false
}

var roles = map[string]Role{"user": User, "assistant": Assistant}

// ignored are members of results that concern the connection, not the handler.
var ignored = []string{"resultType", "ttlMs", "cacheScope"}

// officialMembers returns the members of a result. It is an error if v has none of the names, or
// others than these.
func officialMembers(v any, of string, names ...string) (map[string]json.RawMessage, error) {
	text, ok := v.([]byte)
	if !ok {
		encoded, err := encodeJSON(v)
		if err != nil {
			return nil, err
		}
		text = []byte(encoded)
	}
	var has map[string]json.RawMessage
	if err := json.Unmarshal(text, &has); err != nil || has == nil {
		return nil, fmt.Errorf("%.80s is no result of %s: it is not a JSON object", text, of)
	}
	if kind := string(has["resultType"]); kind != "" && kind != `"complete"` {
		return nil, fmt.Errorf("a result of the type %s: ask by capability.Ask, Call.Sample or Call.Roots instead", kind)
	}
	for name, member := range has {
		if slices.Contains(ignored, name) || string(member) == "null" {
			delete(has, name)
		} else if !slices.Contains(names, name) {
			return nil, fmt.Errorf("an object with %q, which a result of %s does not have: %s", name, of, forValue)
		}
	}
	if meta := has["_meta"]; meta != nil && !isObject(string(meta)) {
		return nil, misfit(of, "_meta", "an object")
	}
	return has, nil
}

func misfit(of, name, want string) error {
	return fmt.Errorf("an object with %q, which in a result of %s is %s: write that, or %s", name, of, want, forValue)
}

// officialResult converts the JSON of a tool result.
func officialResult(text []byte) (*mcpedgev1.CallToolResult, error) {
	has, err := officialMembers(text, "a tool", "content", "structuredContent", "isError", "_meta")
	if err != nil {
		return nil, err
	}
	out := &mcpedgev1.CallToolResult{StructuredContentJson: string(has["structuredContent"]), MetaJson: string(has["_meta"])}
	if e := has["isError"]; e != nil && json.Unmarshal(e, &out.IsError) != nil {
		return nil, misfit("a tool", "isError", "true or false")
	}
	var blocks []json.RawMessage
	if c := has["content"]; c != nil && json.Unmarshal(c, &blocks) != nil {
		return nil, misfit("a tool", "content", "a list of content")
	}
	for _, b := range blocks {
		content, err := officialContent(b)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, content)
	}
	return out, nil
}

type officialAnnotations struct {
	Audience     []string `json:"audience"`
	Priority     *float64 `json:"priority"`
	LastModified string   `json:"lastModified"`
}

func (a *officialAnnotations) proto() *Annotations {
	if a == nil {
		return nil
	}
	out := &Annotations{Priority: a.Priority, LastModified: a.LastModified}
	for _, who := range a.Audience {
		if role, ok := roles[who]; ok {
			out.Audience = append(out.Audience, role)
		}
	}
	return out
}

// officialBlock has the members of all kinds of content.
type officialBlock struct {
	Type        string               `json:"type"`
	Annotations *officialAnnotations `json:"annotations"`
	Meta        json.RawMessage      `json:"_meta"`
	Text        *string              `json:"text"`
	Data        *[]byte              `json:"data"`
	MimeType    string               `json:"mimeType"`
	Resource    json.RawMessage      `json:"resource"`
	URI         string               `json:"uri"`
	Name        string               `json:"name"`
	Title       string               `json:"title"`
	Description string               `json:"description"`
	Size        *int64               `json:"size"`
	Icons       []*officialIcon      `json:"icons"`
}

type officialIcon struct {
	Source   string   `json:"src"`
	MIMEType string   `json:"mimeType"`
	Sizes    []string `json:"sizes"`
	Theme    string   `json:"theme"`
}

// officialContent converts the JSON of a content block.
func officialContent(text []byte) (*Content, error) {
	var b officialBlock
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&b); err != nil {
		return nil, fmt.Errorf("%.80s is no content (%s): use RawContent to send a block as it is; %s", text, strings.TrimPrefix(err.Error(), "json: "), forValue)
	}
	var out *Content
	switch {
	case b.Type == "text" && b.Text != nil:
		out = Text(*b.Text)
	case b.Type == "image" && b.Data != nil:
		out = Image(*b.Data, b.MimeType)
	case b.Type == "audio" && b.Data != nil:
		out = Audio(*b.Data, b.MimeType)
	case b.Type == "resource" && b.Resource != nil:
		contents, err := officialContents(b.Resource)
		if err != nil {
			return nil, err
		}
		out = Embed(contents)
	case b.Type == "resource_link" && b.URI != "":
		r := &Resource{Uri: b.URI, Name: b.Name, Title: b.Title, Description: b.Description, MimeType: b.MimeType, Size: b.Size}
		for _, i := range b.Icons {
			r.Icons = append(r.Icons, &Icon{Src: i.Source, MimeType: i.MIMEType, Sizes: i.Sizes, Theme: i.Theme})
		}
		out = Link(r)
	default:
		return nil, fmt.Errorf("%.80s is no content of MCP: use RawContent to send a block as it is; %s", text, forValue)
	}
	out.Annotations, out.MetaJson = b.Annotations.proto(), string(b.Meta)
	return out, nil
}

// officialContents converts the JSON of the contents of a resource.
func officialContents(text []byte) (*ResourceContents, error) {
	var c struct {
		URI      string          `json:"uri"`
		MimeType string          `json:"mimeType"`
		Text     *string         `json:"text"`
		Blob     *[]byte         `json:"blob"`
		Meta     json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%.80s are no contents of a resource: %w", text, err)
	}
	var out *ResourceContents
	switch {
	case c.Blob != nil:
		out = BlobContents(c.URI, c.MimeType, *c.Blob)
	case c.Text != nil:
		out = TextContents(c.URI, c.MimeType, *c.Text)
	default:
		return nil, fmt.Errorf(`%.80s are no contents of a resource: there is neither "text" nor "blob"`, text)
	}
	out.MetaJson = string(c.Meta)
	return out, nil
}

// kinds are the types of content blocks.
var kinds = []string{"text", "image", "audio", "resource_link", "resource"}

// byValue converts the JSON of a value whose type does not determine its kind: a result or content
// of another library, or else structured content.
func byValue(text string) (*mcpedgev1.CallToolResult, error) {
	switch {
	case strings.HasPrefix(text, "{"):
		result, content := false, false
		eachMember([]byte(text), func(quoted []byte) {
			for _, name := range []string{"content", "structuredContent", "isError", "_meta"} {
				result = result || sameString(quoted, name)
			}
			content = content || sameString(quoted, "type")
		})
		if content && kindOf([]byte(text)) {
			block, err := officialContent([]byte(text))
			if err != nil {
				return nil, err
			}
			return &mcpedgev1.CallToolResult{Content: []*Content{block}}, nil
		}
		if result {
			return officialResult([]byte(text))
		}
	case strings.HasPrefix(text, "["):
		var blocks []json.RawMessage
		if json.Unmarshal([]byte(text), &blocks) == nil && slices.ContainsFunc(blocks, func(b json.RawMessage) bool { return kindOf(b) }) {
			out := &mcpedgev1.CallToolResult{}
			for _, b := range blocks {
				block, err := officialContent(b)
				if err != nil {
					return nil, err
				}
				out.Content = append(out.Content, block)
			}
			return out, nil
		}
	}
	return &mcpedgev1.CallToolResult{StructuredContentJson: text}, nil
}

// kindOf reports whether a JSON object has the type of a content block.
func kindOf(text []byte) bool {
	var b struct {
		Type string `json:"type"`
	}
	return bytes.HasPrefix(text, []byte("{")) && json.Unmarshal(text, &b) == nil && slices.Contains(kinds, b.Type)
}
