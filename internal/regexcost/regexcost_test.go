package regexcost

import (
	"regexp/syntax"
	"testing"
)

// TestInstructions: the bound is not below the compiled number of instructions, and grows with
// repetitions without expanding them.
func TestInstructions(t *testing.T) {
	const most = 10_000
	for _, text := range []string{``, `a`, `abc`, `[a-z]+`, `(a|b|cd)*?x{3,7}`, `(?i)straße`, `\d{2,}-(?:[0-9]{1,3}\.){3}`, `^$`, `((a{2}){3}){4}`} {
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		bound := Instructions(tree, most)
		prog, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if n := int64(len(prog.Inst)) - 2; bound < n || bound > most { // Compile adds a failure and a match.
			t.Errorf("%q: the bound is %d, compiled are %d", text, bound, n)
		}
	}
	for _, text := range []string{`(?:a{1000}b)`, `(?:[ab]{30}){30}x`} {
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if bound := Instructions(tree, 500); bound <= 500 {
			t.Errorf("%q: the bound is %d", text, bound)
		}
	}
}
