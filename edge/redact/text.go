package redact

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

const (
	// maxWork bounds the cost of one message or text: its bytes, times the instructions of all
	// expressions.
	maxWork = 1 << 29
	// maxRounds bounds the number of searches of a text, which is searched until nothing is found.
	maxRounds = 4
	// maxNested bounds the nesting of documents in strings of documents.
	maxNested = 8
	// maxEscapes bounds the levels of escapes that are decoded in a text that is not a document.
	maxEscapes = 3
)

// pass is one use of a View, with the rest of its bounds. Rules in audit mode have a bound of their
// own, because they must not affect the matches of other rules.
type pass struct {
	v       *View
	left    int64
	dryLeft int64
	nested  int
}

// pass returns a new pass of v.
func (v *View) pass() pass { return pass{v: v, left: maxWork, dryLeft: maxWork} }

// Text returns a text without its secrets. A text that is a JSON object or array is searched as
// JSON is.
func (v *View) Text(text string) string {
	if v == nil || text == "" {
		return text
	}
	p := v.pass()
	return p.text(text, anyDocument, false)
}

// text implements Text. again is true for a text that was searched before: rules in audit mode then
// do not count again.
func (p *pass) text(text string, doc document, again bool) string {
	for n := range maxRounds {
		if !p.spend(len(text)) {
			return p.exceeded(text)
		}
		var next string
		if isDocument(text) {
			next = p.document(text, doc, again || n > 0)
		} else {
			next = p.redactPlain(text, again || n > 0)
		}
		if p.left < 0 {
			return p.exceeded(text)
		}
		if next == text {
			return text
		}
		text = next
	}
	return p.exceeded(text)
}

// spend subtracts the cost of searching n bytes, and reports whether it is within the bound.
func (p *pass) spend(n int) bool {
	p.left -= int64(n) * p.v.weight
	return p.left >= 0
}

// exceeded returns the replacement of a text that exceeds a bound.
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

// redactPlain returns a text that is not a document without its secrets.
func (p *pass) redactPlain(text string, again bool) string {
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

// hits returns the parts of a text to replace, in order and without overlaps. It counts the matches
// of rules in audit mode, unless again is true. If not all matches were found, p.left is negative
// afterwards.
func (p *pass) hits(text string, again bool) (out []hit) {
	decoded := []layer{{text: text}}
	for len(decoded) <= maxEscapes {
		next, ok := unescape(decoded[len(decoded)-1].text)
		if !ok || !p.spend(len(next.text)) {
			break
		}
		decoded = append(decoded, next)
	}
	for _, r := range p.v.patterns {
		left := &p.left
		if r.dry {
			if left = &p.dryLeft; again || p.dryLeft < 0 {
				continue
			}
		}
		var found []match
		for i := range decoded {
			if r.dry {
				p.dryLeft -= int64(len(decoded[i].text)) * r.weight
			}
			for _, m := range r.find(decoded[i].text, left) {
				for k := i; k > 0; k-- {
					m = match{decoded[k].before(m.from), decoded[k].before(m.to)}
				}
				found = append(found, m)
			}
		}
		if len(decoded) > 1 {
			slices.SortFunc(found, func(a, b match) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
			found = slices.Compact(found)
		}
		if r.dry {
			p.v.countAudited(r, len(found))
			continue
		}
		for _, m := range found {
			out = append(out, hit{m, r})
		}
	}
	return p.mergeHits(out)
}

// mergeHits sorts hits, joins overlapping ones, and counts them.
func (p *pass) mergeHits(out []hit) []hit {
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
