package api

import (
	"strings"
	"testing"
	"time"
)

func TestSelectors(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, s := range []string{
		"", "a", "!a", "a=b", "a==b", "a!=b", "a=", "a = b , c", "a in (b, c)", "a notin (b)", "a in (,b)", "a>1", "a < 2", "mcpedge.io/backend=true",
		"a.b/C_d-1.e=F_g.h-2", long + "=" + long,
	} {
		if err := CheckSelector(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"a b", "=b", "a=b=c", "a,", ",a", "a in b", "a in ()(", "a/b/c", "-a", "a=-b", "A/b", "a>b", long + "a", "a=" + long + "a", "a=b\x00", "é"} {
		if err := CheckSelector(s); err == nil {
			t.Errorf("%q is taken for a selector", s)
		}
	}
}

func TestBackoff(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: minPause, 2: 2 * minPause, 7: maxPause, 1 << 40: maxPause} {
		if got := backoff(failures); got != want {
			t.Errorf("after %d failures: %v, want %v", failures, got, want)
		}
	}
}
