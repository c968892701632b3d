package uris

import "strings"

// word is a text to search for in URIs.
type word struct {
	text string
	// border has, for each prefix, the length of its longest proper prefix that is also its suffix
	// (Knuth, Morris, Pratt).
	border []uint16
}

func newWord(text string) word {
	w := word{text: text, border: make([]uint16, len(text))}
	n := uint16(0)
	for at := 1; at < len(text); at++ {
		for n > 0 && text[at] != text[n] {
			n = w.border[n-1]
		}
		if text[at] == text[n] {
			n++
		}
		w.border[at] = n
	}
	return w
}

// bits is a set of positions in a URI.
type bits []uint64

func newBits(n int) bits       { return make(bits, n/64+1) }
func (b bits) has(at int) bool { return b[at>>6]>>(at&63)&1 != 0 }
func (b bits) add(at int)      { b[at>>6] |= 1 << (at & 63) }

func (b bits) addAll(all bits) {
	for i, w := range all {
		b[i] |= w
	}
}

// matching is one match of a template against a URI.
type matching struct {
	t   *Template
	uri string
	// fits has, for each part and then for the end, the positions from which it and all later parts
	// match.
	fits []bits
	// characters is the number of characters before each position, an escape counting as one. nil
	// if no variable has a maximum length.
	characters []uint16
	// steps counts the steps of the match, each a bounded number of operations.
	steps int
}

// Matches reports whether a URI matches the template in its normal form. A URI of more than
// MaxBytes, or with a percent sign that begins no escape, matches no template.
func (t *Template) Matches(uri string) bool {
	ok, _ := t.match(uri, nil)
	return ok
}

// Match returns the decoded variables of a URI, without those that it omits, and whether it
// matches. From left to right, each value is the longest with which the rest matches. The values of
// a list are separated by commas.
func (t *Template) Match(uri string) (map[string]string, bool) {
	values := make(map[string]string, len(t.variables))
	ok, _ := t.match(uri, values)
	if !ok {
		return nil, false
	}
	return values, true
}

// match fills values, unless nil, and returns the number of steps. If the URI matches as spelled,
// its values are taken from that spelling, in which an escaped character separates no values.
func (t *Template) match(uri string, values map[string]string) (ok bool, steps int) {
	if len(uri) > MaxBytes {
		return false, 1
	}
	for at := range len(uri) {
		if uri[at] == '%' && !escaped(uri, at) {
			return false, len(uri)
		}
	}
	ok, steps = t.matchSpelled(uri, values)
	if other := normalUnescaped(uri); !ok && other != uri {
		var more int
		ok, more = t.matchSpelled(other, values)
		steps += more
	}
	return ok, steps
}

func (t *Template) matchSpelled(uri string, values map[string]string) (ok bool, steps int) {
	if !t.mayMatch(uri) {
		return false, 1
	}
	m := t.matching(uri)
	if !m.fits[0].has(0) {
		return false, m.steps
	}
	if values != nil {
		m.read(values)
	}
	return true, m.steps
}

// matching returns the match of a URI.
func (t *Template) matching(uri string) *matching {
	m := &matching{t: t, uri: uri, fits: make([]bits, len(t.parts)+1), steps: len(uri)}
	m.count()
	end := newBits(len(uri) + 1)
	end.add(len(uri))
	m.fits[len(t.parts)] = end
	for i := len(t.parts) - 1; i >= 0; i-- {
		m.fits[i] = m.from(&t.parts[i], m.fits[i+1])
	}
	return m
}

// mayMatch compares the literals at both ends, which excludes most URIs.
func (t *Template) mayMatch(uri string) bool {
	first, last := &t.parts[0], &t.parts[len(t.parts)-1]
	ends := func(p *part, cut func(s, text string) bool) bool {
		return cut(uri, p.before.text) || len(p.others) > 0 && cut(uri, p.others[0].text)
	}
	return ends(first, strings.HasPrefix) && ends(last, strings.HasSuffix)
}

func (m *matching) count() {
	limited := false
	for i := range m.t.parts {
		limited = limited || m.t.parts[i].most > 0
	}
	if !limited {
		return
	}
	m.characters = make([]uint16, len(m.uri)+1)
	n := uint16(0)
	for at := range len(m.uri) {
		m.characters[at] = n
		m.steps++
		if m.insideEscape(at) {
			continue
		}
		// Continuation bytes of an escaped character are not characters.
		if m.uri[at] != '%' || unhex(m.uri[at+1])&0xc != 0x8 {
			n++
		}
	}
	m.characters[len(m.uri)] = n
}

// insideEscape reports whether a position is inside an escape.
func (m *matching) insideEscape(at int) bool {
	return at > 0 && m.uri[at-1] == '%' || at > 1 && m.uri[at-2] == '%'
}

