package uris

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxVariables is the maximum number of variables of a template. It limits the time of a match,
// which takes a few steps per variable and byte of the URI.
const MaxVariables = 64

// Template is a URI template of level 4 (RFC 6570) for matching URIs. It is immutable. Parse
// returns one.
type Template struct {
	text, normal string
	parts        []part
	variables    []string
}

// part is a literal or a variable.
type part struct {
	// name is the name of the variable; empty for a literal.
	name string
	// before is the literal, or the prefix of the variable, in normal form. Any of others may
	// replace it: a literal with escaped characters, or "?" for the first variable present in a
	// query.
	before word
	others []word
	// allowed are the bytes allowed in a value.
	allowed *[256]bool
	// again separates the values of an exploded list. Empty means a single value.
	again word
	// between separates the values of a list in the URI; commas replace it in the result.
	between string
	// optional is true if the variable may be missing.
	optional bool
	// most is the maximum number of characters of a value. 0 means no limit.
	most int
	// operator is the operator of the expression, or 0; named is true if its values have names.
	operator byte
	named    bool
	// exploded is true if the variable has the modifier *. inList is true if another variable of the
	// expression follows.
	exploded, inList bool
}

// Parse parses a template. It returns an error if the text is not a template of RFC 6570, if it is
// not a URI outside its expressions, if it has more than MaxBytes bytes or MaxVariables variables,
// or if it has a variable twice, because the values could differ. Its expansions need not be
// absolute.
func Parse(text string) (*Template, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("it has %d bytes: shorten it to at most %d", len(text), MaxBytes)
	}
	if err := checkText(text); err != nil {
		return nil, err
	}
	literals, expressions, err := split(text)
	if err != nil {
		return nil, err
	}
	t := &Template{text: text}
	// Schemes and hosts in literals can be recognized in the complete text only.
	kept := strings.Split(normalUnescaped(strings.Join(literals, placeholder)), placeholder)
	var normal strings.Builder
	for i, literal := range kept {
		if i > 0 {
			normal.WriteString("{" + expressions[i-1] + "}")
			if err := t.expression(expressions[i-1]); err != nil {
				return nil, fmt.Errorf("{%.80s} %w", expressions[i-1], err)
			}
		}
		escaped := escapeOnly(literal)
		normal.WriteString(escaped)
		p := part{before: newWord(escaped)}
		if escaped != literal {
			p.others = []word{newWord(literal)}
		}
		t.parts = append(t.parts, p)
	}
	t.normal = normal.String()
	if len(t.variables) > MaxVariables {
		return nil, fmt.Errorf("it has %d variables: use at most %d", len(t.variables), MaxVariables)
	}
	return t, nil
}

// placeholder is the placeholder of an expression among literals, which have no control characters.
const placeholder = "\x00"

// split returns the literals of a template and the expressions between them, without their braces.
func split(text string) (literals, expressions []string, err error) {
	for {
		open := strings.IndexAny(text, "{}")
		if open < 0 {
			open = len(text)
		}
		if at := strings.IndexAny(text[:open], "\"<>\\^`| "); at >= 0 {
			return nil, nil, fmt.Errorf("it has %q outside of its expressions: write the escape %%%02X (RFC 6570, section 2.1)", text[at], text[at])
		}
		literals = append(literals, text[:open])
		if open == len(text) {
			return literals, expressions, nil
		}
		expression, rest, closed := strings.Cut(text[open+1:], "}")
		if text[open] == '}' || !closed || strings.Contains(expression, "{") {
			return nil, nil, fmt.Errorf("the brace at %.20q is not part of an expression (RFC 6570, section 2.2)", text[open:])
		}
		expressions = append(expressions, expression)
		text = rest
	}
}

