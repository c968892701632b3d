package docs

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// javaSources are the public types of the packages that a program imports, by their names. The package internal is not one of them.
func javaSources(t *testing.T) map[string]string {
	const folder = "sdk/java/src/main/java/"
	sources := map[string]string{}
	for _, pack := range []string{"io/mcpedge/capability", "io/mcpedge/capability/testing"} {
		files, err := filepath.Glob(filepath.Join(root, folder, pack, "*.java"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no sources: %v", pack, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if name := strings.TrimSuffix(filepath.Base(file), ".java"); javaType.Match(text) {
				sources[strings.ReplaceAll(pack, "/", ".")+"."+name] = folder + pack + "/" + name + ".java"
			}
		}
	}
	return sources
}

var (
	javaComments   = regexp.MustCompile(`(?m)(?s:/\*.*?\*/)|//.*$`)
	javaType       = regexp.MustCompile(`(?m)^public (?:[a-z-]+ )*(class|interface|@interface|enum|record) \w+`)
	javaNested     = regexp.MustCompile(`(?m)^  (?:public )?(?:[a-z-]+ )*(?:class|interface|@interface|enum|record) (\w+)`)
	javaMember     = regexp.MustCompile(`(?m)^  (\w.*?)\b(\w+)(?:\(| = |;)`)
	javaComponents = regexp.MustCompile(`(?s)^public (?:[a-z-]+ )*record \w+(?:<[^>]*>)?\((.*?)\)\s*(?:implements[^{]*)?\{`)
	javaConstants  = regexp.MustCompile(`(?m)^  ([A-Z_]+)[,;]?$`)
	javaGenerics   = regexp.MustCompile(`<[^<>]*>`)
)

// javaNames are the kind of a public type of Java, and the names of what a program can use of it, which are indented by two spaces: public
// members, those of an interface that are not private, components of a record, constants of an enum, and nested types.
func javaNames(source string) ([]string, error) {
	source = javaComments.ReplaceAllString(source, "")
	kind := javaType.FindStringSubmatchIndex(source)
	if kind == nil {
		return nil, errors.New("it has no public type")
	}
	names := []string{source[kind[2]:kind[3]]}
	body := source[kind[0]:]
	if c := javaComponents.FindStringSubmatch(body); c != nil {
		list := c[1]
		for javaGenerics.MatchString(list) {
			list = javaGenerics.ReplaceAllString(list, "")
		}
		for component := range strings.SplitSeq(list, ",") {
			if words := strings.Fields(component); len(words) > 0 {
				names = append(names, words[len(words)-1])
			}
		}
	}
	open := strings.HasSuffix(names[0], "interface")
	for _, m := range javaNested.FindAllStringSubmatch(body, -1) {
		if open || strings.Contains(m[0], "public ") {
			names = append(names, m[1])
		}
	}
	for _, m := range javaMember.FindAllStringSubmatch(body, -1) {
		public := strings.HasPrefix(m[1], "public ") || open && !strings.HasPrefix(m[1], "private ")
		if public && !javaNested.MatchString(m[0]) && !strings.Contains(body[:strings.Index(body, "{")], " "+m[2]) {
			names = append(names, m[2])
		}
	}
	if names[0] == "enum" {
		for _, m := range javaConstants.FindAllStringSubmatch(body, -1) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names[1:])
	return slices.Compact(names), nil
}

func TestJavaNames(t *testing.T) {
	for source, want := range map[string][]string{
		"public final class A {\n  private int no;\n  public static final String TYPE = \"\";\n  public A(int x) {}\n\n  // public void nor()\n" +
			"  public <T> T ask(String key) {\n    public int within();\n  }\n  void inner() {}\n  public static final class Builder {\n  }\n}\n": {"class", "Builder", "TYPE", "ask"},
		"public record B(String uri, Map<String, List<Object>> meta) implements C {\n  public B {\n  }\n  static int no() {\n  public boolean is() {\n}\n": {"record", "is", "meta", "uri"},
		"public sealed interface C permits B {\n  String uri();\n  default String text() {\n  static B of(int x) {\n  private int no() {\n}\n":             {"interface", "of", "text", "uri"},
		"public enum D {\n  ONE,\n  TWO_B;\n\n  int no() {\n}\n":                                                                                           {"enum", "ONE", "TWO_B"},
	} {
		if got, err := javaNames(source); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if got, err := javaNames("final class A {}"); err == nil {
		t.Errorf("%q, want an error", got)
	}
}
