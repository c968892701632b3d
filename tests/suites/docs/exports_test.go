package docs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// exports is what a program can import from a library, of which a file has a line for each name.
type exports struct {
	list string // the file, below the root
	// sources are the files that export names, below the root, by how a program imports them.
	sources func(t *testing.T) map[string]string
	names   func(source string) ([]string, error)
}

// The count of lines says nothing of what a user has to learn: this does.
var exported = []exports{
	{"sdk/typescript/exports.txt", typescriptSources, typescriptNames},
	{"sdk/python/exports.txt", pythonSources, pythonNames},
	{"sdk/java/exports.txt", javaSources, javaNames},
	{"sdk/rust/exports.txt", rustSources, rustNames},
}

// pythonSources are the modules that a program imports: the package, and those with dependencies or purposes of their own. The others are internal.
func pythonSources(*testing.T) map[string]string {
	const folder = "sdk/python/src/mcpedge/capability/"
	sources := map[string]string{"mcpedge.capability": folder + "__init__.py"}
	for _, module := range []string{"hook", "identity", "skills", "testing"} {
		sources["mcpedge.capability."+module] = folder + module + ".py"
	}
	return sources
}

// typescriptSources are the sources of what package.json exports, but for the stubs of the contract.
func typescriptSources(t *testing.T) map[string]string {
	const folder = "sdk/typescript"
	var pack struct {
		Name    string
		Exports map[string]struct{ Default string }
	}
	text, err := os.ReadFile(filepath.Join(root, folder, "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &pack)
	}
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for name, file := range pack.Exports {
		if strings.Contains(name, "*") {
			continue
		}
		source := strings.TrimSuffix(strings.TrimPrefix(file.Default, "./dist/"), ".js") + ".ts"
		sources[path.Join(pack.Name, name)] = path.Join(folder, "src", source)
	}
	return sources
}

// Whatever a library exports is listed: a name that comes, goes or becomes a type alone is a line of a change that somebody reads.
func TestExports(t *testing.T) {
	for _, e := range exported {
		got, err := e.text(e.sources(t))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(root, e.list)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not what the library exports; read the difference, and write it by `go test ./tests/suites/docs -run TestExports -update`:\n%s", e.list, difference(string(want), got))
		}
	}
}

