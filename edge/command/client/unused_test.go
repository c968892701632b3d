package client

import (
	"bytes"
	"strings"
	"testing"
)

// TestUnusedAnswers: an unused answer is an error that names the keys of the questions. The result
// is printed nevertheless.
func TestUnusedAnswers(t *testing.T) {
	url := remover(t)
	for name, c := range map[string]struct {
		revision, tool string
		answers        []string
		out            string
		err            []string // nil if there is no error
	}{
		"a key of no question":    {"2026-07-28", "remove", []string{"confirm", "sure"}, "kept\n", []string{`--answer "confirm": no question of remove has this key`, `it asked "sure"`}},
		"all declined":            {"2026-07-28", "login", []string{"confirm", "x"}, "decline\n", []string{`--answer "confirm", "x": no question of login has these keys`, `it asked "page"`}},
		"nothing is asked":        {"2026-07-28", "add", []string{"confirm"}, "3\n", []string{`--answer "confirm"`, "add asked nothing"}},
		"one more, in order":      {"2025-11-25", "remove", []string{"sure", "why"}, "kept\n", []string{`--answer "why"`, "remove asked 1 question"}},
		"nothing asked, in order": {"2025-06-18", "add", []string{"why"}, "3\n", []string{`--answer "why"`, "add asked nothing"}},
		"the key of one asked":    {"2026-07-28", "remove", []string{"sure", "sure"}, "kept\n", nil},
		"any key, in order":       {"2025-11-25", "remove", []string{"x"}, "kept\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"--protocol-version", c.revision, url, c.tool}
			if c.tool == "remove" {
				args = append(args, `{"path":"x"}`)
			}
			for _, key := range c.answers {
				args = append(args, "--answer", key+`={"sure":false}`)
			}
			var out, stderr bytes.Buffer
			err := Call(t.Context(), args, "test", &out, &stderr)
			if (err == nil) != (c.err == nil) || out.String() != c.out {
				t.Fatalf("%q, %q, %v", &out, &stderr, err)
			}
			for _, want := range c.err {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}

// TestUnusedAnswerOfAFailure: both the error of the tool and the unused answers are reported.
func TestUnusedAnswerOfAFailure(t *testing.T) {
	err := Call(t.Context(), []string{remover(t), "remove", `{"path":"x"}`, "--answer", `confirm={"sure":true}`}, "test", &bytes.Buffer{}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "remove failed") || !strings.Contains(err.Error(), `--answer "confirm"`) {
		t.Error(err)
	}
}
