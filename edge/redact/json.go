package redact

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// document is the meaning of a JSON text, which selects the paths that apply to it.
type document uint8

const (
	// anyDocument is of unknown meaning: the paths of both roots apply to it, and to its members
	// with the names of the roots.
	anyDocument document = iota
	resultDocument
	argumentsDocument
	// otherDocument is neither a result nor arguments: no path applies to it.
	otherDocument
	// formDocument is the schema of a form. The names of its fields are kept, because the client
	// answers with them.
	formDocument
)

// The roots of paths.
const (
	rootResult, rootArguments = "result", "arguments"
	// structured is the member of a result with the structured content.
	structured = "structuredContent"
)

// Result returns a JSON value of a result, such as structured content, without its secrets.
func (v *View) Result(raw string) string { return v.json(raw, resultDocument) }

// Arguments returns the arguments of a call without their secrets.
func (v *View) Arguments(raw json.RawMessage) json.RawMessage {
	if v == nil || len(raw) == 0 {
		return raw
	}
	text := string(raw)
	if out := v.json(text, argumentsDocument); out != text {
		return json.RawMessage(out)
	}
	return raw
}

// JSON returns a JSON value without its secrets. It searches decoded strings, names of members and
// numbers. Text that is not JSON is searched as text.
func (v *View) JSON(raw string) string { return v.json(raw, anyDocument) }

func (v *View) json(raw string, doc document) string {
	if v == nil || raw == "" {
		return raw
	}
	p := v.pass()
	return p.json(raw, doc)
}

func (p *pass) json(raw string, doc document) string {
	if !jsonrpc.Valid([]byte(raw)) {
		return p.text(raw, otherDocument, false)
	}
	if !p.spend(len(raw)) {
		return p.replaceWhole(raw)
	}
	out := p.document(raw, doc, false)
	if p.left < 0 {
		return p.replaceWhole(raw)
	}
	if out == raw {
		return raw
	}
	for range maxRounds {
		if !p.spend(len(out)) {
			return p.replaceWhole(raw)
		}
		next := p.document(out, doc, true)
		if p.left < 0 {
			break
		}
		if next == out {
			return out
		}
		out = next
	}
	return p.replaceWhole(raw)
}

// replaceWhole returns the replacement of a JSON value that exceeds a bound. It has the type of raw if
// that is an object or an array, and is a string otherwise.
func (p *pass) replaceWhole(raw string) string {
	if !p.v.enforced {
		return raw
	}
	text := `"` + p.exceeded("") + `"`
	switch jsonrpc.TypeOf([]byte(raw)) {
	case jsonrpc.Object:
		return `{"redacted":` + text + `}`
	case jsonrpc.Array:
		return `[` + text + `]`
	}
	return text
}

// step is a rule with a path. n is the number of the path's names on the way to a value.
type step struct {
	rule *rule
	n    int
}

// walk searches a document and writes the result.
type walk struct {
	*pass
	doc      document
	repeated bool
	in       string
	// out replaces in[:done]. nil means that nothing was replaced.
	out  []byte
	done int
}

// document returns a document without its secrets. raw must be valid JSON.
func (p *pass) document(raw string, doc document, again bool) string {
	w := walk{pass: p, doc: doc, repeated: again, in: raw}
	var steps []step
	for _, r := range p.v.paths {
		if doc == anyDocument || r.root == rootResult && doc == resultDocument || r.root == rootArguments && doc == argumentsDocument {
			steps = append(steps, step{rule: r})
		}
	}
	w.value(w.space(0), steps, true)
	if w.out == nil {
		return raw
	}
	return string(append(w.out, raw[w.done:]...))
}

// replace replaces in[from:to] by a text.
func (w *walk) replace(from, to int, text string, quoted bool) {
	if w.out == nil {
		w.out = make([]byte, 0, len(w.in))
	}
	w.out = append(w.out, w.in[w.done:from]...)
	if quoted {
		w.out = jsonrpc.AppendString(w.out, text)
	} else {
		w.out = append(w.out, text...)
	}
	w.done = to
}

func (w *walk) space(i int) int {
	for i < len(w.in) && strings.IndexByte(" \t\r\n", w.in[i]) >= 0 {
		i++
	}
	return i
}

// value searches the value at i and returns the index after it. The document must be valid.
func (w *walk) value(i int, steps []step, root bool) int {
	switch c := w.in[i]; {
	case c == '{':
		return w.object(i, steps, root)
	case c == '[':
		for i = w.space(i + 1); w.in[i] != ']'; {
			i = w.space(w.value(i, steps, false))
			if w.in[i] == ',' {
				i = w.space(i + 1)
			}
		}
		return i + 1
	case c == '"':
		end := stringEnd(w.in, i)
		text := w.unquoted(i, end)
		w.nested++
		masked, doc := text, w.doc
		if doc == formDocument { // a string in a form is not itself a form
			doc = otherDocument
		}
		if w.nested > maxNested && isDocument(text) {
			masked = w.exceeded(text)
		} else {
			masked = w.text(text, doc, w.repeated)
		}
		w.nested--
		if masked != text {
			w.replace(i, end, masked, true)
		}
		return end
	case c == '-' || isDigit(c):
		end := i
		for end < len(w.in) && strings.IndexByte("+-.eE0123456789", w.in[end]) >= 0 {
			end++
		}
		w.number(i, end)
		return end
	}
	for i < len(w.in) && isLetter(w.in[i]) {
		i++
	}
	return i
}

