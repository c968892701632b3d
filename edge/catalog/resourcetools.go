package catalog

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// The bounds of a result of mcp.ToolListResources, beside those of pages: a model reads it.
const (
	maxResourceTools      = 200
	maxResourceToolsBytes = 64 << 10
)

var (
	listResourcesTool = &pb.Tool{
		Name:  mcp.ToolListResources,
		Title: "List resources",
		Description: "Lists the resources of this server, and templates of the URIs of further ones, to be read with " +
			mcp.ToolReadResource + ".",
		InputSchemaJson: `{"type":"object","properties":{` +
			`"cursor":{"type":"string","description":"nextCursor of the page before; absent for the first page"}},` +
			`"additionalProperties":false}`,
		OutputSchemaJson: `{"type":"object","properties":{` +
			`"resources":{"type":"array","items":{"type":"object","properties":{` +
			`"uri":{"type":"string"},` + describedMembers + `},"required":["uri","name"]}},` +
			`"resourceTemplates":{"type":"array","items":{"type":"object","properties":{` +
			`"uriTemplate":{"type":"string","description":"RFC 6570"},` + describedMembers + `},"required":["uriTemplate","name"]}},` +
			`"nextCursor":{"type":"string","description":"Absent on the last page"},` +
			`"incomplete":{"type":"boolean","description":"true: some resources cannot be listed now, try again later"}},` +
			`"required":["resources","resourceTemplates"]}`,
		Annotations: &pb.ToolAnnotations{ReadOnly: ptr(true), OpenWorld: ptr(false)},
	}
	readResourceTool = &pb.Tool{
		Name:        mcp.ToolReadResource,
		Title:       "Read a resource",
		Description: "Reads a resource of this server.",
		InputSchemaJson: `{"type":"object","properties":{` +
			`"uri":{"type":"string","minLength":1,"description":"As ` + mcp.ToolListResources + ` shows it, or a template's with values",` +
			`"` + paramHeaderKey + `":"` + uriHeader + `"}},` +
			`"required":["uri"],"additionalProperties":false}`,
		Annotations: &pb.ToolAnnotations{ReadOnly: ptr(true), OpenWorld: ptr(true)},
	}
)

// describedMembers are the schemas of the members of resources and templates in a result of
// mcp.ToolListResources.
const describedMembers = `"name":{"type":"string"},"title":{"type":"string"},"description":{"type":"string"},` +
	`"mimeType":{"type":"string"}`

// ListResources returns the structured content of a call of mcp.ToolListResources: a page of the
// resources, followed by the templates, that the caller may see in the target's set. The page is
// empty if no backend serves resources. An empty cursor means the first page. An invalid one is an
// error of KindBadCursor.
func (c *Catalog) ListResources(t *Target, rules *revision.Rules, who *mcp.Principal, cursor string) ([]byte, error) {
	seen := t.view.visibleTo(who)
	lists := []*list{seen.resources, seen.templates}
	first, start, err := seen.startAt(cursor, lists)
	if err != nil {
		return nil, err
	}
	page := resourcePage{
		rules: rules, size: min(c.opts.PageSize, maxResourceTools), bytes: min(c.opts.PageBytes, maxResourceToolsBytes),
	}
	var parts [2][]byte
	next := ""
	for i := first; i < len(lists) && next == ""; i++ {
		var last int
		if parts[i], last = page.add(lists[i], start); last >= 0 {
			next = lists[i].cursorAt(last, seen.entitlement).String()
		} else if page.full && i > first {
			next = lists[i-1].cursorAt(len(lists[i-1].Entries)-1, seen.entitlement).String()
		}
		start = 0
	}
	out := append(append([]byte(`{"resources":[`), parts[0]...), `],"resourceTemplates":[`...)
	out = append(append(out, parts[1]...), ']')
	if next != "" {
		out = jsonrpc.AppendString(append(out, `,"nextCursor":`...), next)
	}
	if t.view.Incomplete() {
		out = append(out, `,"incomplete":true`...)
	}
	return append(out, '}'), nil
}

// startAt returns the index of the list in which the page of a cursor begins, and the index of its
// first entry there. An empty cursor means the first page.
func (s *visibleLists) startAt(text string, lists []*list) (first, start int, _ error) {
	if text == "" {
		return 0, 0, nil
	}
	c, ok := decodeCursor(text)
	for i, l := range lists {
		if ok && c.list == l.kind && c.entitlement == s.entitlement {
			if start, ok = l.after(c); ok {
				return i, start, nil
			}
		}
	}
	return 0, 0, mcp.Errorf(mcp.KindBadCursor, "cursor %q was not given out for %s, or is too old: list again without a cursor",
		Clip(text), mcp.ToolListResources)
}

// resourcePage is a page of several lists, with the rest of its bounds. full means that an entry
// did not fit, begun that the page has an entry.
type resourcePage struct {
	rules       *revision.Rules
	size, bytes int
	full        bool
	begun       bool
}

// add returns the entries of a list from start on that fit, with the members that a model needs,
// separated by commas. last is the index of the last one, or -1 if the list ends. It sets full if
// an entry does not fit. A page has at least one entry.
func (p *resourcePage) add(l *list, start int) (body []byte, last int) {
	out := l.under(p.rules)
	from, to := out.span(start, p.size, p.bytes)
	if from == len(out.items) {
		return nil, -1
	}
	if size := out.items[from].to - out.items[from].from; p.begun && (p.size <= 0 || size > p.bytes) {
		p.full = true
		return nil, -1
	}
	for _, item := range out.items[from:to] {
		if len(body) > 0 {
			body = append(body, ',')
		}
		body = appendDescribed(body, out.text(&item))
		p.bytes -= item.to - item.from + 1
	}
	p.size, p.begun = p.size-(to-from), true
	if to == len(out.items) {
		return body, -1
	}
	return body, out.items[to-1].entry
}

// appendDescribed appends an entry of a list of resources or templates with the members that a
// model needs.
func appendDescribed(dst []byte, shown json.RawMessage) []byte {
	dst = append(dst, '{')
	_ = jsonrpc.Members(shown, func(key string, value json.RawMessage) error { // The edge has rendered it.
		switch key {
		case "uri", "uriTemplate", "name", "title", "description", "mimeType":
			dst = jsonrpc.AppendMember(dst, key, value)
		}
		return nil
	})
	return append(dst, '}')
}
