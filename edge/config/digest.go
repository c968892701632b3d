package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// digest returns a digest of settings, in hexadecimal, that is equal for equal settings on every
// machine: names of files count relative to the directory of the settings file.
func digest(file string, settings any) string {
	h := sha256.New()
	fold(h, filepath.Dir(file), reflect.ValueOf(settings))
	return hex.EncodeToString(h.Sum(nil))
}

// fold writes a value so that different values are written differently.
func fold(to io.Writer, dir string, v reflect.Value) {
	put := func(format string, args ...any) { _, _ = fmt.Fprintf(to, format+"\n", args...) }
	switch v.Kind() {
	case reflect.Pointer:
		if put("pointer %v", !v.IsNil()); !v.IsNil() {
			fold(to, dir, v.Elem())
		}
	case reflect.Slice:
		put("list %d", v.Len())
		for i := range v.Len() {
			fold(to, dir, v.Index(i))
		}
	case reflect.Map:
		put("map %d", v.Len())
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			put("%q", key.String())
			fold(to, dir, v.MapIndex(key))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Tag.Get("names") != "" {
				put("file %q", relative(dir, v.Field(i).String()))
				continue
			}
			fold(to, dir, v.Field(i))
		}
	case reflect.Interface: // a value in YAML
		text, err := json.Marshal(v.Interface())
		put("%s %v", text, err)
	default:
		put("%q", fmt.Sprint(v.Interface()))
	}
}

// relative returns the name of a file relative to a directory. It returns a name that is not below
// the directory unchanged.
func relative(dir, name string) string {
	if rest, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rest) {
		return filepath.ToSlash(rest)
	}
	return name
}
