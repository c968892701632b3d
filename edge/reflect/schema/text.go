package schema

import (
	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
	"github.com/mcpedge/mcpedge/edge/schema/portable"
)

// form is a named string format of protovalidate.
type form struct {
	// pattern is exact; empty if no regular expression can express the rule.
	pattern string
	// format is the format name in JSON Schema, which validators need not assert; empty if there is
	// none.
	format string
	// least is the minimum number of characters, if there is no pattern.
	least int
}

const octet = `(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`

// forms are protovalidate's string rules with a named format.
var forms = map[string]form{
	"email": {format: "email", pattern: "^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?" +
		`(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`},
	"hostname":            {format: "hostname", least: 1},
	"ip":                  {least: 2},
	"ipv4":                {format: "ipv4", pattern: `^(?:` + octet + `\.){3}` + octet + `$`},
	"ipv6":                {format: "ipv6", least: 2},
	"uri":                 {format: "uri", least: 2},
	"uri_ref":             {format: "uri-reference"},
	"address":             {least: 1},
	"uuid":                {format: "uuid", pattern: `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`},
	"tuuid":               {pattern: `^[0-9a-fA-F]{32}$`},
	"ulid":                {pattern: `^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$`},
	"ip_with_prefixlen":   {least: 4},
	"ipv4_with_prefixlen": {pattern: `^(?:` + octet + `\.){3}` + octet + `/(?:3[0-2]|[12]?[0-9])$`},
	"ipv6_with_prefixlen": {least: 4},
	"ip_prefix":           {least: 4},
	"ipv4_prefix":         {least: 9},
	"ipv6_prefix":         {least: 4},
	"host_and_port":       {least: 3},
	"protobuf_fqn":        {pattern: `^[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*$`},
	"protobuf_dot_fqn":    {pattern: `^\.[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*$`},
}

// Patterns of HTTP headers as in protovalidate. Without strict, any single line is accepted.
const (
	headerName  = "^:?[0-9a-zA-Z!#$%&'*+.\\-^_|~\x60]+$"
	headerValue = `^[^\x00-\x08\x0a-\x1f\x7f]*$`
	looseHeader = `^[^\x00\x0a\x0d]+$`
)

// text returns the schema of a string.
func (g *generator) text(rules *ruleSet) *object {
	s := obj("type", "string")
	m := rules.of(g, "string")
	rules.each(g, m, func(name string, v protoreflect.Value) bool {
		if f, named := forms[name]; named {
			if v.Bool() {
				rules.form(g, s, name, f)
			}
			return true
		}
		if text, is := v.Interface().(string); is {
			if len(text) > limit.MaxText {
				return false
			}
			g.counted(text)
		}
		switch name {
		case "const":
			s.and(obj("const", v.String()))
		case "len":
			s.and(obj("minLength", clamp(v.Uint()), "maxLength", clamp(v.Uint())))
		case "min_len":
			s.and(obj("minLength", clamp(v.Uint())))
		case "max_len":
			s.and(obj("maxLength", clamp(v.Uint())))
		case "len_bytes":
			s.and(obj("minLength", (clamp(v.Uint())+3)/4, "maxLength", clamp(v.Uint())))
			rules.approximate(g, name, "as far as characters, of up to four bytes, can count bytes")
		case "min_bytes":
			s.and(obj("minLength", (clamp(v.Uint())+3)/4))
			rules.approximate(g, name, "as far as characters, of up to four bytes, can count bytes")
		case "max_bytes":
			s.and(obj("maxLength", clamp(v.Uint())))
			rules.approximate(g, name, "as far as characters, of up to four bytes, can count bytes")
		case "pattern":
			expr, ok := portable.Pattern(v.String())
			if !ok {
				return false
			}
			s.and(obj("pattern", expr))
		case "prefix":
			s.and(obj("pattern", "^"+portable.Literal(v.String())))
		case "suffix":
			s.and(obj("pattern", portable.Literal(v.String())+"$"))
		case "contains":
			s.and(obj("pattern", portable.Literal(v.String())))
		case "not_contains":
			s.and(obj("not", obj("pattern", portable.Literal(v.String()))))
		case "in":
			s.and(obj("enum", texts(v.List())))
		case "not_in":
			s.and(obj("not", obj("enum", texts(v.List()))))
		case "well_known_regex":
			s.and(obj("pattern", header(m.Interface().(*validate.StringRules))))
			if rules.rules.GetString().GetWellKnownRegex() == validate.KnownRegex_KNOWN_REGEX_HTTP_HEADER_NAME {
				s.and(obj("minLength", 1))
			}
		case "strict": // well_known_regex reads it
		default:
			return false
		}
		return true
	})
	return s
}

func header(rules *validate.StringRules) string {
	switch {
	case rules.Strict != nil && !rules.GetStrict():
		return looseHeader
	case rules.GetWellKnownRegex() == validate.KnownRegex_KNOWN_REGEX_HTTP_HEADER_NAME:
		return headerName
	}
	return headerValue
}

// form adds the conditions of a named format.
func (r *ruleSet) form(g *generator, s *object, name string, f form) {
	if f.format != "" {
		s.set("format", f.format)
	}
	switch {
	case f.pattern != "":
		s.and(obj("pattern", f.pattern))
		return
	case f.least > 0:
		s.and(obj("minLength", f.least))
	}
	how := "as a format, which is not checked"
	if f.format == "" {
		how = "as not being empty"
	}
	r.approximate(g, name, how)
}

func texts(list protoreflect.List) []any {
	out := make([]any, list.Len())
	for i := range out {
		out[i] = list.Get(i).String()
	}
	return out
}
