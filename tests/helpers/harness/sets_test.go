package harness

import "testing"

// TestOneProcess: a test of one process is skipped with -redis only.
func TestOneProcess(t *testing.T) {
	was := *redis
	t.Cleanup(func() { *redis = was })
	for _, with := range []bool{false, true} {
		*redis = with
		var inner *testing.T
		went := false
		t.Run("asking", func(t *testing.T) {
			inner = t
			OneProcess(t)
			went = true
		})
		if inner.Skipped() != with || went == with {
			t.Errorf("with -redis=%v: left out %v, went on %v", with, inner.Skipped(), went)
		}
	}
}