// from returns the positions from which a part and the parts after it match.
func (m *matching) from(p *part, behind bits) bits {
	out := newBits(len(m.uri) + 1)
	if p.optional {
		out.addAll(behind)
	}
	at := behind
	if p.name != "" {
		at = m.values(p, behind)
	}
	m.wordStarts(&p.before, at, out)
	for i := range p.others {
		m.wordStarts(&p.others[i], at, out)
	}
	return out
}

// wordStarts adds the positions of a word that ends at one of the positions behind.
func (m *matching) wordStarts(w *word, behind, out bits) {
	n := len(w.text)
	if n == 0 {
		out.addAll(behind)
		m.steps += len(out)
		return
	}
	have := uint16(0)
	for at := range len(m.uri) {
		m.steps++
		for have > 0 && (int(have) == n || m.uri[at] != w.text[have]) {
			have = w.border[have-1]
			m.steps++
		}
		if m.uri[at] == w.text[have] {
			have++
		}
		if int(have) == n && behind.has(at+1) {
			out.add(at + 1 - n)
		}
	}
}

// values returns the positions from which there is a value that ends at one of the positions
// behind.
func (m *matching) values(p *part, behind bits) bits {
	out := newBits(len(m.uri) + 1)
	if p.again.text != "" {
		m.lists(p, behind, out)
		return out
	}
	nearest := -1 // the end of the shortest value
	for at := len(m.uri); at >= 0; at-- {
		m.steps++
		switch {
		case behind.has(at) && !m.insideEscape(at):
			nearest = at
		case at == len(m.uri) || !p.allowed[m.uri[at]]:
			nearest = -1
		}
		if nearest >= 0 && (p.most == 0 || int(m.characters[nearest]-m.characters[at]) <= p.most) {
			out.add(at)
		}
	}
	return out
}

// lists is values for an exploded list, which continues after each separator.
func (m *matching) lists(p *part, behind, out bits) {
	separators := m.allPositions(&p.again)
	for at := len(m.uri); at >= 0; at-- {
		m.steps++
		switch {
		case behind.has(at) && !m.insideEscape(at),
			at < len(m.uri) && p.allowed[m.uri[at]] && out.has(at+1),
			separators.has(at) && out.has(at+len(p.again.text)):
			out.add(at)
		}
	}
}

// allPositions returns all positions of a non-empty word.
func (m *matching) allPositions(w *word) bits {
	all, out := newBits(len(m.uri)+1), newBits(len(m.uri)+1)
	for i := range all {
		all[i] = ^uint64(0)
	}
	m.wordStarts(w, all, out)
	return out
}

// read reads the values of a matching URI from left to right.
func (m *matching) read(values map[string]string) {
	at := 0
	for i := range m.t.parts {
		p, behind := &m.t.parts[i], m.fits[i+1]
		start := m.start(p, at)
		if start < 0 {
			continue // The variable is optional and missing.
		}
		if p.name == "" {
			at = start
			continue
		}
		end := m.end(p, start, behind)
		if end < 0 {
			continue
		}
		text := m.uri[start:end]
		if p.between != "," {
			text = strings.ReplaceAll(text, p.between, ",")
		}
		values[p.name] = Decode(text)
		at = end
	}
}

// start returns the position after the prefix of a part, or -1 if the part does not begin there.
func (m *matching) start(p *part, at int) int {
	rest := m.uri[at:]
	if strings.HasPrefix(rest, p.before.text) {
		return at + len(p.before.text)
	}
	for i := range p.others {
		if strings.HasPrefix(rest, p.others[i].text) {
			return at + len(p.others[i].text)
		}
	}
	return -1
}

// end returns the end of the longest value from start after which the rest matches, or -1.
func (m *matching) end(p *part, start int, behind bits) int {
	var separators, reached bits
	if p.again.text != "" {
		separators, reached = m.allPositions(&p.again), newBits(len(m.uri)+1)
		reached.add(start)
	}
	found := -1
	for at := start; ; at++ {
		m.steps++
		if reached != nil && !reached.has(at) {
			if at == len(m.uri) {
				return found
			}
			continue
		}
		if p.most > 0 && int(m.characters[at]-m.characters[start]) > p.most {
			return found
		}
		if behind.has(at) && !m.insideEscape(at) {
			found = at
		}
		if at == len(m.uri) {
			return found
		}
		switch ordinary := p.allowed[m.uri[at]]; {
		case reached == nil && !ordinary:
			return found
		case reached != nil && ordinary:
			reached.add(at + 1)
		}
		if separators != nil && separators.has(at) {
			reached.add(at + len(p.again.text))
		}
	}
}
