// Package catalog is the command mcpedge catalog: what clients see, for reviews and CI, the way back to what they saw before,
// and what operators disable.
package catalog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/catalog/snapshot"
	"github.com/mcpedge/mcpedge/edge/command"
	"github.com/mcpedge/mcpedge/edge/command/client"
	"github.com/mcpedge/mcpedge/edge/command/demo"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

const usage = `mcpedge catalog snapshot [flags]
        prints what a caller sees of the backends, as JSON: tools, prompts, resources, templates and skills, under the newest
        revision, through the catalog and the policy, and what the catalog sends beside: pinned arguments by a digest of
        their values. The same lists give the same bytes, so the file can be kept in a repository, and be the file of
        catalog-lock: it has digests of each backend's own definition of each tool, which diff does not compare
mcpedge catalog diff OLD [NEW] [--fail KIND] [flags]
        says how two such files differ; without NEW, how the backends differ from OLD now. Each line begins with the kind
        of the change:
          breaks   a call fails that was right before, or a result is none of those that its schema allowed: a tool is
                   gone, an argument is required, or schemas cannot be compared
          changes  calls stay right, and some have another effect or result: a pinned value, a default, a bound of results
          widens   callers can do more, or rely on more: a tool is new, an argument is optional, fewer results are possible
          words    titles, descriptions and other texts, and schemas that are written otherwise
        The exit status is 0 if there is no change of the kind of --fail (breaks, changes, widens, words or never; breaks is
        the default) or of a more serious one, 1 if there is one, and 2 if they could not be compared
mcpedge catalog rollback URL [flags]
        puts the settings in force again that were so before, on the replica with that admin address
mcpedge catalog disable NAME [URL] [flags]
        disables a tool, a backend or a set on all replicas, until mcpedge catalog enable NAME [URL]; URL is that of an admin
        address, http://127.0.0.1:9090 by default
mcpedge catalog disabled [URL] [flags]
        lists what is disabled

  --claims JSON|FILE
        the claims of a token, or a file with them, which are not verified: snapshot, and diff without NEW, have what the
        policy lists for that caller; without them, for an anonymous one. The lists of backends that have their own for
        each caller are the anonymous ones
  --set NAME
        the set at whose endpoint the caller is: snapshot has what clients see there, with the tools of the edge itself and,
        of a set with search, also the tools that find_tools finds; diff without NEW has the set of OLD unless it is given.
        Without it a snapshot has what /mcp shows with root: all

`

// Run runs mcpedge catalog, and prints results to out and help to stderr. args are those after
// catalog. It returns flag.ErrHelp if help was requested.
func Run(ctx context.Context, args []string, out, stderr io.Writer) error {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch name {
	case "snapshot":
		return write(ctx, args, out, stderr)
	case "diff":
		err := diff(ctx, args, out, stderr)
		if differs := (*difference)(nil); err != nil && !errors.As(err, &differs) && !errors.Is(err, flag.ErrHelp) {
			err = &command.Exit{Status: statusTrouble, Err: err}
		}
		return err
	case "rollback":
		return client.Rollback(ctx, args, out, stderr)
	case "disable":
		return client.Disable(ctx, args, out, stderr)
	case "enable":
		return client.Enable(ctx, args, out, stderr)
	case "disabled":
		return client.Disabled(ctx, args, out, stderr)
	case "-h", "-help", "--help":
		return write(ctx, []string{"--help"}, out, stderr)
	}
	return errors.New("catalog: write mcpedge catalog snapshot --config FILE, mcpedge catalog diff OLD [NEW | --config FILE], mcpedge catalog rollback URL, mcpedge catalog disable NAME, mcpedge catalog enable NAME, or mcpedge catalog disabled")
}

// statusTrouble is the exit status of mcpedge catalog diff if it could not compare, as that of diff(1).
const statusTrouble = 2

// difference is the error about changes that --fail names.
type difference struct{ count int }

func (d *difference) Error() string {
	return fmt.Sprintf("catalog: %d changes are of a kind that --fail names, or more serious: make a new snapshot if they are intended", d.count)
}

// write runs mcpedge catalog snapshot.
func write(ctx context.Context, args []string, out, stderr io.Writer) error {
	at, rest, err := takeViewer(args)
	if err != nil {
		return err
	}
	now, err := current(ctx, "catalog snapshot", at, rest, stderr)
	if err != nil {
		return err
	}
	return now.Write(out)
}

// viewer is for whom a snapshot is made, and where.
type viewer struct {
	// claims are those of --claims; empty means an anonymous caller.
	claims string
	// set is that of --set; empty means the root with root: all.
	set string
}

// takeViewer takes the last --claims and the last --set out of the arguments.
func takeViewer(args []string) (at viewer, rest []string, err error) {
	rest = args
	for _, f := range []struct {
		flag, want string
		to         *string
	}{{"claims", "the claims of a token, as JSON or a file of it", &at.claims}, {"set", "the name of a set", &at.set}} {
		var given []string
		if given, rest, err = command.Take("catalog", f.flag, f.want, rest); err != nil {
			return at, nil, err
		}
		if len(given) > 0 {
			*f.to = given[len(given)-1]
		}
	}
	return at, rest, nil
}

// diff runs mcpedge catalog diff.
func diff(ctx context.Context, args []string, out, stderr io.Writer) error {
	fail, rest, err := command.Take("catalog", "fail", "the kind of change that fails: breaks, changes, widens, words or never", args)
	if err != nil {
		return err
	}
	least, err := leastOf(fail)
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
	failed := 0
	for _, c := range snapshot.Compare(before, after) {
		_, _ = fmt.Fprintf(out, "%-8s%s %s: %s\n", c.Kind, c.What, c.Name, c.Text)
		if c.Kind >= least {
			failed++
		}
	}
	if failed > 0 {
		return &difference{failed}
	}
	return nil
}

// leastOf returns the least serious kind of changes that fail. given are the values of --fail.
func leastOf(given []string) (snapshot.Kind, error) {
	if len(given) == 0 {
		return snapshot.Breaks, nil
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

// read reads a file of mcpedge catalog snapshot.
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

// current returns what a caller sees of the backends in the settings now.
func current(ctx context.Context, name string, at viewer, args []string, stderr io.Writer) (*snapshot.Snapshot, error) {
	var settings bytes.Buffer
	cfg, err := config.Load(name, args, os.LookupEnv, &settings)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprint(stderr, usage, &settings)
	}
	if err != nil {
		return nil, err
	}
	var who mcp.Principal
	if at.claims != "" {
		if who, err = app.Claimant(&cfg, at.claims); err != nil {
			return nil, fmt.Errorf("catalog: %w", err)
		}
	}
	if err := errors.Join(cfg.NothingServed(), cfg.Unusable()); err != nil {
		return nil, err
	}
	if cfg.ServesDemo() {
		stop, err := demo.Add(context.WithoutCancel(ctx), &cfg, nil)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	now, hidden, err := app.Snapshot(ctx, cfg, at.set, &who)
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	if hidden > 0 {
		text := ""
		if at.claims == "" {
			text = ", who is anonymous: --claims has the claims of another one"
		}
		_, _ = fmt.Fprintf(stderr, "note: the policy hides %d of %d entries from this caller%s\n", hidden, hidden+now.Entries(), text)
	}
	return now, nil
}
