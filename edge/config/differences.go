package config

import (
	"reflect"
	"strings"
)

// Differences returns the keys whose settings differ, as the file spells them, such as
// lists.page-size, in the order of Config. A list is one key. File is not compared.
func Differences(a, b *Config) []string {
	return differences("", reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
}

// differences compares two structs. above is the path of their key with a dot at its end.
func differences(above string, a, b reflect.Value) (keys []string) {
	for i := range a.NumField() {
		field := a.Type().Field(i)
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if !field.IsExported() || key == "-" {
			continue
		}
		x, y := a.Field(i), b.Field(i)
		if x.Kind() == reflect.Pointer && !x.IsNil() && !y.IsNil() {
			x, y = x.Elem(), y.Elem()
		}
		switch {
		case reflect.DeepEqual(x.Interface(), y.Interface()):
		case x.Kind() == reflect.Struct:
			keys = append(keys, differences(above+key+".", x, y)...)
		default:
			keys = append(keys, above+key)
		}
	}
	return keys
}
