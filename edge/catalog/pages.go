package catalog

import (
	"fmt"
	"sort"

	"github.com/mcpedge/mcpedge/edge/revision"
)

// overflow is what the first page of a list leaves out.
type overflow struct {
	// entries of the list, and those of them on the first page.
	entries, first int
	// setting that ends the first page.
	setting string
}

// overflow counts; last is the last entry of the first page.
func (out *rendering) overflow(last, size int) overflow {
	o := overflow{entries: len(out.items), setting: settingPageBytes}
	o.first = sort.Search(len(out.items), func(i int) bool { return out.items[i].entry > last })
	if o.first == size {
		o.setting = settingPageSize
	}
	return o
}

// The settings by the names that files and flags have.
const (
	settingPageSize  = "page-size"
	settingPageBytes = "page-bytes"
)

// say looks at the lists with entries of at least so many of the parts.
func (p *Preview) say(parts []part, owners int) (said []string) {
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
		if text := p.sentence(l); text != "" {
			said = append(said, text)
		}
	}
	return said
}

// sentence tells of a list under the revision whose first page holds least; empty: one page holds all under each.
func (p *Preview) sentence(l *list) (text string) {
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
		text = fmt.Sprintf("%s has %d pages, as %s is %d: the first has %d of %d entries. Clients that read the first page "+
			"alone, as some agent frameworks do, see nothing from %.120q on: raise %s, or serve fewer entries",
			l.kind, pages, o.setting, value, o.first, o.entries, l.Entries[out.items[o.first].entry].key, o.setting)
	}
	return text
}
