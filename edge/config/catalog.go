package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// Catalog changes how the tools and prompts of backends are shown. It changes no decision: policy, quotas and the audit know them by the
// names of their backends.
type Catalog struct {
	// Default is CatalogShow, which is also meant by the empty text, or CatalogHide.
	Default string `yaml:"default"`
	// Tools are entries about tools; of several that match one, the first that sets a field sets it.
	Tools []CatalogTool `yaml:"tools"`
	// Prompts are entries about prompts, by the same rule.
	Prompts []CatalogPrompt `yaml:"prompts"`
}

// What becomes of tools and prompts that no entry names.
const (
	// CatalogShow shows them.
	CatalogShow = "show"
	// CatalogHide hides them, so that what a backend adds appears only when an entry names it.
	CatalogHide = "hide"
)

// CatalogTool says how tools of one backend are shown.
type CatalogTool struct {
	// Backend is the name of a backend.
	Backend string `yaml:"backend"`
	// Tool is the backend's own name of the tool, without the prefix: * is any text without a slash, ** any text.
	Tool string `yaml:"tool" also:"name"`
	// Hide removes it from lists; a call is answered as if it did not exist.
	Hide bool `yaml:"hide"`
	// Title replaces the backend's; empty keeps it.
	Title string `yaml:"title"`
	// Description replaces the backend's; empty keeps it.
	Description string `yaml:"description"`
	// Annotations replace the backend's that are set here.
	Annotations CatalogAnnotations `yaml:"annotations"`
}

// CatalogAnnotations are hints for clients; nil keeps what the backend says. The policy takes the stricter of both.
type CatalogAnnotations struct {
	ReadOnly    *bool `yaml:"read-only" also:"readOnly,readOnlyHint"`
	Destructive *bool `yaml:"destructive" also:"destructiveHint"`
	Idempotent  *bool `yaml:"idempotent" also:"idempotentHint"`
	OpenWorld   *bool `yaml:"open-world" also:"openWorld,openWorldHint"`
}

// CatalogPrompt says how prompts of one backend are shown.
type CatalogPrompt struct {
	// Backend is the name of a backend.
	Backend string `yaml:"backend"`
	// Prompt is the backend's own name of the prompt, without the prefix: * is any text without a slash, ** any text.
	Prompt string `yaml:"prompt" also:"name"`
	// Hide removes it from lists; a request is answered as if it did not exist.
	Hide bool `yaml:"hide"`
	// Title replaces the backend's; empty keeps it.
	Title string `yaml:"title"`
	// Description replaces the backend's; empty keeps it.
	Description string `yaml:"description"`
}

// Overlay returns what Catalog changes; nil if there is none. The settings are valid.
func (c *Config) Overlay() *overlay.Overlay {
	s := c.Catalog
	if s == nil {
		return nil
	}
	var tools, prompts []overlay.Entry
	for i, e := range s.Tools {
		tools = append(tools, overlay.Entry{
			Place: fmt.Sprintf("catalog.tools[%d]", i), Backend: e.Backend, Names: pattern.New(e.Tool), Hide: e.Hide,
			Title: e.Title, Description: e.Description, Annotations: overlay.Annotations(e.Annotations),
		})
	}
	for i, e := range s.Prompts {
		prompts = append(prompts, overlay.Entry{
			Place: fmt.Sprintf("catalog.prompts[%d]", i), Backend: e.Backend, Names: pattern.New(e.Prompt), Hide: e.Hide,
			Title: e.Title, Description: e.Description,
		})
	}
	return overlay.New(s.Default == CatalogHide, tools, prompts)
}

// ReadCatalog reads the catalog of a file of settings again. A file without one is an error: one that is being written, or whose catalog was
// lost, must not show what is hidden. Its entries may name the backends of the file and those of the running edge.
func ReadCatalog(file string, running *Config) (*overlay.Overlay, error) {
	c := Default()
	text, err := readFile(file, &c)
	if err != nil {
		return nil, err
	}
	if c.Catalog == nil {
		return nil, fmt.Errorf("config %s: there is no catalog any more: put it back, or start the edge again to have none", file)
	}
	c.Backends, c.Demo = append(c.Backends, running.Backends...), c.Demo || running.Demo
	c.Kubernetes = cmp.Or(c.Kubernetes, running.Kubernetes)
	if errs := c.validateCatalog(); len(errs) > 0 {
		return nil, text.place(errors.Join(errs...), nil)
	}
	return c.Overlay(), nil
}

// validateCatalog reports what is wrong with Catalog.
func (c *Config) validateCatalog() (errs []error) {
	s := c.Catalog
	if s == nil {
		return nil
	}
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.Default != "" && s.Default != CatalogShow && s.Default != CatalogHide {
		wrong("catalog.default: %q: use show or hide", s.Default)
	}
	o := c.Overlay()
	for _, list := range [][]overlay.Entry{o.Tools().List, o.Prompts().List} {
		set := map[[3]string]string{} // by backend, name and field
		for _, e := range list {
			switch {
			case e.Backend == "":
				wrong("%s: backend: it is missing: name the backend", e.Place)
			case c.Kubernetes == nil && !c.Demo && !slices.ContainsFunc(c.Backends, func(b Backend) bool { return b.Name == e.Backend }):
				wrong("%s: backend: %q is no backend: use the name of one under backends", e.Place, e.Backend)
			}
			if e.Names.String() == "" {
				wrong("%s: the name is missing: write the backend's own name, with * for any text", e.Place)
			}
			for _, field := range e.Fields() {
				key := [3]string{e.Backend, e.Names.String(), field}
				if first, twice := set[key]; twice {
					wrong("%s: %s: it is set for %q in %s, too: keep one", e.Place, field, e.Names.String(), first)
				} else {
					set[key] = e.Place
				}
			}
		}
	}
	return errs
}
