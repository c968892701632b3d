package catalog

import (
	"fmt"
	"sort"

	"github.com/mcpedge/mcpedge/edge/revision"
)

// page returns as many entries from start on as fit, and the index of the last one, or -1 if the
// list ends.
func (out *rendering) page(start, size, bytes int) (body []byte, last int) {
	from, to := out.span(start, size, bytes)
	if from == to {
		return nil, -1
	}
	begin := out.items[from].end - (out.items[from].to - out.items[from].from)
	body = out.joined(out.items[from:to], out.items[to-1].end-begin)
	if to == len(out.items) {
		return body, -1
	}
	return body, out.items[to-1].entry
}

// span returns the range [from, to) of the items of a page: see page. It is empty if there are no
// entries from start on.
func (out *rendering) span(start, size, bytes int) (from, to int) {
	from = sort.Search(len(out.items), func(i int) bool { return out.items[i].entry >= start })
	if from == len(out.items) {
		return from, from
	}
	begin := out.items[from].end - (out.items[from].to - out.items[from].from)
	to = from + sort.Search(len(out.items)-from, func(i int) bool { return out.items[from+i].end-begin > bytes })
	return from, max(from+1, min(to, from+size))
}

// overflow describes the entries that the first page of a list omits.
type overflow struct {
	// entries counts the entries of the list, and first those on the first page.
	entries, first int
	// setting is the setting that ends the first page.
	setting string
}

// overflow counts the entries; last is the last entry of the first page.
func (out *rendering) overflow(last, size int) overflow {
	o := overflow{entries: len(out.items), setting: settingPageBytes}
	o.first = sort.Search(len(out.items), func(i int) bool { return out.items[i].entry > last })
	if o.first == size {
		o.setting = settingPageSize
	}
	return o
}

// These are the keys of the settings.
const (
	settingPageSize  = "lists.page-size"
	settingPageBytes = "advanced.page-bytes"
)

// describePages describes the lists that have entries of at least owners parts.
func (p *Preview) describePages(parts []part, owners int) (said []string) {
	v := p.view(parts)
	for _, l := range []*list{v.Tools.List, v.Resources.List, v.Resources.TemplateList, v.Prompts.List, v.Resources.skillList} {
		have := 0
		for _, s := range l.spans {
			if s.to > s.from {
				have++
			}
		}
		if have < owners {
			continue
		}
		if text := p.describePage(l); text != "" {
			said = append(said, text)
		}
	}
	return said
}

// describePage describes a list under the revision whose first page holds the fewest entries. It is
// empty if one page suffices under every revision.
func (p *Preview) describePage(l *list) (text string) {
	least := len(l.Entries)
	for _, r := range revision.All() {
		out := l.under(r)
		_, last := out.page(0, p.opts.PageSize, p.opts.PageBytes)
		if last < 0 {
			continue
		}
		o := out.overflow(last, p.opts.PageSize)
		if o.first >= least {
			continue
		}
		least = o.first
		pages := 1
		for end := last; end >= 0; pages++ {
			_, end = out.page(end+1, p.opts.PageSize, p.opts.PageBytes)
		}
		value := p.opts.PageSize
		if o.setting == settingPageBytes {
			value = p.opts.PageBytes
		}
		text = fmt.Sprintf("%s has %d pages, as %s is %d: the first has %d of %d entries. Clients that read only the first page, "+
			"as some agent frameworks do, do not see the entries from %.120q on: raise %s, or serve fewer entries",
			l.kind, pages, o.setting, value, o.first, o.entries, l.Entries[out.items[o.first].entry].key, o.setting)
	}
	return text
}
