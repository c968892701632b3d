package folder

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// watched returns a watched directory and a channel of its changes.
func watched(t *testing.T) (dir string, changes chan Change) {
	t.Helper()
	dir = t.TempDir()
	write(t, filepath.Join(dir, "old.txt"), "1")
	f, err := New(dir, Options{Debounce: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	changes = make(chan Change, 1000)
	stop, err := f.Watch(slog.New(slog.DiscardHandler), func(c Change) { changes <- c })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return dir, changes
}

// collect collects changes until the condition holds for them.
func collect(t *testing.T, changes chan Change, what string, holds func(Change) bool) {
	t.Helper()
	var all Change
	deadline := time.After(await.Patience)
	for {
		select {
		case c := <-changes:
			all.Listed = all.Listed || c.Listed
			all.Updated = append(all.Updated, c.Updated...)
			if holds(all) {
				return
			}
		case <-deadline:
			t.Fatalf("%s: not reported; reported were %+v", what, all)
		}
	}
}

// has reports whether the file was reported, with or without a change of the list.
func has(name string, listed bool) func(Change) bool {
	return func(c Change) bool { return slices.Contains(c.Updated, name) && c.Listed == listed }
}

func TestWatchTellsChanges(t *testing.T) {
	dir, changes := watched(t)
	old := filepath.Join(dir, "old.txt")
	write(t, old, "2") // same size, perhaps the same tick of the clock
	collect(t, changes, "written", has("old.txt", false))

	write(t, filepath.Join(dir, "new.txt"), "x")
	collect(t, changes, "created", has("new.txt", true))

	write(t, filepath.Join(dir, "deep", "er", "f.txt"), "x")
	collect(t, changes, "created with its directories", has("deep/er/f.txt", true))
	write(t, filepath.Join(dir, "deep", "er", "f.txt"), "xy")
	collect(t, changes, "written in a new directory", has("deep/er/f.txt", false))

	write(t, filepath.Join(dir, ".tmp"), "replaced")
	if err := os.Rename(filepath.Join(dir, ".tmp"), old); err != nil {
		t.Fatal(err)
	}
	collect(t, changes, "replaced by renaming", has("old.txt", false))

	if err := os.Rename(filepath.Join(dir, "deep"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	collect(t, changes, "moved", func(c Change) bool {
		return c.Listed && slices.Contains(c.Updated, "deep/er/f.txt") && slices.Contains(c.Updated, "moved/er/f.txt")
	})
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	collect(t, changes, "removed", has("old.txt", true))
}

func TestWatchSurvivesItsDirectory(t *testing.T) {
	dir, changes := watched(t)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	collect(t, changes, "the directory went", has("old.txt", true))
	write(t, filepath.Join(dir, "again.txt"), "x")
	collect(t, changes, "the directory came back", has("again.txt", true))
	write(t, filepath.Join(dir, "again.txt"), "xy")
	collect(t, changes, "written after it came back", has("again.txt", false))
}

func TestWatchIgnoresHiddenFiles(t *testing.T) {
	dir, changes := watched(t)
	write(t, filepath.Join(dir, ".swp"), "x")
	write(t, filepath.Join(dir, ".git", "index"), "x")
	write(t, filepath.Join(dir, "seen.txt"), "x")
	collect(t, changes, "created", func(c Change) bool {
		for _, name := range c.Updated {
			if name != "seen.txt" {
				t.Errorf("reported %s", name)
			}
		}
		return slices.Contains(c.Updated, "seen.txt")
	})
	write(t, filepath.Join(dir, ".swp"), "xy")
	write(t, filepath.Join(dir, "seen.txt"), "xy")
	collect(t, changes, "written", func(c Change) bool {
		if c.Listed {
			t.Error("a hidden file changed the list")
		}
		return slices.Contains(c.Updated, "seen.txt")
	})
}
