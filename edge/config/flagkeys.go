package config

import (
	"flag"
	"fmt"
	"reflect"
	"strings"
)

// flagPaths returns the keys of the file that the flags of serve set, by the flags' names: log.level by log-level.
func flagPaths() map[string]string {
	var c Config
	paths := map[uintptr]string{}
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		for i := range v.NumField() {
			f, key := v.Field(i), v.Type().Field(i).Tag.Get("yaml")
			if key == "" || key == "-" {
				continue
			}
			at := strings.TrimPrefix(path+"."+key, ".")
			if f.Kind() == reflect.Struct {
				walk(f, at)
				continue
			}
			paths[f.Addr().Pointer()] = at
		}
	}
	walk(reflect.ValueOf(&c).Elem(), "")
	out := map[string]string{}
	flags(serve, &c, new(string)).VisitAll(func(f *flag.Flag) {
		if path := paths[setBy(f)]; path != "" {
			out[f.Name] = path
		}
	})
	return out
}

// setBy returns the address of what a flag sets.
func setBy(f *flag.Flag) uintptr {
	switch v := f.Value.(type) {
	case duration:
		return reflect.ValueOf(v.value).Pointer()
	case *list:
		return reflect.ValueOf(v.values).Pointer()
	case *backends:
		return reflect.ValueOf(v.values).Pointer()
	}
	return reflect.ValueOf(f.Value).Pointer() // those of package flag, and Bytes, are what they set
}

// flagHint says how the file has what a flag sets, unless the key has the flag's name; empty: there is no such flag.
func flagHint(name string) string {
	path := flagPaths()[name]
	if path == "" || path[strings.LastIndexByte(path, '.')+1:] == name {
		return ""
	}
	return fmt.Sprintf("%s is a flag: %s", name, flagAsKey(name))
}

// flagAsKey says what to write in the file in place of a flag.
func flagAsKey(name string) string {
	above, key, nested := strings.Cut(flagPaths()[name], ".")
	if !nested {
		return fmt.Sprintf("write %s: … at the top of the file", above)
	}
	return fmt.Sprintf("write %s: {%s: …} in the file", above, key)
}

// isFlagOf reports whether a flag is more likely to be meant in a section than a key of the same name elsewhere: at the top, and where its own
// key stands.
func isFlagOf(name string, in section) bool {
	above, _, nested := strings.Cut(flagPaths()[name], ".")
	return in.path == "" || nested && above == in.path
}
