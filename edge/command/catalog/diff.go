package catalog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/mcpedge/mcpedge/edge/catalog/snapshot"
	"github.com/mcpedge/mcpedge/edge/command"
	"github.com/mcpedge/mcpedge/edge/config"
)

// statusTrouble is the exit status of mcpedge catalog diff after an error, as for diff(1).
const statusTrouble = 2

// difference is the error for changes of a kind that --fail includes.
type difference struct{ count int }

func (d *difference) Error() string {
	return fmt.Sprintf("catalog: %d changes are of a kind that --fail names, or more serious: make a new snapshot if they are intended", d.count)
}

// diff runs mcpedge catalog diff.
func diff(ctx context.Context, args []string, out, stderr io.Writer) error {
	locks, args := takeSwitch("lock", args)
	fail, rest, err := command.Take("catalog", "fail", "the kind of change that fails: breaks, changes, widens, words or never", args)
	if err != nil {
		return err
	}
	compare, usual := snapshot.Compare, snapshot.Breaks
	if locks {
		compare, usual = snapshot.CompareDefinitions, snapshot.Words
	}
	least, err := leastOf(fail, usual)
	if err != nil {
		return err
	}
	at, rest, err := takeViewer(rest)
	if err != nil {
		return err
	}
	const name = "catalog diff"
	files, rest := config.Operands(name, rest)
	var before, after *snapshot.Snapshot
	switch {
	case slices.ContainsFunc(rest, func(arg string) bool { return slices.Contains([]string{"-h", "-help", "--help"}, arg) }):
		_, err = current(ctx, name, at, rest, stderr)
		return err
	case len(files) == 0 || len(files) > 2 || len(files) == 2 && (len(rest) > 0 || at != viewer{}):
		return errors.New("catalog: write mcpedge catalog diff OLD NEW with two files of mcpedge catalog snapshot, or OLD alone with the settings of the backends")
	}
	if before, err = read(files[0]); err != nil {
		return err
	}
	if len(files) == 2 {
		after, err = read(files[1])
	} else {
		at.set = cmp.Or(at.set, before.Set)
		after, err = current(ctx, name, at, rest, stderr)
	}
	if err != nil {
		return err
	}
	if !locks && before.Set != after.Set {
		return fmt.Errorf("catalog: the snapshots are of %s and of %s, whose lists differ by the settings: "+
			"compare two of the same; --lock compares the definitions of any", endpoint(before.Set), endpoint(after.Set))
	}
	for i, s := range []*snapshot.Snapshot{before, after} {
		if locks && s.Definitions == nil {
			return fmt.Errorf("catalog: %s has no definitions of tools, because an earlier release has written it: make a new one with mcpedge catalog snapshot", files[i])
		}
	}
	failed := report(compare(before, after), least, out)
	if !locks && len(snapshot.CompareDefinitions(before, after)) > 0 {
		_, _ = fmt.Fprintln(stderr, "note: tools differ as their backends list them, which is what a catalog-lock compares: see mcpedge catalog diff --lock")
	}
	if failed > 0 {
		return &difference{failed}
	}
	return nil
}

// endpoint names the endpoint of a set in texts. Empty means the root.
func endpoint(set string) string {
	if set == "" {
		return "the root"
	}
	return fmt.Sprintf("the set %q", set)
}

// report prints changes. It returns the number of changes that are at least as serious as least.
func report(changes []snapshot.Change, least snapshot.Kind, out io.Writer) (failed int) {
	for _, c := range changes {
		_, _ = fmt.Fprintf(out, "%-8s%s %s: %s\n", c.Kind, c.What, c.Name, c.Text)
		if c.Was != "" {
			_, _ = fmt.Fprintf(out, "          was %s\n", c.Was)
		}
		if c.Is != "" {
			_, _ = fmt.Fprintf(out, "          is  %s\n", c.Is)
		}
		if c.Kind >= least {
			failed++
		}
	}
	return failed
}

// takeSwitch removes a flag without a value from the arguments. given reports whether it was
// present.
func takeSwitch(name string, args []string) (given bool, rest []string) {
	is := func(arg string) bool { return arg == "--"+name || arg == "-"+name }
	return slices.ContainsFunc(args, is), slices.DeleteFunc(slices.Clone(args), is)
}

// leastOf returns the least serious kind of change that makes diff fail. given are the values of
// --fail. Without any, it returns usual.
func leastOf(given []string, usual snapshot.Kind) (snapshot.Kind, error) {
	if len(given) == 0 {
		return usual, nil
	}
	last := given[len(given)-1]
	for kind := snapshot.Words; kind <= snapshot.Breaks; kind++ {
		if last == kind.String() {
			return kind, nil
		}
	}
	if last == "never" {
		return snapshot.Breaks + 1, nil
	}
	return 0, fmt.Errorf("catalog: --fail %q: use breaks, changes, widens, words or never", last)
}

// read reads a file that mcpedge catalog snapshot has written.
func read(file string) (*snapshot.Snapshot, error) {
	raw, err := os.ReadFile(file) // #nosec G304 -- the user names the file
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	s, err := snapshot.Read(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("catalog: %s: %w", file, err)
	}
	return s, nil
}
