package portable

// form returns the JSON of a schema as text, without its descriptions and cut to most bytes.
// References are expanded, because the reader cannot resolve them. A recursive schema is expanded
// once, then reduced to its type.
func (c *converter) form(value any, most int) string {
	left := most / 2 // a schema has at least two bytes
	return brief(c.expand(value, nil, &left), most)
}

// expand copies a schema for form. left is the number of schemas that may still be visited.
func (c *converter) expand(value any, open *opened, left *int) any {
	o, ok := value.(*object)
	if *left--; !ok {
		return value
	}
	out := &object{}
	if *left < 0 {
		return out
	}
	c.charge(1)
	for _, key := range o.keys {
		v := o.values[key]
		switch key {
		case "title", "description", "examples", "$comment", "$schema", "$id", "$anchor", "$dynamicAnchor", "$defs", "definitions",
			"$dynamicRef", "$recursiveRef":
		case "$ref":
			ref, _ := v.(string)
			for target, i := c.referred(ref, open, left), 0; i < len(target.keys); i++ {
				out.set(target.keys[i], target.values[target.keys[i]])
			}
			if c.refs.ignoreSiblings {
				return out
			}
		case "properties", "patternProperties", "dependentSchemas":
			out.set(key, c.expandMembers(v, open, left))
		case "items", "additionalItems", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems",
			"additionalProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "prefixItems":
			if list, isList := v.([]any); isList {
				out.set(key, c.expandList(list, open, left))
			} else if v != false {
				out.set(key, c.expand(v, open, left))
			}
		default:
			out.set(key, v)
		}
	}
	return out
}

// referred returns the copy of a reference's target, or only its type if the target is being
// expanded already.
func (c *converter) referred(ref string, open *opened, left *int) *object {
	out := &object{}
	target, ok := c.refs.find(ref)
	if !ok {
		return out
	}
	if open.count(target) > 0 {
		if o, ok := target.(*object); ok && o.get("type") != nil {
			out.set("type", o.get("type"))
		}
		return out
	}
	if o, ok := c.expand(target, &opened{target: target, before: open}, left).(*object); ok {
		return o
	}
	return out
}

func (c *converter) expandMembers(value any, open *opened, left *int) *object {
	out := &object{}
	members, _ := value.(*object)
	if members == nil {
		return out
	}
	for _, name := range members.keys {
		if *left < 0 {
			break
		}
		out.set(name, c.expand(members.values[name], open, left))
	}
	return out
}

func (c *converter) expandList(list []any, open *opened, left *int) []any {
	out := []any{}
	for _, x := range list {
		if *left < 0 {
			break
		}
		out = append(out, c.expand(x, open, left))
	}
	return out
}
