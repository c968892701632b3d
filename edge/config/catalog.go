package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// Catalog changes how the tools, prompts and resources of backends are shown. It has no effect on
// decisions: policy, quotas and the audit use the names of the backends.
type Catalog struct {
	// Default applies to tools, prompts and resources without an entry: CatalogShow or CatalogHide;
	// empty means CatalogShow.
	Default string `yaml:"default"`
	// Tools are entries about tools. If several match a tool, each field is taken from the first
	// that sets it.
	Tools []CatalogTool `yaml:"tools"`
	// Prompts are entries about prompts, by the same rule.
	Prompts []CatalogPrompt `yaml:"prompts"`
	// Resources are entries about resources, templates and skills, by the same rule.
	Resources []CatalogResource `yaml:"resources"`
}

// The values of Catalog.Default.
const (
	// CatalogShow shows them.
	CatalogShow = "show"
	// CatalogHide hides them: a name that a backend adds is invisible until an entry matches it.
	CatalogHide = "hide"
)

// CatalogTool changes how tools of one backend are shown.
type CatalogTool struct {
	// Backend is the name of a backend.
	Backend string `yaml:"backend"`
	// Tool is the backend's own name of the tool, without the prefix. * matches any text without a
	// slash, ** any text.
	Tool string `yaml:"tool"`
	// Hide removes it from lists; a call is answered as if it did not exist.
	Hide bool `yaml:"hide"`
	// Name is the name that clients see and call, without a prefix. Empty keeps the backend's name.
	// No other backend can have this name.
	Name string `yaml:"name"`
	// Aliases are further names that can be called and that no list has.
	Aliases Names `yaml:"aliases"`
	// Title replaces the backend's; empty keeps it.
	Title string `yaml:"title"`
	// Description replaces the backend's; empty keeps it.
	Description string `yaml:"description"`
	// Annotations replace those of the backend, field by field.
	Annotations CatalogAnnotations `yaml:"annotations"`
	// Arguments are changes of arguments, by their names in the tool's schema.
	Arguments map[string]CatalogArgument `yaml:"arguments"`
	// Groups are names by which sets select the matched tools.
	Groups Names `yaml:"groups" also:"group,tags"`
	// MaxResult bounds its results. Longer texts are cut, with a note for the model.
	MaxResult CatalogMaxResult `yaml:"max-result"`
}

// CatalogMaxResult bounds the result of a call.
type CatalogMaxResult struct {
	// Tokens is the bound in tokens, estimated as four bytes of text each; 0 means none.
	Tokens int `yaml:"tokens"`
}

// CatalogArgument changes one argument. Value and From pin it: it is not shown, callers cannot send it, and the backend always gets the value.
type CatalogArgument struct {
	// Value pins the argument to a text, a number, a boolean, a list or a map.
	Value any `yaml:"value"`
	// From pins the argument to the value of an expression in CEL over the variables principal of
	// policies, such as principal.claims.tenant. The value is a text, a number or a boolean. A
	// caller without the value is refused.
	From string `yaml:"from"`
	// Default is sent where a caller sends nothing.
	Default any `yaml:"default"`
	// Description replaces the backend's; empty keeps it.
	Description string `yaml:"description"`
	// Mode is enforce or audit, for value and from. In audit mode the argument is not changed, and
	// the effect that pinning would have had is recorded. Empty means enforce.
	Mode string `yaml:"mode"`
}

// CatalogAnnotations are hints for clients; nil keeps the backend's. The policy uses the stricter
// of both.
type CatalogAnnotations struct {
	ReadOnly    *bool `yaml:"read-only" also:"readOnly,readOnlyHint"`
	Destructive *bool `yaml:"destructive" also:"destructiveHint"`
	Idempotent  *bool `yaml:"idempotent" also:"idempotentHint"`
	OpenWorld   *bool `yaml:"open-world" also:"openWorld,openWorldHint"`
}

