package catalog

import "testing"

func TestWithoutPage(t *testing.T) {
	for meta, want := range map[string]string{
		`{}`:                              `{}`,
		`{"ui":{"resourceUri":"ui://x"}}`: `{"ui":{}}`,
		`{ "a" : [1, 2.0] ,"ui":7,"ui/resourceUri":"ui://x"}`:           `{"a":[1, 2.0],"ui":7}`,
		`{"ui":{"x":{"resourceUri":1},"resourceUri":"u"},"z":"\u00e9"}`: `{"ui":{"x":{"resourceUri":1}},"z":"\u00e9"}`,
	} {
		if got := withoutPage(meta); got != want || pagesOf(got) != nil {
			t.Errorf("%s became %s, want %s", meta, got, want)
		}
	}
}
