package config

import (
	"flag"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// setting is a key of the file with one value or a list of texts, which has a variable in the environment.
type setting struct {
	// key is the path of the key, such as calls.stream-after.
	key string
	// usage describes it, without its default.
	usage string
	// index is the path of the field in Config.
	index []int
}

// settings returns all settings, in the order of the file. Keys of list entries are none.
func settings() (out []setting) {
	var walk func(t reflect.Type, path string, index []int)
	walk = func(t reflect.Type, path string, index []int) {
		for i := range t.NumField() {
			f := t.Field(i)
			key := f.Tag.Get("yaml")
			if key == "" || key == "-" {
				continue
			}
			at, where := strings.TrimPrefix(path+"."+key, "."), append(index[:len(index):len(index)], i)
			fieldType := f.Type
			if fieldType.Kind() == reflect.Pointer {
				fieldType = fieldType.Elem()
			}
			switch {
			case fieldType.Kind() == reflect.Struct:
				walk(fieldType, at, where)
			case fieldType.Kind() == reflect.Map:
			case fieldType.Kind() == reflect.Slice && fieldType.Elem().Kind() != reflect.String && fieldType != reflect.TypeFor[[]Backend]():
			default:
				out = append(out, setting{at, f.Tag.Get("usage"), where})
			}
		}
	}
	walk(reflect.TypeFor[Config](), "", nil)
	return out
}

// settingOf returns the setting of a key.
func settingOf(key string) setting {
	for _, s := range settings() {
		if s.key == key {
			return s
		}
	}
	panic("there is no setting " + key)
}

// register defines a flag for the setting of c. It creates the sections that contain the setting.
func (s setting) register(fs *flag.FlagSet, name string, c *Config) {
	v := reflect.ValueOf(c).Elem()
	for _, i := range s.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	usage := fmt.Sprintf("%s [%s]", s.usage, s.key)
	switch p := v.Addr().Interface().(type) {
	case *string:
		fs.StringVar(p, name, *p, usage)
	case *bool:
		fs.BoolVar(p, name, *p, usage)
	case *int:
		fs.IntVar(p, name, *p, usage)
	case *time.Duration:
		fs.Var(duration{p}, name, usage)
	case *Bytes:
		fs.Var(p, name, usage)
	case *[]string:
		fs.Var(&list{values: p}, name, usage)
	case *Names:
		fs.Var(&list{values: (*[]string)(p)}, name, usage)
	case *[]Backend:
		fs.Var(&backends{values: p}, name, strings.Replace(usage, "NAME=TARGET", "`NAME=TARGET`", 1))
	default:
		panic(fmt.Sprintf("%s has the type %T, which no variable has", s.key, p))
	}
}

// Usages returns the descriptions of settings by their keys. The caller owns the map.
func Usages() map[string]string {
	out := map[string]string{}
	for _, s := range settings() {
		if s.usage != "" {
			out[s.key] = s.usage
		}
	}
	return out
}

// Variable returns the environment variable of a key.
func Variable(key string) string {
	return environment + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(key))
}

// twin is a flag, which sets one key.
type twin struct {
	flag, key string
	// listens is true for flags of commands that listen.
	listens bool
}

// twins are the flags that set keys, in the order of the help.
var twins = []twin{
	{"listen", "listen.address", true},
	{"public-url", "listen.public-url", true},
	{"tls-cert", "listen.tls.cert", true},
	{"tls-key", "listen.tls.key", true},
	{"allow-anonymous", "listen.allow-anonymous", true},
	{"admin", "admin.address", true},
	{"allow-remote-admin", "admin.allow-remote", true},
	{"dev", "admin.dev", true},
	{"backend", "backends", false},
	{"demo", "demo", false},
	{"redis", "redis.url", false},
	{"replica", "server.replica", false},
	{"log-level", "log.level", false},
	{"log-format", "log.format", false},
}

// keyOfFlag returns the key of a flag. It is empty if there is no such flag.
func keyOfFlag(name string) string {
	for _, t := range twins {
		if t.flag == name {
			return t.key
		}
	}
	return ""
}