// CatalogPrompt changes how prompts of one backend are shown.
type CatalogPrompt struct {
	// Backend is the name of a backend.
	Backend string `yaml:"backend"`
	// Prompt is the backend's own name of the prompt, without the prefix. * matches any text without
	// a slash, ** any text.
	Prompt string `yaml:"prompt"`
	// Hide removes it from lists; a request is answered as if it did not exist.
	Hide bool `yaml:"hide"`
	// Name is the name that clients see and use, without a prefix. Empty keeps the backend's name.
	// No other backend can have this name.
	Name string `yaml:"name"`
	// Aliases are further names that can be used and that no list has.
	Aliases Names `yaml:"aliases"`
	// Title replaces the backend's; empty keeps it.
	Title string `yaml:"title"`
	// Description replaces the backend's; empty keeps it.
	Description string `yaml:"description"`
	// Groups are names by which sets select the matched prompts.
	Groups Names `yaml:"groups" also:"group,tags"`
	// Arguments are changes of arguments, by their names. Their values are texts.
	Arguments map[string]CatalogArgument `yaml:"arguments"`
}

// CatalogResource changes how resources, templates or skills of one backend are shown.
type CatalogResource struct {
	// Backend is the name of a backend.
	Backend string `yaml:"backend"`
	// Resource is a URI, or the text of a template, as the backend writes it. * matches any text
	// without a slash, ** any text. A pattern also applies to matching URIs that are not listed. The
	// entry of a template or a skill also applies to its URIs.
	Resource string `yaml:"resource"`
	// Hide removes it from lists; a request is answered as if it did not exist.
	Hide bool `yaml:"hide"`
	// Title replaces the backend's; empty keeps it. Skills have none.
	Title string `yaml:"title"`
	// Description replaces the backend's; empty keeps it. Those of skills cannot be replaced.
	Description string `yaml:"description"`
	// Groups are names by which sets select the matched resources.
	Groups Names `yaml:"groups" also:"group,tags"`
	// Variables are pinned variables of the matched templates, by name.
	Variables map[string]CatalogVariable `yaml:"variables"`
}

// CatalogVariable pins a variable of templates: the template is listed with the value, and URIs with
// another value do not exist for the caller.
type CatalogVariable struct {
	// Value is a text.
	Value any `yaml:"value"`
	// From is an expression in CEL over the variables principal of policies, such as
	// principal.claims.tenant, whose value is a text. For a caller without the value, neither the
	// template nor its URIs exist.
	From string `yaml:"from"`
}

// Overlay returns the compiled Catalog, followed by the entries of the owners of Include, and the
// lock. It returns nil if there is none of these. The settings must be valid.
func (c *Config) Overlay() *overlay.Overlay {
	if c.Catalog == nil && len(c.Include) == 0 && !c.locks() {
		return nil
	}
	out := overlay.Entries{Withheld: c.hiddenBackends(), Lock: c.lockInForce()}
	out.Hides = c.Catalog.addTo(&out, func(place string) string { return place })
	c.inForce(func(g *Include, p *part) {
		before := [3]int{len(out.Tools), len(out.Prompts), len(out.Resources)}
		p.catalog().addTo(&out, p.text.locate)
		for i, list := range [][]overlay.Entry{out.Tools, out.Prompts, out.Resources} {
			for at := before[i]; at < len(list); at++ {
				list[at].Owner = g.Label()
			}
		}
	})
	return overlay.New(out)
}

// addTo adds the entries. placed changes their places. hides reports whether names without an entry
// are hidden. s may be nil.
func (s *Catalog) addTo(out *overlay.Entries, placed func(place string) string) (hides bool) {
	if s == nil {
		return false
	}
	for i, e := range s.Tools {
		place := placed(fmt.Sprintf("catalog.tools[%d]", i))
		changes, trials := argumentsOf(place, e.Arguments)
		out.Tools = append(out.Tools, overlay.Entry{
			Place: place, Backend: e.Backend, Names: pattern.New(e.Tool), Hide: e.Hide, Name: e.Name, Aliases: e.Aliases,
			Title: e.Title, Description: e.Description, Groups: e.Groups, Annotations: overlay.Annotations(e.Annotations), Arguments: changes, Trials: trials,
			MaxTokens: e.MaxResult.Tokens,
		})
	}
	for i, e := range s.Prompts {
		place := placed(fmt.Sprintf("catalog.prompts[%d]", i))
		changes, trials := argumentsOf(place, e.Arguments)
		out.Prompts = append(out.Prompts, overlay.Entry{
			Place: place, Backend: e.Backend, Names: pattern.New(e.Prompt), Hide: e.Hide, Name: e.Name, Aliases: e.Aliases,
			Title: e.Title, Description: e.Description, Groups: e.Groups, Arguments: changes, Trials: trials,
		})
	}
	for i, e := range s.Resources {
		out.Resources = append(out.Resources, overlay.Entry{
			Place: placed(fmt.Sprintf("catalog.resources[%d]", i)), Backend: e.Backend, Names: pattern.New(e.Resource), Hide: e.Hide, Title: e.Title, Description: e.Description, Groups: e.Groups,
			Variables: variablesOf(placed(fmt.Sprintf("catalog.resources[%d]", i)), e.Variables),
		})
	}
	return s.Default == CatalogHide
}

