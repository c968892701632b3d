package capability

import (
	"encoding/base64"
	"reflect"
	"strconv"
)

// maxArgumentBytes bounds a []byte among arguments that has no tag maxLength.
const maxArgumentBytes = 1 << 20

// bytesField is a []byte among the arguments of a tool.
type bytesField struct {
	path  string // its name, after those of the structs around it
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
		s := specialSchema(f.field.Type, f.name)
		switch {
		case s != nil && s.Encoding != "":
			all = append(all, bytesField{path + f.name, at, f.mostBytes()})
		case s == nil && f.field.Type.Kind() == reflect.Struct:
			all = append(all, bytesOf(f.field.Type, at, path+f.name+".")...)
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

// base64Length returns the characters of base64 of n bytes.
func base64Length(n int) int { return base64.StdEncoding.EncodedLen(n) }
