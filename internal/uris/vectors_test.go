package uris

import (
	"encoding/json"
	"maps"
	"os"
	"testing"
)

// TestVectors compares templates with the test vectors of the capability libraries.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../tests/suites/capability/testdata/templates.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Template string
		URIs     map[string]map[string]string // nil if the URI does not match
	}
	if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) == 0 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for _, v := range vectors {
		for uri, want := range v.URIs {
			got, ok := mustParse(t, v.Template).Match(uri)
			if ok != (want != nil) || !maps.Equal(got, want) {
				t.Errorf("%s of %q: %v, %v, want %v", v.Template, uri, got, ok, want)
			}
		}
	}
}
