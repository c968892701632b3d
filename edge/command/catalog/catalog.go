// Package catalog is the command mcpedge catalog. It writes and compares snapshots for reviews and
// CI, rolls the catalog back, and disables tools, backends and sets.
package catalog

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/catalog/snapshot"
	"github.com/mcpedge/mcpedge/edge/command"
	"github.com/mcpedge/mcpedge/edge/command/client"
	"github.com/mcpedge/mcpedge/edge/command/demo"
	"github.com/mcpedge/mcpedge/edge/config"
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
        What was there and what is there is below it, with escapes in place of what cannot be seen
        The exit status is 0 if there is no change of the kind of --fail (breaks, changes, widens, words or never; breaks is
        the default) or of a more serious one, 1 if there is one, and 2 if they could not be compared
mcpedge catalog diff --lock OLD [NEW] [flags]
        says how the tools differ as their backends list them, hidden ones included: what catalog-lock compares. Everything that
        differs fails, unless --fail is given. The name of a tool is that of its backend, a slash and its own
mcpedge catalog accept LOCK NEW TOOL...
        writes what the snapshot NEW has of these tools into the file of a lock, and nothing else. TOOL is BACKEND/TOOL, as diff
        --lock has it, or the tool's own name where one backend alone has it
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
  --api-key NAME
        instead of claims, the name of a key in the file auth.api-keys
  --set NAME
        the set at whose endpoint the caller is: snapshot has what clients see there, with the tools of the edge itself and,
        of a set with search, also the tools that find_tools finds; diff without NEW has the set of OLD unless it is given.
        Without it a snapshot has what /mcp shows with root: all

`

// Run runs mcpedge catalog. It prints results to out and help to stderr. args are the arguments
// after catalog. It returns flag.ErrHelp if help was requested.
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
	case "accept":
		return accept(args, out, stderr)
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
	return errors.New("catalog: write mcpedge catalog snapshot --config FILE, mcpedge catalog diff [--lock] OLD [NEW | --config FILE], mcpedge catalog accept LOCK NEW TOOL, mcpedge catalog rollback URL, mcpedge catalog disable NAME, " +
		"mcpedge catalog enable NAME, or mcpedge catalog disabled")
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

// viewer is the caller for whom a snapshot is made, and the set that the caller uses.
type viewer struct {
	// claims and apiKey are the values of --claims and --api-key. Both are empty for an anonymous
	// caller.
	claims, apiKey string
	// set is the value of --set. Empty means the root with root: all.
	set string
}

// takeViewer removes the flags of a viewer from the arguments.
func takeViewer(args []string) (at viewer, rest []string, err error) {
	rest = args
	for _, f := range []struct {
		flag, want string
		to         *string
	}{
		{"claims", "the claims of a token, as JSON or a file of it", &at.claims}, {"api-key", "the name of a key in the file auth.api-keys", &at.apiKey},
		{"set", "the name of a set", &at.set},
	} {
		if *f.to, rest, err = command.TakeLast("catalog", f.flag, f.want, rest); err != nil {
			return at, nil, err
		}
	}
	return at, rest, nil
}

// current returns a snapshot of what a caller sees of the backends in the settings.
func current(ctx context.Context, name string, at viewer, args []string, stderr io.Writer) (*snapshot.Snapshot, error) {
	var settings bytes.Buffer
	cfg, err := config.Load(name, args, os.LookupEnv, &settings)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprint(stderr, usage, &settings)
	}
	if err != nil {
		return nil, err
	}
	who, err := app.Caller(&cfg, at.claims, at.apiKey)
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
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
		if at.claims == "" && at.apiKey == "" {
			text = ", who is anonymous: --claims has the claims of another one, --api-key the name of its key"
		}
		_, _ = fmt.Fprintf(stderr, "note: the policy hides %d of %d entries from this caller%s\n", hidden, hidden+now.Entries(), text)
	}
	return now, nil
}
