package server

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"github.com/mcpedge/mcpedge/capability"
)

const (
	extension  = ".md"
	maxMatter  = 64 << 10 // bytes of front matter
	maxSummary = 200      // characters of a description taken from the text
)

var (
	promptName   = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	argumentName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	placeholder  = regexp.MustCompile(`\\?\{\{\s*([A-Za-z0-9_-]+)\s*\}\}`)
)

// File is the front matter of a Markdown file with a prompt: YAML between two lines "---" at its
// start. All keys are optional; unknown keys are ignored. The rest of the file is the text of one
// message of the user. In it, {{name}} is replaced by an argument, and \{{name}} is not. The file's
// name without .md is the name of the prompt.
type File struct {
	// Title is the display name of the prompt.
	Title string `yaml:"title"`
	// Description describes the prompt. The default is the title, else the first line of the text,
	// else the name.
	Description string `yaml:"description"`
	// Arguments are the arguments that {{name}} may refer to.
	Arguments []FileArgument `yaml:"arguments"`
}

// FileArgument is one argument of a File.
type FileArgument struct {
	// Name is the name between the braces: 1 to 64 of A-Z a-z 0-9 _ -.
	Name string `yaml:"name"`
	// Title is its display name.
	Title string `yaml:"title"`
	// Description describes the argument.
	Description string `yaml:"description"`
	// Required rejects requests without the argument. An optional argument defaults to "".
	Required bool `yaml:"required"`
	// Values are the suggestions for the user.
	Values []string `yaml:"values"`
}

// filePrompt is a validated File.
type filePrompt struct {
	listed      *capability.Prompt
	suggestions []capability.CompleteOption
	values      string // the suggestions, for comparison
	text        template
}

// parseFile parses a file; file is its name with the extension. It never panics.
func parseFile(file string, data []byte) (p *filePrompt, err error) {
	defer func() {
		if r := recover(); r != nil { // the YAML parser may panic
			p, err = nil, fmt.Errorf("its front matter cannot be read: %v", r)
		}
	}()
	name := strings.TrimSuffix(file, extension)
	switch {
	case !promptName.MatchString(name):
		return nil, fmt.Errorf("its name is not valid for a prompt; use 1 to 64 of A-Z a-z 0-9 _ . - before %s", extension)
	case builtin[name]:
		return nil, fmt.Errorf("a prompt %q is built in; choose another file name", name)
	case !utf8.Valid(data):
		return nil, fmt.Errorf("it is not UTF-8 text")
	}
	matter, text, err := split(data)
	if err != nil {
		return nil, err
	}
	var front File
	if len(bytes.TrimSpace(matter)) > 0 {
		if err := yaml.Unmarshal(matter, &front); err != nil {
			return nil, fmt.Errorf("its front matter cannot be read (line 1 is the one below \"---\"): %w", err)
		}
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, fmt.Errorf("it has no text; write the prompt below the front matter")
	}
	return front.prompt(name, text)
}

// split separates front matter and text.
func split(data []byte) (matter []byte, text string, err error) {
	content := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(content, "---\n")
	if !ok {
		return nil, content, nil
	}
	head, tail, ok := strings.Cut("\n"+rest+"\n", "\n---\n")
	if !ok {
		return nil, "", fmt.Errorf("its front matter does not end; close it by a line \"---\"")
	}
	if len(head) > maxMatter {
		return nil, "", fmt.Errorf("its front matter has %d bytes, more than the %d that are allowed", len(head), maxMatter)
	}
	return []byte(head), tail, nil
}

// prompt validates front matter and text together.
func (f File) prompt(name, text string) (*filePrompt, error) {
	p := &filePrompt{listed: &capability.Prompt{Name: name, Title: f.Title, Description: f.describe(name, text)}}
	known := map[string]bool{}
	for _, a := range f.Arguments {
		switch {
		case !argumentName.MatchString(a.Name):
			return nil, fmt.Errorf("its argument name %.80q is not 1 to 64 of A-Z a-z 0-9 _ -", a.Name)
		case known[a.Name]:
			return nil, fmt.Errorf("its argument %q is declared twice", a.Name)
		}
		known[a.Name] = true
		p.listed.Arguments = append(p.listed.Arguments, &capability.PromptArgument{
			Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required})
		if len(a.Values) > 0 {
			p.suggestions = append(p.suggestions, capability.Suggest(a.Name, a.Values...))
			p.values += fmt.Sprintf("%q%q", a.Name, a.Values)
		}
	}
	p.text = compile(text)
	for _, part := range p.text {
		if part.argument != "" && !known[part.argument] {
			return nil, fmt.Errorf("its text has {{%s}}, which is not among its arguments; declare it in the front matter, or write \\{{%[1]s}} for literal text", part.argument)
		}
	}
	return p, nil
}

func (f File) describe(name, text string) string {
	switch {
	case f.Description != "":
		return f.Description
	case f.Title != "":
		return f.Title
	}
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimSpace(strings.TrimLeft(line, "# "))
	if line == "" {
		return "The prompt " + name + "."
	}
	if runes := []rune(line); len(runes) > maxSummary {
		return string(runes[:maxSummary-1]) + "…"
	}
	return line
}

// template is a text with placeholders for arguments.
type template []part

// part is literal text or an argument.
type part struct{ literal, argument string }

func compile(text string) template {
	var t template
	at := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		t = append(t, part{literal: text[at:m[0]]})
		if text[m[0]] == '\\' {
			t = append(t, part{literal: text[m[0]+1 : m[1]]})
		} else {
			t = append(t, part{argument: text[m[2]:m[3]]})
		}
		at = m[1]
	}
	return append(t, part{literal: text[at:]})
}

// fill replaces the placeholders by arguments; placeholders inside arguments are not replaced.
func (t template) fill(arguments map[string]string) string {
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.literal)
		if p.argument != "" {
			b.WriteString(arguments[p.argument])
		}
	}
	return b.String()
}
