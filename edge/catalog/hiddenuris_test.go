package catalog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A URI is found to be of a skill as if it were compared with each of them.
func TestSkillRoots(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		b.WriteString("skill:/")
		for range 1 + r.IntN(4) {
			fmt.Fprintf(&b, "/%.*s", r.IntN(3), string(rune('a'+r.IntN(3)))+string(rune('a'+r.IntN(2))))
		}
		return b.String()
	}
	for range 200 {
		var roots skillRoots
		var directories []string
		for range r.IntN(8) {
			directories = append(directories, text())
			roots.add(directories[len(directories)-1] + SkillFile)
		}
		roots.add("skill://no/skill.md")
		roots.build()
		for range 50 {
			uri, want := text(), false
			for _, directory := range directories {
				want = want || uri == directory || strings.HasPrefix(uri, directory+"/")
			}
			if got := roots.contains(uri); got != want {
				t.Fatalf("%s of %q: %v", uri, directories, got)
			}
		}
	}
}

// The cost of a lookup does not grow with the number of skills.
func BenchmarkSkillRoots(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var roots skillRoots
			for i := range n {
				roots.add(fmt.Sprintf("skill://%d%s", i, SkillFile))
			}
			roots.build()
			for b.Loop() {
				roots.contains("skill://77/docs/a.md")
			}
		})
	}
}
