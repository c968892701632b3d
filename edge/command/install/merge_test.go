package install

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMergeKeepsDrawnFiles adds an entry to random files with comments, and checks that the rest is
// unchanged.
func TestMergeKeepsDrawnFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawObject(t, 3)
		if rapid.Bool().Draw(t, "section") {
			text = strings.Replace(text, "{", fmt.Sprintf("{%s\"mcpServers\": %s,", drawSpace(t), drawObject(t, 1)), 1)
		}
		text = drawSpace(t) + text + drawSpace(t)
		if _, err := (jsonFormat{}).decode([]byte(text)); err != nil {
			t.Fatalf("%v in the drawn %s", err, text)
		}
		section, v := []string{"mcpServers"}, values{"type": "http", "url": "http://a/?b=<c>&d", "list": []string{"x"}}
		after, err := jsonFile.merge([]byte(text), section, "edge", v, false)
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, text, after)
		}
		if json.Valid([]byte(text)) && !json.Valid(after) {
			t.Fatalf("was JSON:\n%s\nand is none:\n%s", text, after)
		}
		if before, now := strings.Count(text, "// c"), strings.Count(string(after), "// c"); before != now {
			t.Fatalf("%d comments of %d are left in\n%s", now, before, after)
		}
	})
}

// drawObject draws an object without the names that the test uses.
func drawObject(t *rapid.T, depth int) string {
	var b strings.Builder
	b.WriteString("{" + drawSpace(t))
	n := rapid.IntRange(0, 3).Draw(t, "members")
	for i := range n {
		value := "[1, true, \"}\"]"
		if depth > 0 && rapid.Bool().Draw(t, "nested") {
			value = drawObject(t, depth-1)
		}
		fmt.Fprintf(&b, "%q%s:%s%s%s", fmt.Sprint("m", i), drawSpace(t), drawSpace(t), value, drawSpace(t))
		if i < n-1 || rapid.IntRange(0, 3).Draw(t, "comma") == 0 {
			b.WriteString("," + drawSpace(t))
		}
	}
	return b.String() + "}"
}

func drawSpace(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", " ", "\n", "\n  ", "\r\n\t", " // c }\n", "\n// c \"\n"}).Draw(t, "space")
}
