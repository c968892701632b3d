package capability

import (
	"bytes"
	"encoding/json"
)

// missingMember returns the first of names that a JSON object lacks, or "". The object must be
// valid JSON. It is scanned once, without decoding values.
func missingMember(object []byte, names []string) string {
	if len(names) == 0 {
		return ""
	}
	found := make([]bool, len(names))
	eachMember(object, func(quoted []byte) {
		for i, n := range names {
			if !found[i] && sameString(quoted, n) {
				found[i] = true
			}
		}
	})
	for i, ok := range found {
		if !ok {
			return names[i]
		}
	}
	return ""
}

// eachMember calls visit with each name, quotes included, of an object's own members.
func eachMember(object []byte, visit func(quoted []byte)) {
	depth, name := 0, true
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			name = name || depth == 1
		case '"':
			end := stringEnd(object, i)
			if depth == 1 && name {
				visit(object[i:end])
				name = false
			}
			i = end - 1
		}
	}
}

// stringEnd returns the index after the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// sameString reports whether a quoted JSON string equals name.
func sameString(quoted []byte, name string) bool {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	var text string
	return json.Unmarshal(quoted, &text) == nil && text == name
}
