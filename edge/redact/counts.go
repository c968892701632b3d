package redact

import (
	"sync"
	"sync/atomic"
)

// maxCounted bounds the rules whose counts are kept.
const maxCounted = 256

// Counts counts what was found, over all Maskers that count in it. The zero value is ready for use. It is safe for concurrent use.
type Counts struct {
	mu    sync.Mutex
	rules map[string]*[placeCount]count
	over  [placeCount]count
}

// count is the counts of a rule in a place.
type count struct{ replaced, would atomic.Int64 }

// CountIn makes m count in c. It must not be called once m is in use.
func (m *Masker) CountIn(c *Counts) {
	if m == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rules == nil {
		c.rules = map[string]*[placeCount]count{}
	}
	for _, r := range m.rules {
		of := c.rules[r.name]
		if of == nil {
			if of = new([placeCount]count); len(c.rules) < maxCounted {
				c.rules[r.name] = of
			}
		}
		for place := range placeCount {
			r.counts[place] = &of[place]
		}
	}
	for place := range placeCount {
		m.over[place] = &c.over[place]
		if v := m.views[place]; v != nil {
			v.over = m.over[place]
		}
	}
}

// Each calls fn for each rule and place: with how often it replaced something there, and how often it would have.
func (c *Counts) Each(fn func(rule string, place Place, replaced, would int64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, of := range c.rules {
		for place := range placeCount {
			fn(name, place, of[place].replaced.Load(), of[place].would.Load())
		}
	}
}

// Exceeded calls fn for each place, with how many texts were replaced as a whole because of the bounds. Without a Masker that counts in c
// it does nothing.
func (c *Counts) Exceeded(fn func(place Place, n int64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rules) == 0 {
		return
	}
	for place := range placeCount {
		fn(place, c.over[place].replaced.Load())
	}
}

// Current holds the Masker in force, which may be replaced at any time. The zero value has none. It is safe for concurrent use.
type Current struct {
	masker atomic.Pointer[Masker]
	counts Counts
}

// Set puts a Masker in force, nil for none. It must not be in use before.
func (c *Current) Set(m *Masker) {
	m.CountIn(&c.counts)
	c.masker.Store(m)
}

// Masker returns the one in force; nil if there is none, or c is nil.
func (c *Current) Masker() *Masker {
	if c == nil {
		return nil
	}
	return c.masker.Load()
}

// Counts returns the counts of all Maskers that were in force.
func (c *Current) Counts() *Counts { return &c.counts }

// Texts returns a function with the masking of texts in a place, or nil if none applies now. It suits packages that do not know this one.
func (c *Current) Texts(place Place) func() func(string) string {
	return func() func(string) string {
		v := c.Masker().View(place, About{})
		if v == nil {
			return nil
		}
		return v.Text
	}
}
