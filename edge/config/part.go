package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// part is the content of one file of an Include.
type part struct {
	name     string
	settings partSettings
	// text has the lines of its keys.
	text *source
}

// partSettings are the settings that a file of an Include can have.
type partSettings struct {
	Catalog partCatalog `yaml:"catalog"`
	Policy  partPolicy  `yaml:"policy"`
	// Sets are by name.
	Sets map[string]partSet `yaml:"sets"`
}

// partCatalog are the entries of a Catalog.
type partCatalog struct {
	Tools     []CatalogTool     `yaml:"tools"`
	Prompts   []CatalogPrompt   `yaml:"prompts"`
	Resources []CatalogResource `yaml:"resources"`
}

// catalog returns the entries as a Catalog.
func (p *part) catalog() *Catalog {
	s := &p.settings.Catalog
	return &Catalog{Tools: s.Tools, Prompts: s.Prompts, Resources: s.Resources}
}

// partPolicy are rules, scopes and approvals that only restrict.
type partPolicy struct {
	Rules   []PolicyRule    `yaml:"rules"`
	Scopes  []PolicyScopes  `yaml:"scopes"`
	Approve []PolicyApprove `yaml:"approve" also:"approvals"`
}

// newPart reads the content of a file. blank reports that it has no settings, as after it was
// truncated. An error has the file, the line and the key.
func (g *Include) newPart(f IncludedFile) (p *part, blank bool, err error) {
	if err := plainYAML(f.Name, f.Text); err != nil {
		return nil, false, err
	}
	p = &part{name: f.Name}
	p.text, blank = newSource(f.Name, []byte(f.Text), reflect.TypeFor[partSettings]())
	if blank {
		return nil, true, nil
	}
	if err := g.ungranted(p.text); err != nil {
		return nil, false, err
	}
	if err := p.text.decode([]byte(f.Text), &p.settings); err != nil {
		return nil, false, err
	}
	if len(g.Owns.Backends) == 1 {
		p.settings.Catalog.belongTo(g.Owns.Backends[0])
	}
	return p, false, nil
}

// size returns the number of entries, including the patterns of sets, and the number of rules,
// scopes and approvals.
func (s *partSettings) size() (entries, rules int) {
	c, p := &s.Catalog, &s.Policy
	return len(c.Tools) + len(c.Prompts) + len(c.Resources) + len(s.patterns()), len(p.Rules) + len(p.Scopes) + len(p.Approve)
}

// belongTo sets the backend of the entries without one.
func (s *partCatalog) belongTo(backend string) {
	set := func(name *string) {
		if *name == "" {
			*name = backend
		}
	}
	for i := range s.Tools {
		set(&s.Tools[i].Backend)
	}
	for i := range s.Prompts {
		set(&s.Prompts[i].Backend)
	}
	for i := range s.Resources {
		set(&s.Resources[i].Backend)
	}
}

// platformsOfSets are the keys of sets that no file of an owner may have.
var platformsOfSets = []string{"accept-root", "search", "listed", "as-tools", "schemas"}

// ungranted returns an error for each key of a file that the grant does not allow. Misspelled keys of
// entries are not among them.
func (g *Include) ungranted(text *source) error {
	var errs []error
	wrong := func(line int, key string) {
		errs = append(errs, fmt.Errorf("config %s:%d: %s: it is the platform's: %s", text.file, line, key, g.allows()))
	}
	for _, section := range []string{MayCatalog, MayPolicy, MaySets} {
		if line := text.lines[section]; line != 0 && !g.grants(section) {
			wrong(line, section)
		}
	}
	text.unknown = slices.DeleteFunc(text.unknown, func(k unknownKey) bool {
		switch path := k.in.path; {
		case path == "":
			wrong(k.at.line, k.key)
		case path == MayCatalog, path == MayPolicy, strings.HasPrefix(path, "sets.") && slices.Contains(platformsOfSets, k.key):
			wrong(k.at.line, k.in.path+"."+k.key)
		default:
			return false
		}
		return true
	})
	return errors.Join(errs...)
}

// maxDepth bounds how deep the lists and sections of a file are nested.
const maxDepth = 50

// plainYAML returns an error with its line if a file has what only makes it hard to read: anchors,
// aliases, tags, merge keys, directives, and deep nesting, which the parser could not bear.
func plainYAML(name, text string) error {
	depth, line, entries := 0, 0, 0
	for _, t := range lexer.Tokenize(text) {
		wrong := func(what string) error {
			return fmt.Errorf("config %s:%d: %s", name, t.Position.Line, what)
		}
		if t.Position.Line != line {
			line, entries = t.Position.Line, 0
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return wrong("an anchor, an alias or a merge key is not read in an included file: write out what it stands for")
		case token.TagType, token.DirectiveType:
			return wrong("a tag or a directive is not read in an included file: take it out")
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType:
			entries++
		}
		if depth > maxDepth || entries > maxDepth {
			return wrong(fmt.Sprintf("its lists and sections are nested deeper than %d", maxDepth))
		}
	}
	return nil
}