// object searches the object at i.
func (w *walk) object(i int, steps []step, root bool) int {
	var names map[string]int // how often a replaced name was used
	for i = w.space(i + 1); w.in[i] != '}'; {
		end := stringEnd(w.in, i)
		name := w.unquoted(i, end)
		if masked := w.name(name); masked != name {
			if names == nil {
				names = map[string]int{}
			}
			if names[masked]++; names[masked] > 1 {
				masked += " " + strconv.Itoa(names[masked])
			}
			w.replace(i, end, masked, true)
		}
		i = w.space(w.space(end) + 1)
		i = w.space(w.member(i, name, steps, root))
		if w.in[i] == ',' {
			i = w.space(i + 1)
		}
	}
	return i + 1
}

// name returns the name of a member without its secrets.
func (w *walk) name(name string) string {
	if w.doc == formDocument {
		return name
	}
	return w.text(name, w.doc, w.repeated)
}

// member searches the value at i, which is the value of an object's member with the name.
func (w *walk) member(i int, name string, steps []step, root bool) int {
	if w.doc == formDocument && name == "required" && w.in[i] == '[' {
		return w.end(i)
	}
	var below []step
	for _, s := range steps {
		if of := s.rule.path[s.n]; of != name && of != "*" {
			continue
		}
		if s.n++; s.n < len(s.rule.path) {
			below = append(below, s)
			continue
		}
		if s.rule.dry {
			if !w.repeated {
				w.v.countAudited(s.rule, 1)
			}
			continue
		}
		return w.replaceValue(i, s.rule)
	}
	if root && w.doc == anyDocument {
		for _, r := range w.v.paths {
			if r.root == rootResult && name == structured || r.root == rootArguments && name == rootArguments {
				below = append(below, step{rule: r})
			}
		}
	}
	return w.value(i, below, false)
}

// replaceValue replaces the whole value at i.
func (w *walk) replaceValue(i int, r *rule) int {
	end := w.end(i)
	was := w.in[i:end]
	if now := r.valueFor(was); now != was {
		r.counts[w.v.place].replaced.Add(1)
		w.replace(i, end, now, false)
	}
	return end
}

// end returns the index after the value at i.
func (w *walk) end(i int) int {
	depth := 0
	for {
		switch c := w.in[i]; {
		case c == '"':
			i = stringEnd(w.in, i) - 1
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case depth == 0:
			for i < len(w.in) && strings.IndexByte(",]} \t\r\n", w.in[i]) < 0 {
				i++
			}
			return i
		}
		if i++; depth == 0 {
			return i
		}
	}
}

// valueFor returns the replacement of the JSON value was.
func (r *rule) valueFor(was string) string {
	if r.numeric && jsonrpc.TypeOf([]byte(was)) == jsonrpc.Number {
		return r.replace
	}
	return string(jsonrpc.AppendString(nil, r.replace))
}

// number replaces the number in[i:end] if it is a secret. It searches the number as it is written,
// and as an integer.
func (w *walk) number(i, end int) {
	if end-i < 4 { // no secret is shorter
		return
	}
	literal := w.in[i:end]
	hits := w.hits(literal, w.repeated)
	if len(hits) == 0 {
		whole, ok := integer(literal)
		if !ok {
			return
		}
		if hits = w.hits(whole, w.repeated); len(hits) == 0 {
			return
		}
	}
	w.replace(i, end, hits[0].rule.valueFor(literal), false)
}

// maxInteger bounds the digits of a number that is searched as an integer.
const maxInteger = 64

// integer returns the integer value of a number with a fraction or an exponent, in decimal digits.
// It returns false if the value is not an integer, or is too large.
func integer(literal string) (string, bool) {
	mantissa, power := strings.TrimPrefix(literal, "-"), 0
	if e := strings.IndexAny(mantissa, "eE"); e >= 0 {
		n, err := strconv.ParseInt(mantissa[e+1:], 10, 32)
		if err != nil {
			return "", false
		}
		mantissa, power = mantissa[:e], int(n)
	}
	whole, fraction, pointed := strings.Cut(mantissa, ".")
	if !pointed && len(mantissa) == len(literal) {
		return "", false
	}
	digits := strings.TrimRight(whole+fraction, "0")
	power += len(whole) - len(digits)
	if digits = strings.TrimLeft(digits, "0"); digits == "" || power < 0 || len(digits)+power > maxInteger {
		return "", false
	}
	return digits + strings.Repeat("0", power), true
}

// unquoted returns the text of the string in[i:end].
func (w *walk) unquoted(i, end int) string {
	raw := w.in[i:end]
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	text, _ := jsonrpc.Unquote(json.RawMessage(raw))
	return text
}

// stringEnd returns the index after the string that begins at i.
func stringEnd(in string, i int) int {
	for i++; in[i] != '"'; i++ {
		if in[i] == '\\' {
			i++
		}
	}
	return i + 1
}
