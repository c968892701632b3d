package capability

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

// maxArgumentBytes bounds a []byte among arguments that has no tag maxLength.
const maxArgumentBytes = 1 << 20

// bytesField is a []byte among the arguments of a tool.
type bytesField struct {
	path  string // its name, after those of the structs around it
	names []string
	index []int
	most  int // bytes
}

// bytesOf returns the []byte members of a struct and of the structs directly inside it.
func bytesOf(t reflect.Type, index []int, path string) []bytesField {
	var all []bytesField
	for _, f := range fieldsOf(t) {
		if f.behind {
			continue
		}
		at := append(append([]int{}, index...), f.index...)
		s := special(f.field.Type, f.name)
		switch {
		case s != nil && s.Encoding != "":
			all = append(all, bytesField{path + f.name, []string{f.name}, at, f.mostBytes()})
		case s == nil && f.field.Type.Kind() == reflect.Struct:
			for _, inner := range bytesOf(f.field.Type, at, path+f.name+".") {
				inner.names = append([]string{f.name}, inner.names...)
				all = append(all, inner)
			}
		}
	}
	return all
}

// mostBytes returns the bound of a []byte field.
func (f field) mostBytes() int {
	if n, err := strconv.Atoi(f.field.Tag.Get("maxLength")); err == nil {
		return n
	}
	return maxArgumentBytes
}

// checkBytes refuses a []byte above its bound.
func checkBytes(fields []bytesField, in any) error {
	for _, f := range fields {
		if n := reflect.ValueOf(in).Elem().FieldByIndex(f.index).Len(); n > f.most {
			return Errorf(InvalidArgument, "the argument %q has %d bytes; it takes at most %d", f.path, n, f.most)
		}
	}
	return nil
}

// corruptIn names the argument that is no base64.
func corruptIn(fields []bytesField, data []byte) string {
	for _, f := range fields {
		value := json.RawMessage(data)
		for _, name := range f.names {
			var members map[string]json.RawMessage
			_ = json.Unmarshal(value, &members)
			value = members[name]
		}
		var bytes []byte
		if len(value) > 0 && json.Unmarshal(value, &bytes) != nil {
			return fmt.Sprintf("the argument %q", f.path)
		}
	}
	return "a file among the arguments"
}

// base64Length returns the characters of base64 of n bytes.
func base64Length(n int) int { return base64.StdEncoding.EncodedLen(n) }
