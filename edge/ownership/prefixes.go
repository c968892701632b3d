package ownership

import (
	"slices"
	"sort"
	"strings"
)

// Prefixes finds the stored texts with which another text begins. The zero value is empty. Call Add
// for each text, then Build; afterwards it is immutable and safe for concurrent use. A lookup takes
// time logarithmic in the number of texts and linear in the number of nested prefixes.
type Prefixes struct{ nodes []node }

// node is one text. Nodes are sorted by text, without duplicates.
type node struct {
	text    string
	parent  int   // index of the longest other text that this one begins with; -1 if none
	holders []int // in ascending order
}

// Add adds a text of a holder. An empty text is ignored: it would be a prefix of everything.
func (p *Prefixes) Add(text string, holder int) {
	if text != "" {
		p.nodes = append(p.nodes, node{text: text, parent: -1, holders: []int{holder}})
	}
}

// Build prepares the added texts for lookups.
func (p *Prefixes) Build() {
	slices.SortStableFunc(p.nodes, func(a, b node) int { return strings.Compare(a.text, b.text) })
	out := p.nodes[:0]
	for _, n := range p.nodes {
		if last := len(out) - 1; last >= 0 && out[last].text == n.text {
			out[last].holders = append(out[last].holders, n.holders...)
			continue
		}
		out = append(out, n)
	}
	p.nodes = out
	for i := range p.nodes {
		slices.Sort(p.nodes[i].holders)
		p.nodes[i].holders = slices.Compact(p.nodes[i].holders)
		p.nodes[i].parent = p.enclosing(i-1, p.nodes[i].text)
	}
}

// enclosing returns the last node at or before i whose text s begins with, or -1.
func (p *Prefixes) enclosing(i int, s string) int {
	for i >= 0 && !strings.HasPrefix(s, p.nodes[i].text) {
		i = p.nodes[i].parent
	}
	return i
}

// find returns the longest text that s begins with, or -1.
func (p *Prefixes) find(s string) int {
	// Every text between a prefix of s and s itself begins with that prefix, so the prefixes of s
	// enclose its predecessor.
	return p.enclosing(sort.Search(len(p.nodes), func(i int) bool { return p.nodes[i].text > s })-1, s)
}

// Longest returns the holders of the longest text that s begins with, in ascending order, or nil.
// The slice must not be modified.
func (p *Prefixes) Longest(s string) []int {
	if i := p.find(s); i >= 0 {
		return p.nodes[i].holders
	}
	return nil
}

// First returns the lowest holder of any text that s begins with, if it is below most and in
// allowed. nil allows all. It returns most if there is none.
func (p *Prefixes) First(s string, most int, allowed []int) int {
	for i := p.find(s); i >= 0; i = p.nodes[i].parent {
		for _, holder := range p.nodes[i].holders {
			if holder >= most {
				break
			}
			if Allows(allowed, holder) {
				most = holder
				break
			}
		}
	}
	return most
}

// Allows reports whether a grant allows a holder. nil allows all.
func Allows(allowed []int, holder int) bool {
	return allowed == nil || slices.Contains(allowed, holder)
}
