package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/mcpedge/mcpedge/edge/config"
)

// settings is the schema of the edge's configuration file: the keys and types of config.Config, described by its comments.
// What a value must be beyond its type is for the edge to say.
func settings(root string) (*jsonschema.Schema, error) {
	r := &jsonschema.Reflector{
		FieldNameTag: "yaml", Anonymous: true, DoNotReference: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
		Mapper: setting,
	}
	if err := r.AddGoComments("github.com/mcpedge/mcpedge", filepath.Join(root, "edge/config")); err != nil {
		return nil, err
	}
	// The paths of packages are those of the folders that were read.
	comments := map[string]string{}
	for name, text := range r.CommentMap {
		_, name, _ = strings.Cut(name, "edge/config")
		comments["github.com/mcpedge/mcpedge/edge/config"+name] = strings.ReplaceAll(text, "\n", " ")
	}
	usages(reflect.TypeFor[config.Config](), comments)
	r.CommentMap = comments
	s := r.Reflect(config.Config{})
	s.Version = ""
	auth, _ := s.Properties.Get("auth")
	dpop, _ := auth.Properties.Get("dpop")
	mayBeOff(dpop)
	served, _ := s.Properties.Get("root")
	mayBeOff(served)
	sets, _ := s.Properties.Get("sets")
	search, _ := sets.AdditionalProperties.Properties.Get("search")
	search.Type, search.AnyOf = "", []*jsonschema.Schema{{Type: "string"}, {Type: "boolean"}} // on is true in YAML 1.1
	cluster, _ := s.Properties.Get("kubernetes")
	for _, section := range []*jsonschema.Schema{s, cluster} {
		backends, _ := section.Properties.Get("backends")
		health, _ := backends.Items.Properties.Get("health")
		service, _ := health.Properties.Get("service")
		mayBeOff(service)
	}
	return s, nil
}

// usages replaces the comments of the fields of a struct, and of those below it, by their tags usage.
func usages(t reflect.Type, comments map[string]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if usage := f.Tag.Get("usage"); usage != "" {
			comments[t.PkgPath()+"."+t.Name()+"."+f.Name] = usage
		}
		if f.IsExported() && f.Type.Kind() == reflect.Struct && f.Type.PkgPath() == t.PkgPath() {
			usages(f.Type, comments)
		}
	}
}

// mayBeOff lets a text be false: Helm reads YAML 1.1, in which off is false.
func mayBeOff(s *jsonschema.Schema) {
	s.Type, s.AnyOf = "", []*jsonschema.Schema{{Type: "string"}, {Const: false}}
}

// setting is the schema of a type that YAML writes otherwise than Go has it; nil: it is as Go has it.
func setting(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`}
	case reflect.TypeFor[config.Bytes]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "integer", Minimum: "0"}, {Type: "string", Pattern: `^ *[0-9]+ *(KiB|MiB|GiB)? *$`},
		}}
	case reflect.TypeFor[config.Names]():
		return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "string"}, {Type: "integer"}, {Type: "boolean"},
		}}}
	}
	return nil
}
