package capability

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// whereNotFinite adds to the error of encoding v the place of a number that JSON does not have, as
// a JSON Pointer. Other errors, and that of a number inside a json.Marshaler, are returned
// unchanged.
func whereNotFinite(v any, err error) error {
	unsupported, ok := err.(*json.UnsupportedValueError) // not one that a json.Marshaler returned
	if !ok || !unsupported.Value.CanFloat() {
		return err
	}
	if at, ok := notFinite(reflect.ValueOf(v), ""); ok {
		return fmt.Errorf("the number %s at %q is no JSON; use null or a text instead", unsupported.Str, at)
	}
	return err
}

// notFinite finds the first number in v that is NaN or infinite, except in values that encode
// themselves. It visits values in the order of encoding/json, which has failed at that number
// before any cycle.
func notFinite(v reflect.Value, at string) (string, bool) {
	if v.IsValid() && (implements(v.Type(), marshalerType) || implements(v.Type(), textType)) {
		return "", false
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		return at, math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)
	case reflect.Pointer, reflect.Interface:
		return notFinite(v.Elem(), at)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if found, ok := notFinite(v.Index(i), at+"/"+strconv.Itoa(i)); ok {
				return found, true
			}
		}
	case reflect.Map:
		members := map[string]reflect.Value{}
		for _, key := range v.MapKeys() {
			members[fmt.Sprint(key)] = v.MapIndex(key)
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if found, ok := notFinite(members[name], at+"/"+pointerEscapes.Replace(name)); ok {
				return found, true
			}
		}
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			member, err := v.FieldByIndexErr(f.index)
			if err != nil {
				continue // inside a nil embedded pointer
			}
			if found, ok := notFinite(member, at+"/"+pointerEscapes.Replace(f.name)); ok {
				return found, true
			}
		}
	}
	return "", false
}

// pointerEscapes escapes a name for a JSON Pointer (RFC 6901, section 3).
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
