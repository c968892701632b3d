package redact

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

const (
	// maxWork bounds what one message, or one text, may cost: bytes, times the instructions of all expressions.
	maxWork = 1 << 29
	// maxRounds bounds how often a text is searched until nothing is found in it.
	maxRounds = 4
	// maxNested bounds the documents in strings of documents.
	maxNested = 8
)

// pass is one use of a View, with what is left of its bounds.
type pass struct {
	v      *View
	left   int64
	nested int
}

// Text returns a text without its secrets. A text that is a JSON object or array is searched as such: see JSON.
func (v *View) Text(text string) string {
	if v == nil || text == "" {
		return text
	}
	p := pass{v: v, left: maxWork}
	return p.text(text, anyDocument, false)
}

// text is Text. again is true for a text that was searched before: rules that only count do not count again.
func (p *pass) text(text string, doc document, again bool) string {
	for n := range maxRounds {
		if !p.affords(len(text)) {
			return p.exceeded(text)
		}
		var next string
		if isDocument(text) {
			next = p.document(text, doc, again || n > 0)
		} else {
			next = p.plain(text, again || n > 0)
		}
		if next == text {
			return text
		}
		text = next
	}
	return p.exceeded(text)
}

// affords charges the search of a text of n bytes, and reports whether it is within the bounds.
func (p *pass) affords(n int) bool {
	p.left -= int64(n) * p.v.weight
	return p.left >= 0
}

// exceeded returns what stands in the place of a text beyond the bounds.
func (p *pass) exceeded(text string) string {
	if !p.v.enforced || text == exceeded {
		return text
	}
	p.v.over.replaced.Add(1)
	return exceeded
}

// isDocument reports whether a text is a JSON object or array.
func isDocument(text string) bool {
	t := strings.TrimLeft(text, " \t\r\n")
	return t != "" && (t[0] == '{' || t[0] == '[') && jsonrpc.Valid([]byte(text))
}

// hit is a match of a rule.
type hit struct {
	match
	rule *rule
}

// plain returns a text that is no document without its secrets.
func (p *pass) plain(text string, again bool) string {
	hits := p.hits(text, again)
	if len(hits) == 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	at := 0
	for _, h := range hits {
		out = append(out, text[at:h.from]...)
		out = append(out, h.rule.replace...)
		at = h.to
	}
	return string(append(out, text[at:]...))
}

// hits returns the parts of a text that are replaced, in order and without overlaps. Those of rules that only count are counted,
// unless again is true.
func (p *pass) hits(text string, again bool) (out []hit) {
	unescaped, at := unescape(text)
	for _, r := range p.v.patterns {
		found := r.find(text)
		if at != nil {
			for _, m := range r.find(unescaped) {
				found = append(found, match{at[m.from], at[m.to]})
			}
		}
		if r.dry {
			if !again {
				p.v.would(r, len(found))
			}
			continue
		}
		for _, m := range found {
			out = append(out, hit{m, r})
		}
	}
	slices.SortStableFunc(out, func(a, b hit) int { return cmp.Compare(a.from, b.from) })
	kept := out[:0]
	for _, h := range out {
		if n := len(kept) - 1; n >= 0 && h.from < kept[n].to {
			kept[n].to = max(kept[n].to, h.to)
			continue
		}
		kept = append(kept, h)
		h.rule.counts[p.v.place].replaced.Add(1)
	}
	return kept
}

// unescape returns a text with the characters for its escapes \uXXXX and \/, as in a part of a JSON text, and for each byte of the result
// and its end the index in the text. The indexes are nil if there are no escapes.
func unescape(text string) (string, []int) {
	first := strings.IndexByte(text, '\\')
	if first < 0 || !strings.Contains(text, `\u`) && !strings.Contains(text, `\/`) {
		return text, nil
	}
	out, at := make([]byte, 0, len(text)), make([]int, 0, len(text)+1)
	add := func(from int, b ...byte) {
		for range b {
			at = append(at, from)
		}
		out = append(out, b...)
	}
	for i := 0; i < len(text); {
		if text[i] != '\\' || i+1 == len(text) {
			add(i, text[i])
			i++
			continue
		}
		switch r, n := escaped(text[i:]); {
		case n > 0:
			add(i, utf8.AppendRune(nil, r)...)
			i += n
		case text[i+1] == '/':
			add(i, '/')
			i += 2
		default:
			add(i, text[i], text[i+1])
			at[len(at)-1] = i + 1
			i += 2
		}
	}
	return string(out), append(at, len(text))
}

// escaped returns the character of the escape \uXXXX, or pair of them, that begins a text, and its length, 0 for none.
func escaped(text string) (rune, int) {
	one := func(text string) (rune, bool) {
		if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(text[2:6], 16, 16)
		return rune(n), err == nil
	}
	r, ok := one(text)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := one(text[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return r, 6
}
