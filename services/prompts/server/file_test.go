package server

import (
	"strings"
	"testing"
)

func TestParseFile(t *testing.T) {
	const front = "---\ntitle: T\ndescription: D\narguments:\n  - {name: a, title: A, description: first, required: true}\n  - name: b\n---\n"
	for name, test := range map[string]struct{ data, want string }{
		"arguments":          {front + "{{a}} and {{ b }}.", "<A> and <B>."},
		"escaped":            {front + `\{{a}} {{a}}`, "{{a}} <A>"},
		"other braces":       {front + "{a} {{}} {{a b}} {{a", "{a} {{}} {{a b}} {{a"},
		"repeated":           {front + "{{a}}{{a}}", "<A><A>"},
		"no front matter":    {"# Heading\n\nText", "# Heading\n\nText"},
		"empty matter":       {"---\n---\nText", "Text"},
		"carriage returns":   {strings.ReplaceAll(front+"{{a}}\nx", "\n", "\r\n"), "<A>\nx"},
		"byte order mark":    {"\ufeff" + front + "{{a}}", "<A>"},
		"a rule in the text": {front + "one\n---\ntwo", "one\n---\ntwo"},
		"unknown keys":       {"---\ntags: [x]\n---\nText", "Text"},
	} {
		p, err := parseFile("x.md", []byte(test.data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := p.text.fill(map[string]string{"a": "<A>", "b": "<B>"}); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	p, err := parseFile("my.prompt-1.md", []byte(front+"x"))
	if err != nil {
		t.Fatal(err)
	}
	a := p.listed.GetArguments()
	if p.listed.GetName() != "my.prompt-1" || p.listed.GetTitle() != "T" || p.listed.GetDescription() != "D" || len(a) != 2 ||
		a[0].GetName() != "a" || a[0].GetTitle() != "A" || a[0].GetDescription() != "first" || !a[0].GetRequired() || a[1].GetRequired() {
		t.Errorf("listed %v", p.listed)
	}
	if p, err = parseFile("x.md", []byte("## Heading\nText")); err != nil || p.listed.GetDescription() != "Heading" {
		t.Errorf("description %q, %v", p.listed.GetDescription(), err)
	}
}

// TestArgumentsAreNotExpanded: an argument is literal text, including braces.
func TestArgumentsAreNotExpanded(t *testing.T) {
	p, err := parseFile("x.md", []byte("---\narguments: [{name: a}, {name: b}]\n---\n{{a}} {{b}}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.text.fill(map[string]string{"a": "{{b}}", "b": "$1"}); got != "{{b}} $1" {
		t.Errorf("%q", got)
	}
}

func TestParseFileErrors(t *testing.T) {
	for name, test := range map[string]struct{ file, data, want string }{
		"file name":          {"a b.md", "x", "its name is not valid for a prompt"},
		"built in":           {"code_review.md", "x", `a prompt "code_review" is built in`},
		"not UTF-8":          {"x.md", "\xff", "not UTF-8"},
		"never closed":       {"x.md", "---\ntitle: T\n", "does not end"},
		"too long":           {"x.md", "---\n#" + strings.Repeat("x", maxMatter) + "\n---\nx", "more than the 65536"},
		"no text":            {"x.md", "---\ntitle: T\n---\n \n", "has no text"},
		"not YAML":           {"x.md", "---\ntitle: [\n---\nx", "front matter cannot be read"},
		"wrong type":         {"x.md", "---\narguments: 3\n---\nx", "front matter cannot be read"},
		"undeclared":         {"x.md", "---\narguments: [{name: a}]\n---\n{{b}}", "its text has {{b}}, which is not among its arguments"},
		"argument's name":    {"x.md", "---\narguments: [{name: a b}]\n---\nx", `its argument name "a b"`},
		"argument, nameless": {"x.md", "---\narguments: [{title: A}]\n---\nx", `its argument name ""`},
		"argument, twice":    {"x.md", "---\narguments: [{name: a}, {name: a}]\n---\nx", `its argument "a" is declared twice`},
	} {
		if _, err := parseFile(test.file, []byte(test.data)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	for _, seed := range []string{"", "---\n", "---\n---\nx", "---\na: &a [*a]\n---\nx", "---\narguments:\n- name: a\n---\n{{a}}\\{{a}}", "---\n? {\n---\n", "{{", "\\{{x}}", "#"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if p, err := parseFile("x.md", []byte(data)); err == nil && (p.listed.GetName() != "x" || p.listed.GetDescription() == "") {
			t.Fatalf("%q: %v", data, p.listed)
		}
	})
}
