package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// beside makes the relative names of files in settings that were read from a file, the members with the tag names:"file", names beside that
// file. One that is there no more, but in the working directory, is an error: relative names were looked for there once.
func beside(file string, c *Config) error {
	dir := filepath.Dir(file)
	var errs []error
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem(), path)
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i), path+"["+strconv.Itoa(i)+"]")
			}
		case reflect.Map:
			for _, key := range v.MapKeys() {
				entry := reflect.New(v.Type().Elem()).Elem() // a copy that can be changed
				entry.Set(v.MapIndex(key))
				walk(entry, path+"."+key.String())
				v.SetMapIndex(key, entry)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				f := v.Type().Field(i)
				key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
				switch at := strings.TrimPrefix(path+"."+key, "."); {
				case !f.IsExported() || key == "-":
				case f.Tag.Get("names") == "file":
					errs = append(errs, relocate(v.Field(i), at, dir))
				default:
					walk(v.Field(i), at)
				}
			}
		}
	}
	walk(reflect.ValueOf(c).Elem(), "")
	return errors.Join(errs...)
}

// relocate makes one name, which stands at a path, a name in a directory.
func relocate(v reflect.Value, path, dir string) error {
	name := v.String()
	if name == "" || name == AuditStdout || IsURL(name) || filepath.IsAbs(name) {
		return nil
	}
	moved := filepath.Join(dir, name)
	v.SetString(moved)
	_, there := os.Stat(moved)
	if _, here := os.Stat(name); errors.Is(there, os.ErrNotExist) && here == nil {
		return fmt.Errorf("%s: %s is not beside the file of settings, in %s, but in the working directory: move it there, or write its whole path", path, name, dir)
	}
	return nil
}
