package config

import (
	"cmp"
	"fmt"
	"slices"
)

// Lists configures the lists of tools, prompts and resources.
type Lists struct {
	// Schemas is the form of input schemas in tools/list: SchemasAuto, SchemasPortable or
	// SchemasFull. A backend may override it.
	Schemas  string `yaml:"schemas" usage:"form of the arguments' schemas in tools/list: full, as backends write them; portable, which all clients and model interfaces accept; or auto: full, but portable for kind: reflect"`
	PageSize int    `yaml:"page-size" usage:"most entries on one page of a list"`
}

func defaultLists() Lists { return Lists{Schemas: SchemasAuto, PageSize: 1000} }

func (l *Lists) validate() []error {
	if !slices.Contains(forms, l.Schemas) {
		return []error{fmt.Errorf("lists.schemas: %q: use auto, portable or full", l.Schemas)}
	}
	return nil
}

// The values of Lists.Schemas.
const (
	// SchemasAuto is SchemasFull for backends of KindContract, whose schemas come from their
	// authors or libraries, and SchemasPortable for those of KindReflect, whose schemas the edge
	// generates.
	SchemasAuto = "auto"
	// SchemasPortable is the subset that all clients and model interfaces accept.
	SchemasPortable = "portable"
	// SchemasFull is what backends send.
	SchemasFull = "full"
)

var forms = []string{SchemasAuto, SchemasPortable, SchemasFull}

// FullSchemas reports whether the schemas of a backend's tools are shown unchanged.
func (c *Config) FullSchemas(b *Backend) bool {
	switch form := cmp.Or(b.Schemas, c.Lists.Schemas); form {
	case SchemasFull:
		return true
	case SchemasPortable:
		return false
	}
	return b.Kind != KindReflect
}