// escapeOnly returns a text with characters escaped that a URI must not contain.
func escapeOnly(text string) string {
	strange := func(r rune) bool { return r > 127 || !allowedInURI(byte(r)) } // #nosec G115 -- r is at most 127
	if !strings.ContainsFunc(text, strange) {
		return text
	}
	out := make([]byte, 0, 3*len(text))
	for at := range len(text) {
		if c := text[at]; allowedInURI(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(out)
}

// expression adds the variables of an expression (RFC 6570, section 2.2).
func (t *Template) expression(text string) error {
	var operator byte
	if text != "" && strings.IndexByte("+#./;?&", text[0]) >= 0 {
		operator, text = text[0], text[1:]
	}
	first, between := "", ","
	if operator != 0 && operator != '+' {
		first = string(operator)
	}
	switch operator {
	case '.', '/', ';', '&':
		between = first
	case '?':
		between = "&"
	}
	named := operator == ';' || operator == '?' || operator == '&'
	specs := strings.Split(text, ",")
	for i, spec := range specs {
		name, most, explode, err := variable(spec)
		if err != nil {
			return err
		}
		if slices.Contains(t.variables, name) {
			return fmt.Errorf("has the variable %.80s twice: give each its own name", name)
		}
		p := part{name: name, operator: operator, named: named, most: most, between: ",", optional: named || first != "" || i > 0, exploded: explode, inList: i+1 < len(specs)}
		start, prefix := between, ""
		if i == 0 {
			start = first
		}
		if named {
			prefix = name + "="
		}
		p.before = newWord(start + prefix)
		if start == "&" {
			p.others = []word{newWord("?" + prefix)}
		}
		if explode && (between == "/" || named) {
			p.again, p.between = newWord(between+prefix), between+prefix
		}
		p.allowed = bytesOf(operator == '+' || operator == '#', i+1 < len(specs), between[0])
		t.parts = append(t.parts, p)
		t.variables = append(t.variables, name)
		if len(t.variables) > MaxVariables {
			return fmt.Errorf("exceeds the limit of %d variables per template: use fewer", MaxVariables)
		}
	}
	return nil
}

// variable parses a variable with its modifier (RFC 6570, sections 2.3 and 2.4).
func variable(spec string) (name string, most int, explode bool, err error) {
	name, explode = strings.CutSuffix(spec, "*")
	name, prefix, limited := strings.Cut(name, ":")
	if limited {
		if explode || len(prefix) == 0 || len(prefix) > 4 || prefix[0] == '0' || strings.Trim(prefix, "0123456789") != "" {
			return "", 0, false, fmt.Errorf("has the modifier :%.20s: write a number from 1 to 9999 (RFC 6570, section 2.4.1)", prefix)
		}
		for _, c := range []byte(prefix) {
			most = most*10 + int(c-'0')
		}
	}
	strange := func(r rune) bool {
		return r > 127 || !letter(byte(r)) && !digit(byte(r)) && r != '_' && r != '%' // #nosec G115 -- r is at most 127
	}
	for i, label := range strings.Split(name, ".") {
		if label == "" || strings.ContainsFunc(label, strange) {
			return "", 0, false, fmt.Errorf("has the variable %.80q, label %d of which is not a name of letters, digits and _ (RFC 6570, section 2.3)", name, i+1)
		}
	}
	if name == "" {
		return "", 0, false, errors.New("has a variable without a name")
	}
	return name, most, explode, nil
}

// bytesOf returns the bytes allowed in a value. Commas and dots are part of a list's value, unless they
// separate it from the next variable.
func bytesOf(reservedToo, ends bool, separator byte) *[256]bool {
	var set [256]bool
	for c := range 128 {
		b := byte(c)
		set[c] = unreserved(b) || b == '%' || b == ',' || reservedToo && reserved(b)
	}
	if ends {
		set[separator] = false
	}
	return &set
}

// String returns the text of the template.
func (t *Template) String() string { return t.text }

// Normal returns the text of the template with its literals in normal form.
func (t *Template) Normal() string { return t.normal }

// Forms returns the other texts by which a policy may name the template: in normal form, and with its
// literals decoded.
func (t *Template) Forms() (out []string) {
	for _, form := range []string{t.normal, Decode(t.normal)} {
		if form != t.text && !slices.Contains(out, form) {
			out = append(out, form)
		}
	}
	return out
}

// TemplateForms returns the Forms of a template, or nil if the text is not a template.
func TemplateForms(text string) []string {
	t, err := Parse(text)
	if err != nil {
		return nil
	}
	return t.Forms()
}

// Variables returns the names of the variables in order. The caller must not modify the slice.
func (t *Template) Variables() []string { return t.variables }

// Prefix returns the literal with which the normal form of every matching URI begins. It may be empty.
func (t *Template) Prefix() string { return t.parts[0].before.text }

// Expand returns the expansion of the template (RFC 6570, section 3.2). Each value is one string;
// variables without a value are undefined.
func (t *Template) Expand(values map[string]string) string {
	var b strings.Builder
	begun := false // the expression has a variable
	for i := range t.parts {
		p := &t.parts[i]
		if p.name == "" {
			b.WriteString(p.before.text)
			begun = false
			continue
		}
		value, defined := values[p.name]
		if !defined {
			continue
		}
		p.expand(&b, value, begun)
		begun = true
	}
	return b.String()
}

func (p *part) expand(b *strings.Builder, value string, begun bool) {
	switch {
	case begun && p.operator == '?':
		b.WriteByte('&')
	case begun && (p.operator == 0 || p.operator == '+' || p.operator == '#'):
		b.WriteByte(',')
	case p.operator != 0 && p.operator != '+':
		b.WriteByte(p.operator)
	}
	if p.named {
		b.WriteString(p.name)
		if value != "" || p.operator != ';' {
			b.WriteByte('=')
		}
	}
	for n, r := range []rune(value) {
		if p.most > 0 && n == p.most {
			return
		}
		for _, c := range []byte(string(r)) {
			if unreserved(c) || (p.operator == '+' || p.operator == '#') && reserved(c) {
				b.WriteByte(c)
			} else {
				b.WriteByte('%')
				b.WriteByte(upperHex[c>>4])
				b.WriteByte(upperHex[c&15])
			}
		}
	}
}
