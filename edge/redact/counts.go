package redact

import (
	"sync"
	"sync/atomic"
)

// maxCounted bounds the number of rules with counts.
const maxCounted = 256

// Counts counts the matches of all Maskers whose CountIn was called with it. The zero value is
// ready to use. It is safe for concurrent use.
type Counts struct {
	mu    sync.Mutex
	rules map[string]*[placeCount]count
	over  [placeCount]count
}

// count has the counts of a rule in a place.
type count struct{ replaced, would atomic.Int64 }

// CountIn makes m count in c. It must not be called when m is already in use.
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

// Each calls fn for each rule and place. replaced is the number of replacements, would the number
// of matches in audit mode.
func (c *Counts) Each(fn func(rule string, place Place, replaced, would int64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, of := range c.rules {
		for place := range placeCount {
			fn(name, place, of[place].replaced.Load(), of[place].would.Load())
		}
	}
}

// Exceeded calls fn for each place with the number of texts that were replaced as a whole because
// they exceeded a bound. If no Masker counts in c, it does nothing.
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

// Current holds the Masker in force, which can be replaced at any time. The zero value has none. It
// is safe for concurrent use.
type Current struct {
	masker atomic.Pointer[Masker]
	counts Counts
}

// Set puts m in force. nil means none. m must not have been used before.
func (c *Current) Set(m *Masker) {
	m.CountIn(&c.counts)
	c.masker.Store(m)
}

// Masker returns the Masker in force. It returns nil if there is none, or if c is nil.
func (c *Current) Masker() *Masker {
	if c == nil {
		return nil
	}
	return c.masker.Load()
}

// Counts returns the counts of all Maskers that were in force.
func (c *Current) Counts() *Counts { return &c.counts }

// Texts returns a function that returns the masking function for a place, or nil if no rule applies
// now. It is for packages that do not import this one.
func (c *Current) Texts(place Place) func() func(string) string {
	return func() func(string) string {
		v := c.Masker().View(place, About{})
		if v == nil {
			return nil
		}
		return v.Text
	}
}