// validateCatalog returns the errors of Catalog.
func (c *Config) validateCatalog() (errs []error) {
	s := c.Catalog
	if s == nil {
		return nil
	}
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.Default != "" && s.Default != CatalogShow && s.Default != CatalogHide {
		wrong("catalog.default: %q: use show or hide", s.Default)
	}
	errs = append(errs, s.invalidArguments()...)
	return append(errs, c.validateEntries(s.entries())...)
}

// entries returns the compiled entries. s may be nil.
func (s *Catalog) entries() (out overlay.Entries) {
	s.addTo(&out, func(place string) string { return place })
	return out
}

// validateEntries returns the errors of entries of one owner, except those of arguments. Each begins
// with the place of its entry.
func (c *Config) validateEntries(entries overlay.Entries) (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for what, list := range map[string][]overlay.Entry{"tool": entries.Tools, "prompt": entries.Prompts, "resource": entries.Resources} {
		errs = append(errs, givenNames(what, list)...)
		errs = append(errs, c.reservedNames(list)...)
		set := map[[3]string]string{} // by backend, name and field
		for _, e := range list {
			switch {
			case e.Backend == "":
				wrong("%s: backend: it is missing: name the backend", e.Place)
			case c.Kubernetes == nil && !c.Demo && !slices.ContainsFunc(c.Backends, func(b Backend) bool { return b.Name == e.Backend }):
				wrong("%s: backend: %q is not a backend: use the name of one under backends", e.Place, e.Backend)
			}
			if e.Names.String() == "" {
				wrong("%s: %s: it is missing: write the backend's own name, with * for any text", e.Place, what)
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

// maxName bounds the names of tools and prompts (MCP, "Tools", "Tool Names").
const maxName = 128

// givenNames returns the errors in the names and aliases of a list's entries. what names the kind
// of the list.
func givenNames(what string, list []overlay.Entry) (errs []error) {
	type given struct{ place, backend, name string }
	all := map[string]given{}
	for _, e := range list {
		own := e.Names.String()
		if len(e.Given()) > 0 && strings.Contains(own, "*") {
			errs = append(errs, fmt.Errorf("%s: name: %q may match several %ss: an entry with a name or aliases names one", e.Place, own, what))
			continue
		}
		for i, name := range e.Given() {
			field := "aliases"
			if i == 0 && e.Name != "" {
				field = "name"
			}
			first, taken := all[name]
			switch same := first.backend == e.Backend && first.name == own; {
			case !validName(name):
				errs = append(errs, fmt.Errorf("%s: %s: %.200q is not a name of a %s: use at most %d letters, digits, dots, _ and -", e.Place, field, name, what, maxName))
			case taken && first.place == e.Place:
				errs = append(errs, fmt.Errorf("%s: %s: %q is there twice: keep one", e.Place, field, name))
			case taken && !same:
				errs = append(errs, fmt.Errorf("%s: %s: %q is given to %q in %s: keep one", e.Place, field, name, first.name, first.place))
			}
			all[name] = given{e.Place, e.Backend, own}
		}
	}
	return errs
}

// reservedNames returns an error for each name or alias that begins with the prefix of another
// backend, to which it belongs.
func (c *Config) reservedNames(list []overlay.Entry) (errs []error) {
	for _, e := range list {
		for _, name := range e.Given() {
			for _, b := range c.Backends {
				if b.Name != e.Backend && b.Prefix != "" && strings.HasPrefix(name, b.Prefix) {
					errs = append(errs, fmt.Errorf("%s: name: %q begins with the prefix %q of the backend %q, to which such names belong: choose another one", e.Place, name, b.Prefix, b.Name))
				}
			}
		}
	}
	return errs
}

// validName reports whether every client accepts a name of a tool.
func validName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_-.", c)
	})
}
