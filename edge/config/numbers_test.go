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
	if len(keys) < 50 || keys["backends[0].timeout"] == "" || keys["auth.issuers[0].skew"] == "" || keys["listen.body"] == "" {
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

// TestNegativeVariables: no variable of a number may be negative, or 0 if its key may not be 0.
func TestNegativeVariables(t *testing.T) {
	numbers := 0
	for _, s := range settings() {
		c := Default()
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		s.register(fs, s.key, &c)
		f := fs.Lookup(s.key)
		if _, isNumber := numberOf(f); !isNumber {
			continue
		}
		numbers++
		unit := ""
		if _, is := f.Value.(duration); is {
			unit = "s"
		}
		values := []string{"-1" + unit}
		if !slices.Contains(mayBeZero, s.key) {
			values = append(values, "0"+unit)
		}
		for _, value := range values {
			_, err := Load(serve, nil, env(map[string]string{Variable(s.key): value}), io.Discard)
			if err == nil || !strings.Contains(err.Error(), Variable(s.key)) {
				t.Errorf("%s=%s: %v", Variable(s.key), value, err)
			}
		}
	}
	if numbers < 30 {
		t.Errorf("%d numbers were found", numbers)
	}
	zeros := map[string]string{"MCPEDGE_SHUTDOWN_GRACE": "0s", "MCPEDGE_SHUTDOWN_DELAY": "0s", "MCPEDGE_LISTEN_CONNECTIONS": "0", "MCPEDGE_SERVER_MEMORY": "0"}
	if _, err := Load(serve, nil, env(zeros), io.Discard); err != nil {
		t.Error(err)
	}
}
