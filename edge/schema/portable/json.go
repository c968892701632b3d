package portable

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// object is a JSON object that keeps the order of its members.
type object struct {
	keys   []string
	values map[string]any
}

func (o *object) get(key string) any { return o.values[key] }

func (o *object) set(key string, value any) {
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	if o.values == nil {
		o.values = make(map[string]any)
	}
	o.values[key] = value
}

func (o *object) remove(key string) {
	if _, there := o.values[key]; there {
		delete(o.values, key)
		o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
	}
}

// print returns compact JSON without HTML escapes, for a value of parse or one made of such values,
// texts and counts. Its time is linear in the text's length at any nesting depth.
func print(v any) string {
	var p printer
	p.encoder = json.NewEncoder(&p.text)
	p.encoder.SetEscapeHTML(false)
	p.value(v)
	return p.text.String()
}

// brief returns the beginning of print, cut to most bytes, in time that most bounds.
func brief(v any, most int) string {
	p := printer{most: most}
	p.encoder = json.NewEncoder(&p.text)
	p.encoder.SetEscapeHTML(false)
	p.value(v)
	return clip(p.text.String(), most)
}

// printer writes JSON.
type printer struct {
	text    bytes.Buffer
	encoder *json.Encoder // writes into text
	// most is the number of wanted bytes. 0 means no limit.
	most int
}

// full reports whether enough is written.
func (p *printer) full() bool { return p.most > 0 && p.text.Len() > p.most }

func (p *printer) value(v any) {
	if p.full() {
		return
	}
	switch v := v.(type) {
	case *object:
		p.text.WriteByte('{')
		for i, k := range v.keys {
			if p.full() {
				return
			}
			if i > 0 {
				p.text.WriteByte(',')
			}
			p.leaf(k)
			p.text.WriteByte(':')
			p.value(v.values[k])
		}
		p.text.WriteByte('}')
	case []any:
		p.text.WriteByte('[')
		for i, x := range v {
			if p.full() {
				return
			}
			if i > 0 {
				p.text.WriteByte(',')
			}
			p.value(x)
		}
		p.text.WriteByte(']')
	default:
		p.leaf(v)
	}
}

// leaf writes a value without children. Texts, numbers, booleans and null always print.
func (p *printer) leaf(v any) {
	if p.most > 0 {
		switch x := v.(type) {
		case string:
			v = beginning(x, p.most)
		case json.Number:
			if len(x) > p.most {
				p.text.WriteString(string(x[:p.most+1]))
				return
			}
		}
	}
	if err := p.encoder.Encode(v); err != nil {
		p.text.WriteString("null")
		return
	}
	p.text.Truncate(p.text.Len() - 1) // the encoder ends each value with a line feed
}

// beginning returns the first bytes of a text, cut between characters.
func beginning(text string, most int) string {
	for most < len(text) && !utf8.RuneStart(text[most]) {
		most++
	}
	return text[:min(most, len(text))]
}

// parse reads valid JSON of bounded depth: objects as *object, arrays as []any, numbers as
// json.Number. The last of several members with the same name is used.
func parse(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return parseValue(d)
}

func parseValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := &object{values: map[string]any{}}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			o.set(name, value)
		}
		_, err := d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := d.Token()
		return list, err
	}
	return token, nil
}
