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

// resolveNames resolves relative file names against the directory of the settings file. It covers all
// members with the tag names:"file" or names:"output". It returns an error if an input file exists
// in the working directory only: relative names were once resolved there. An output need not exist.
func resolveNames(file string, c *Config) error {
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
				case !f.IsExported() || key == "-" || f.Tag.Get("names") == "pattern":
				case f.Tag.Get("names") != "":
					name := v.Field(i).String()
					if relocate(v.Field(i), dir); f.Tag.Get("names") == "file" && isMisplaced(name, v.Field(i).String()) {
						errs = append(errs, fmt.Errorf("%s: %s is not beside the file of settings, in %s, but in the working directory: move it there, or write its whole path", at, name, dir))
					}
				default:
					walk(v.Field(i), at)
				}
			}
		}
	}
	walk(reflect.ValueOf(c).Elem(), "")
	return errors.Join(errs...)
}

// relocate resolves a relative name against a directory.
func relocate(v reflect.Value, dir string) {
	if name := v.String(); name != "" && name != AuditStdout && !IsURL(name) && !filepath.IsAbs(name) {
		v.SetString(filepath.Join(dir, name))
	}
}

// isMisplaced reports whether a file exists under its relative name in the working directory, and
// not where it was relocated to.
func isMisplaced(name, relocated string) bool {
	if name == relocated {
		return false
	}
	_, there := os.Stat(relocated)
	_, here := os.Stat(name)
	return errors.Is(there, os.ErrNotExist) && here == nil
}
