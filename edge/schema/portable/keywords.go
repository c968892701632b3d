package portable

import "slices"

// ownKeywords adds a schema's own keywords to f.
func (c *converter) ownKeywords(f *facts, o *object, in sub, depth int) {
	c.charge(len(o.keys) / 4)
	var conditions []string
	for _, key := range o.keys {
		value := o.values[key]
		switch key {
		case "type":
			f.types &= typesOf(value)
		case "enum":
			if list, ok := value.([]any); ok {
				c.restrict(f, list)
			}
		case "const":
			c.restrict(f, []any{value})
		case "properties":
			c.members(f, value, in)
		case "required":
			c.required(f, value)
		case "additionalProperties":
			f.others(value, in, o.get("patternProperties") != nil)
		case "items", "prefixItems":
			f.addItems(key, value, in)
		case "allOf":
			c.all(f, value, in, depth)
		case "anyOf", "oneOf":
			f.choose(key, value, in)
		case "title":
			first(&f.title, value)
		case "description":
			first(&f.about, value)
		case headerKey:
			if !in.referred && f.header == nil {
				f.header = value
			}
		default:
			if slices.Contains(conditionKeywords, key) {
				conditions = append(conditions, key)
			} else if slices.Contains(boundKeywords, key) {
				f.keyword(key, value)
			}
		}
	}
	f.conditions(conditions)
}

// conditionKeywords are keywords of which only the presence is mentioned.
var conditionKeywords = []string{"not", "if", "dependentRequired", "dependentSchemas", "dependencies", "contains",
	"unevaluatedProperties", "unevaluatedItems", "patternProperties", "propertyNames", "$dynamicRef", "$recursiveRef"}

// boundKeywords are keywords that are shown, or described in words.
var boundKeywords = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
	"maxLength", "pattern", "format", "contentEncoding", "minItems", "maxItems", "uniqueItems", "minProperties",
	"maxProperties", "default", "examples", "deprecated", "readOnly", "writeOnly"}

// property returns a part of the schema to which properties lead.
func (in sub) property(value any) sub { return sub{value: value, open: in.open, referred: in.referred} }

// subschema returns a part of the schema to which other keywords than properties lead.
func (in sub) subschema(value any) sub { return sub{value: value, open: in.open, referred: true} }

// first sets a text that is empty.
func first(text *string, value any) {
	if s, ok := value.(string); ok && *text == "" {
		*text = s
	}
}

func (c *converter) members(f *facts, value any, in sub) {
	list, ok := value.(*object)
	if !ok {
		return
	}
	c.charge(len(list.keys) / 4)
	for _, name := range list.keys {
		f.member(name, in.property(list.values[name]))
	}
}

func (c *converter) required(f *facts, value any) {
	list, _ := value.([]any)
	list = list[:min(len(list), maxList)]
	c.charge(len(list) / 4)
	for _, x := range list {
		if name, ok := x.(string); ok && len(f.required.list) < maxList {
			f.required.add(name)
		}
	}
}

// others adds the schema of members outside the properties. With patterns, members that match
// patterns are exempt from it.
func (f *facts) others(value any, in sub, patterns bool) {
	if value == false {
		f.closed = f.closed || !patterns
	} else if f.rest.value == nil {
		f.rest = in.property(value)
	}
}

// addItems adds the schema of an array's items. Before 2020-12 "items" may be a list, too.
func (f *facts) addItems(key string, value any, in sub) {
	list, isList := value.([]any)
	switch {
	case isList && len(f.prefix) == 0:
		for _, x := range list {
			f.prefix = append(f.prefix, in.property(x))
		}
	case !isList && key == "items" && f.items.value == nil:
		f.items = in.property(value)
	}
}

func (c *converter) all(f *facts, value any, in sub, depth int) {
	list, _ := value.([]any)
	for _, part := range list {
		c.take(f, in.subschema(part), depth+1)
	}
}

func (f *facts) choose(key string, value any, in sub) {
	list, _ := value.([]any)
	if len(list) == 0 {
		return
	}
	one := choice{keyword: key}
	for _, part := range list {
		one.branches = append(one.branches, in.subschema(part))
	}
	f.choices = append(f.choices, one)
}

// member adds a property. The first of two schemas for one name is used.
func (f *facts) member(name string, s sub) {
	if _, there := f.properties[name]; there {
		return
	}
	if f.properties == nil {
		f.properties = make(map[string]sub)
	}
	f.names = append(f.names, name)
	f.properties[name] = s
}

// keyword adds a bound. The first of two with one name is used.
func (f *facts) keyword(key string, value any) {
	if _, there := f.keywords[key]; there {
		return
	}
	if f.keywords == nil {
		f.keywords = make(map[string]any)
	}
	f.keywords[key] = value
}

// nameList is a list of distinct names.
type nameList struct {
	list []string
	has  map[string]bool
}

func (l *nameList) add(name string) {
	if l.has[name] {
		return
	}
	if l.has == nil {
		l.has = make(map[string]bool)
	}
	l.has[name] = true
	l.list = append(l.list, name)
}

// clone returns a copy that can be appended to.
func (l *nameList) clone() (out nameList) {
	for _, name := range l.list {
		out.add(name)
	}
	return out
}
