package catalog

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/catalog/search"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// indexes keeps the last index of each set with search in a generation of the settings, for later
// views with the same tools. The zero value has no sets and keeps nothing. It is safe for
// concurrent use.
type indexes struct {
	mu sync.Mutex
	// last has an element for each set with search, by its name.
	last map[string]indexed
}

// indexed is an index and the tools that it is of, in their order and form.
type indexed struct {
	tools   []*Tool
	schemas overlay.Schemas
	index   *search.Index
}

// retain keeps the indexes of the sets with search of a generation, and frees those of others.
func (x *indexes) retain(sets overlay.Sets) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.last
	x.last = make(map[string]indexed)
	for name, set := range sets {
		if set.Search {
			x.last[name] = before[name]
		}
	}
}

// of returns the index of a set's tools. It reuses the last one if that has the same tools. A nil
// receiver creates a new one.
func (x *indexes) of(set string, tools *toolSet) *search.Index {
	if x == nil {
		return indexOf(tools)
	}
	all := make([]*Tool, len(tools.List.Entries))
	for i, e := range tools.List.Entries {
		all[i] = tools.ByName[e.key]
	}
	x.mu.Lock()
	known := x.last[set]
	x.mu.Unlock()
	if known.index != nil && known.schemas == tools.schemas && slices.Equal(known.tools, all) {
		return known.index
	}
	made := indexed{all, tools.schemas, indexOf(tools)}
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.last[set]; ok { // not of a view of another generation
		x.last[set] = made
	}
	return made.index
}

// indexOf returns the index of a list of tools. A tool that is not for models has no words in it.
func indexOf(tools *toolSet) *search.Index {
	documents := make([]search.Document, len(tools.List.Entries))
	for i, e := range tools.List.Entries {
		t := tools.ByName[e.key]
		if !forModels(t.Proto.GetMetaJson()) {
			continue
		}
		shown := tools.shownOf(t)
		d := search.Document{Name: t.ShownName, Description: shown.GetTitle() + " " + shown.GetDescription()}
		properties, _ := jsonrpc.Member([]byte(shown.GetInputSchemaJson()), "properties")
		if jsonrpc.TypeOf(properties) == jsonrpc.Object {
			_ = jsonrpc.Members(properties, func(name string, value json.RawMessage) error {
				text, _ := jsonrpc.Member(value, "description")
				words, _ := jsonrpc.Unquote(text)
				d.Arguments = append(d.Arguments, name, words)
				return nil
			})
		}
		documents[i] = d
	}
	return search.New(documents)
}

// indexBytes estimates the bytes of a tool in the index of a set.
const indexBytes = 512

// maxIndexWeight bounds the weight of a view's indexes, so that several views are always cached.
const maxIndexWeight = 4 << 20

// indexWeight estimates the bytes of the indexes of a view, one for each set with search. It is at
// most maxIndexWeight.
func (v *View) indexWeight() int {
	n := 0
	if v.sets != nil {
		for _, s := range *v.sets {
			if s.Search {
				n++
			}
		}
	}
	return min(n*indexBytes*len(v.Tools.List.Entries), maxIndexWeight)
}
