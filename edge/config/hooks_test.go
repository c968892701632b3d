package config

import (
	"strings"
	"testing"
)

// TestHooks: mistakes in hooks are errors that say what to do, and the rest is valid.
func TestHooks(t *testing.T) {
	const base = "backends: [{name: b, target: 'h:1'}]\nhooks:\n"
	good := "- {name: dlp, target: 'h:2', on: [request, answer, result], match: 'tool.name == \"x\" && arguments.n > 1', timeout: 1s, on-failure: allow, concurrency: 3, mode: audit, claims: [tenant], tls: {}}\n"
	read := func(text string) (Config, error) {
		c, misplaced, err := fileSettings("edge.yaml", []byte(base+text))
		if err == nil {
			err = misplaced
		}
		if err != nil {
			return c, err
		}
		return c, c.Validate()
	}
	c, err := read(good)
	if err != nil {
		t.Fatal(err)
	}
	if h := c.Hooks[0]; !h.Allows() || !h.Audits() || len(h.On) != 3 || len(c.ForwardedClaims()) != 1 {
		t.Errorf("read %+v", h)
	}
	for text, want := range map[string]string{
		"- {target: 'h:2', on: [request]}\n":                                      `name: "": use 1 to 64 letters`,
		good + good:                                                               `name: "dlp" is used twice`,
		"- {name: a, on: [request]}\n":                                            "target is missing",
		"- {name: a, target: 'https://h', on: [request]}\n":                       "tls: {} for this hook",
		"- {name: a, target: 'h:2'}\n":                                            "on: it is missing",
		"- {name: a, target: 'h:2', on: [list], match: 'backend == \"b\"'}\n":     "give list a hook of its own",
		"- {name: a, target: 'h:2', on: [requests]}\n":                            `on: "requests": use request, answer, result`,
		"- {name: a, target: 'h:2', on: [result, result]}\n":                      `"result" is there twice`,
		"- {name: a, target: 'h:2', on: [request], match: 'tool.nam == 1'}\n":     "hooks[0] a: match: ",
		"- {name: a, target: 'h:2', on: [request], timeout: 2m}\n":                "at most 1m0s",
		"- {name: a, target: 'h:2', on: [request], on-failure: pass}\n":           "use deny or allow",
		"- {name: a, target: 'h:2', on: [request], mode: dry}\n":                  "use enforce or audit",
		"- {name: a, target: 'h:2', on: [request], concurrency: 20000}\n":         "at most 10000",
		"- {name: a, target: 'h:2', on: [request], claims: [x, x]}\n":             "name each claim once",
		"- {name: a, target: 'h:2', on: [request], tls: {cert: x}}\n":             "cert and key belong together",
		strings.Repeat("- {name: a, target: 'h:2', on: [request]}\n", maxHooks+1): "give at most 16",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