// text is the list as it should be.
func (e exports) text(sources map[string]string) (string, error) {
	var lines []string
	for name, source := range sources {
		text, err := os.ReadFile(filepath.Join(root, source))
		if err != nil {
			return "", err
		}
		names, err := e.names(string(text))
		if err != nil {
			return "", fmt.Errorf("%s: %w", source, err)
		}
		for _, n := range names {
			lines = append(lines, name+" "+n)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n", nil
}

var (
	typescriptComments = regexp.MustCompile(`(?m)(?s:/\*.*?\*/)|^\s*//.*$`)
	typescriptClause   = regexp.MustCompile(`(?s)^export (type )?\{(.*?)\}(?: from "[^"]*")?;`)
	typescriptDeclared = regexp.MustCompile(`^export (?:declare |abstract |async )*(class|function\*?|const|let|interface|type|enum) ([A-Za-z_$][\w$]*)`)
	typescriptExport   = regexp.MustCompile(`(?m)^export `)
)

// typescriptNames are the names that a module of TypeScript exports, each after "type" if it is no value. A module that exports all of another
// is an error, as its text does not say which names those are.
func typescriptNames(source string) ([]string, error) {
	source = typescriptComments.ReplaceAllString(source, "")
	var names []string
	for _, at := range typescriptExport.FindAllStringIndex(source, -1) {
		rest := source[at[0]:]
		if m := typescriptDeclared.FindStringSubmatch(rest); m != nil {
			names = append(names, typescriptName(m[1] == "interface" || m[1] == "type", m[2]))
			continue
		}
		m := typescriptClause.FindStringSubmatch(rest)
		if m == nil {
			line, _, _ := strings.Cut(rest, "\n")
			return nil, fmt.Errorf("%q says no names: name what is exported", line)
		}
		for part := range strings.SplitSeq(m[2], ",") {
			name, typed := strings.CutPrefix(strings.TrimSpace(part), "type ")
			if _, as, ok := strings.Cut(name, " as "); ok {
				name = as
			}
			if name != "" {
				names = append(names, typescriptName(typed || m[1] != "", name))
			}
		}
	}
	return names, nil
}

func typescriptName(isType bool, name string) string {
	if isType {
		return "type " + name
	}
	return name
}

func TestTypescriptNames(t *testing.T) {
	const source = `/** export const no = 1; */
import { x } from "./x.js";
// export const nor = 1;
export { A, type B, c as d } from "./a.js";
export type {
  E,
  F as G,
} from "./b.js";
export class H<T> extends A {}
export async function i() {}
export const j = 1,
export interface K { a: string }
export type L = { export: string };
`
	got, err := typescriptNames(source)
	want := []string{"A", "type B", "d", "type E", "type G", "H", "i", "j", "type K", "type L"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	for _, bad := range []string{`export * from "./a.js";`, `export default 1;`} {
		if got, err := typescriptNames(bad); err == nil {
			t.Errorf("%q: %q, want an error", bad, got)
		}
	}
}

var (
	pythonAll  = regexp.MustCompile(`(?ms)^__all__ = \[(.*?)^?\]$`)
	pythonName = regexp.MustCompile(`^"([A-Za-z_]\w*)"$`)
)

// pythonNames are the names in __all__ of a module. A module without it is an error, as its other names may be internal.
func pythonNames(source string) ([]string, error) {
	all := pythonAll.FindStringSubmatch(source)
	if all == nil {
		return nil, errors.New("it has no __all__: list there what a program may import")
	}
	var names []string
	for part := range strings.SplitSeq(all[1], ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name := pythonName.FindStringSubmatch(part)
		if name == nil {
			return nil, fmt.Errorf("%q in __all__ is not a name: write names in double quotes alone", part)
		}
		names = append(names, name[1])
	}
	return names, nil
}

func TestPythonNames(t *testing.T) {
	got, err := pythonNames("from .a import b\n__all__ = [\n    \"A\", \"b\",\n    \"c\",\n]\nd = 1\n")
	if want := []string{"A", "b", "c"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if got, err := pythonNames("__all__ = [\"a\"]\n"); err != nil || !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q, %v, want a", got, err)
	}
	for _, bad := range []string{"a = 1\n", "__all__ = [a]\n"} {
		if got, err := pythonNames(bad); err == nil {
			t.Errorf("%q: %q, want an error", bad, got)
		}
	}
}

var (
	rustModule = regexp.MustCompile(`(?m)((?:^#\[.*\]\n)*)^pub mod (\w+);`)
	rustItem   = regexp.MustCompile(`(?ms)((?:^#\[[^\n]*\]\n)*)^pub (?:use (?:\w+::)*(?:\{(.*?)\}|(\w+));|(?:async |const )?(?:struct|enum|trait|fn|type|const|static) (\w+))`)
	rustGlob   = regexp.MustCompile(`(?m)^pub use .*\*`)
)

// rustSources are the root of the crate and its public modules, but for hidden ones.
func rustSources(t *testing.T) map[string]string {
	const folder, crate = "sdk/rust/src/", "mcpedge_capability"
	sources := map[string]string{crate: folder + "lib.rs"}
	text, err := os.ReadFile(filepath.Join(root, folder, "lib.rs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range rustModule.FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(m[1], "doc(hidden)") {
			sources[crate+"::"+m[2]] = folder + m[2] + ".rs"
		}
	}
	return sources
}

// rustNames are the public items of a module, and those that it exports of others, but for hidden ones. A module that exports all of another is
// an error, as its text does not say which names those are.
func rustNames(source string) ([]string, error) {
	if glob := rustGlob.FindString(source); glob != "" {
		return nil, fmt.Errorf("%q says no names: name what is exported", glob)
	}
	var names []string
	for _, m := range rustItem.FindAllStringSubmatch(source, -1) {
		if strings.Contains(m[1], "doc(hidden)") {
			continue
		}
		for part := range strings.SplitSeq(m[2]+m[3]+m[4], ",") {
			name := strings.TrimSpace(part)
			if _, as, ok := strings.Cut(name, " as "); ok {
				name = as
			}
			if name != "" {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

func TestRustNames(t *testing.T) {
	const source = `mod a;
pub mod b;
pub use a::A;
pub use crate::b::{
    C, D as E,
};
#[cfg(feature = "f")]
pub use f::f;
#[doc(hidden)]
pub use g::G;
#[derive(Clone)]
pub struct H<T>(pub T);
pub async fn i() {}
pub(crate) fn j() {}
impl H {
    pub fn k() {}
}
pub const L: u8 = 1;
`
	got, err := rustNames(source)
	if want := []string{"A", "C", "E", "f", "H", "i", "L"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if got, err := rustNames("pub use a::*;\n"); err == nil {
		t.Errorf("%q, want an error", got)
	}
}

// difference lists the lines that one of two lists has alone, with - or + before it.
func difference(before, after string) string {
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	var lines []string
	for _, l := range was {
		if !slices.Contains(is, l) {
			lines = append(lines, "-"+l)
		}
	}
	for _, l := range is {
		if !slices.Contains(was, l) {
			lines = append(lines, "+"+l)
		}
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Compare(a[1:], b[1:]) })
	return strings.Join(lines, "\n")
}
