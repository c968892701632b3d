package config

import (
	"flag"
	"fmt"
	"reflect"
	"strings"
)

// flagPaths maps each flag of serve to the key of the file that it sets: log-level to log.level.
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

// setBy returns the address of the variable that a flag sets.
func setBy(f *flag.Flag) uintptr {
	switch v := f.Value.(type) {
	case duration:
		return reflect.ValueOf(v.value).Pointer()
	case *list:
		return reflect.ValueOf(v.values).Pointer()
	case *backends:
		return reflect.ValueOf(v.values).Pointer()
	}
	return reflect.ValueOf(f.Value).Pointer() // Bytes and the values of package flag are pointers to the variable
}

// flagHint returns the key to write in the file for a flag whose key has another name. It is empty
// if there is no such flag.
func flagHint(name string) string {
	path := flagPaths()[name]
	if path == "" || path[strings.LastIndexByte(path, '.')+1:] == name {
		return ""
	}
	return fmt.Sprintf("%s is a flag: %s", name, flagAsKey(name))
}

// flagAsKey returns what to write in the file for a flag.
func flagAsKey(name string) string {
	above, key, nested := strings.Cut(flagPaths()[name], ".")
	if !nested {
		return fmt.Sprintf("write %s: … at the top of the file", above)
	}
	return fmt.Sprintf("write %s: {%s: …} in the file", above, key)
}

// isFlagOf reports whether a name more likely means a flag than a key of the same name elsewhere:
// at the top, and in the section that has the flag's key.
func isFlagOf(name string, in section) bool {
	above, _, nested := strings.Cut(flagPaths()[name], ".")
	return in.path == "" || nested && above == in.path
}
