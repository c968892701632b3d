package catalog

import (
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
)

// listed returns the list that the method requests, or 0 if it requests none, and whether that list
// is served.
func (t *Target) listed(rules *revision.Rules) (kind listKind, served bool) {
	f := &t.view.Features
	switch t.method {
	case mcp.MethodToolsList:
		return listTools, f.Tools
	case mcp.MethodResourcesList:
		return listResources, f.Resources
	case mcp.MethodTemplatesList:
		return listTemplates, f.Resources
	case mcp.MethodPromptsList:
		return listPrompts, f.Prompts
	case mcp.MethodSkillsList:
		if rules.Stateless { // the extension is for revisions without sessions
			return listSkills, f.Skills
		}
	}
	return 0, false
}

// List answers a list method (MCP, "Pagination") as the caller sees it. Any other method does not
// exist.
func (c *Catalog) List(t *Target, rules *revision.Rules, call *mcp.Call) (mcp.Reply, error) {
	kind, served := t.listed(rules)
	switch {
	case kind == 0:
		return mcp.Reply{}, mcp.Errorf(mcp.KindMethodNotFound, "method %q does not exist here", Clip(string(t.method)))
	case !served:
		return mcp.Reply{}, t.NotServed()
	}
	s := t.view.visibleTo(&call.Principal)
	l := s.list(kind)
	from, present, err := parseCursor(call.Params.More().Cursor, l.kind, s.entitlement)
	if err != nil {
		return mcp.Reply{}, err
	}
	start := 0
	if present {
		var ok bool
		if start, ok = l.after(from); !ok {
			return mcp.Reply{}, mcp.Errorf(mcp.KindBadCursor,
				"the cursor is too old: its backend %q is no longer configured; list again without a cursor", Clip(from.owner))
		}
	}
	body, last := l.under(rules).page(start, c.opts.PageSize, c.opts.PageBytes)
	if start == 0 && last >= 0 {
		c.reportPages(t, rules, l, last, s.own)
	}
	const tail = 512
	dst := call.Envelope.Begin(len(l.kind.head()) + len(body) + tail)
	dst = append(append(append(dst, l.kind.head()...), body...), ']')
	next := ""
	if last >= 0 {
		next = l.cursorAt(last, s.entitlement).String()
	}
	hint := l.hint
	hint.Public = hint.Public && !s.own
	return call.Envelope.Reply(c.closeList(t, rules, dst, next, hint)), nil
}

// closeList appends what follows a list's array.
func (c *Catalog) closeList(t *Target, rules *revision.Rules, dst []byte, next string, hint translate.CacheHint) []byte {
	if t.view.Incomplete() {
		hint = translate.CacheHint{}
	}
	return append(translate.AppendListTail(dst, rules, c.Server(t), next, hint), '}')
}

// reportPages logs that a list has more than one page, the first of which ends with the entry last.
// It logs once per list, which changes with its content. Callers with private lists share one
// report of each kind, to bound the log.
func (c *Catalog) reportPages(t *Target, rules *revision.Rules, l *list, last int, own bool) {
	if l.paged.Swap(true) || (t.view.private || own) && !c.report.first("pages\x00"+l.kind.String()) {
		return
	}
	o := l.under(rules).overflow(last, c.opts.PageSize)
	c.opts.Logger.Warn("a list has more than one page: clients that read only the first page, as some agent frameworks do, "+
		"do not see the rest; raise the setting, or serve fewer entries",
		"list", l.kind.String(), "entries", o.entries, "first_page", o.first, "setting", o.setting,
		"page_size", c.opts.PageSize, "page_bytes", c.opts.PageBytes)
}
