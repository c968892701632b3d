package config

import (
	"flag"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// numberKeys maps the paths of all keys with numbers, sizes or durations to a file with the key, in
// which %s stands for the value.
func numberKeys() map[string]string {
	out := map[string]string{}
	var walk func(t reflect.Type, path, text string)
	walk = func(t reflect.Type, path, text string) {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case t == reflect.TypeFor[time.Duration](), t == reflect.TypeFor[Bytes](), t.Kind() == reflect.Int:
			out[path] = fmt.Sprintf(text, "%s") + "\n"
		case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
			walk(t.Elem(), path+"[0]", fmt.Sprintf(text, "[%s]"))
		case t.Kind() == reflect.Struct:
			for i := range t.NumField() {
				if key := t.Field(i).Tag.Get("yaml"); key != "" && key != "-" {
					walk(t.Field(i).Type, strings.TrimPrefix(path+"."+key, "."), fmt.Sprintf(text, "{"+key+": %s}"))
				}
			}
		}
	}
	walk(reflect.TypeFor[Config](), "", "%s")
	return out
}

// TestNegativeKeys: no number, size or duration of the file may be negative. The error has the line
// and the key, and its advice is valid.
func TestNegativeKeys(t *testing.T) {
	keys := numberKeys()
	if len(keys) < 50 || keys["backends[0].timeout"] == "" || keys["auth.issuers[0].skew"] == "" || keys["limits.body"] == "" {
		t.Fatalf("the keys are %v", keys)
	}
	for path, text := range keys {
		for _, value := range []string{"-1s", "-1"} {
			_, err := ReadFile(file(t, fmt.Sprintf(text, value)))
			if err == nil {
				t.Errorf("%s: %s is taken", path, value)
				continue
			}
			if !strings.Contains(err.Error(), "edge.yaml:1: "+path+": ") {
				t.Errorf("%s: %s: %v", path, value, err)
			}
			if strings.Contains(err.Error(), "or more") != slices.Contains(mayBeZero, withoutIndexes(path)) && strings.Contains(err.Error(), "give ") {
				t.Errorf("%s: %s: the remedy is refused: %v", path, value, err)
			}
		}
	}
}

// TestNegativeFlags: no flag and no variable of a flag may be negative, or 0 if its key may not be
// 0.
func TestNegativeFlags(t *testing.T) {
	for _, command := range []string{serve, "stdio", check} {
		c := Default()
		flags(command, &c, new(string)).VisitAll(func(f *flag.Flag) {
			n, isNumber := numberOf(f)
			if !isNumber {
				return
			}
			unit := ""
			if _, is := f.Value.(duration); is {
				unit = "s"
			}
			values := []string{"-1" + unit}
			if n != 0 && f.Name != "grace" {
				values = append(values, "0"+unit)
			}
			for _, value := range values {
				_, err := Load(command, []string{"--" + f.Name + "=" + value}, env(nil), io.Discard)
				if err == nil || !strings.Contains(err.Error(), "-"+f.Name) {
					t.Errorf("%s --%s=%s: %v", command, f.Name, value, err)
				}
				_, err = Load(command, nil, env(map[string]string{variable(f.Name): value}), io.Discard)
				if err == nil || !strings.Contains(err.Error(), variable(f.Name)) {
					t.Errorf("%s %s=%s: %v", command, variable(f.Name), value, err)
				}
			}
		})
	}
	if _, err := Load(serve, []string{"--grace", "0s", "--drain-delay=0s", "--connections=0", "--memory", "0"}, env(nil), io.Discard); err != nil {
		t.Error(err)
	}
}
