// Package check is the command mcpedge check.
package check

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/app"
	prober "github.com/mcpedge/mcpedge/edge/check"
	"github.com/mcpedge/mcpedge/edge/command"
	"github.com/mcpedge/mcpedge/edge/command/demo"
	"github.com/mcpedge/mcpedge/edge/config"
)

// Run validates the settings and calls every RPC of each backend. It prints the served objects, the
// violations of the contract and, at the end, the notes about the settings to out, and help to
// stderr. It returns flag.ErrHelp if help was requested.
func Run(ctx context.Context, args []string, out, stderr io.Writer) error {
	strict, args := takeSwitch("strict", args)
	budget, args, err := takeBudget(args)
	if err != nil {
		return err
	}
	alone, args := takeSwitch("offline", args)
	cfg, trial, err := settingsOf(args, stderr)
	if err != nil {
		return err
	}
	notes := &notes{to: out}
	switch {
	case alone && (budget > 0 || len(trial.Calls)+len(trial.Answers) > 0):
		return errors.New("check: --offline asks no backend: leave out --budget, --call and --answer, or --offline")
	case alone:
		err = offline(ctx, cfg, notes)
	default:
		err = run(ctx, cfg, trial, budget, notes)
	}
	err = errors.Join(err, cfg.Unusable())
	notes.conclude(cfg.Locator())
	err = cfg.Locate(err)
	if err == nil && strict && len(notes.held) > 0 {
		return fmt.Errorf("check: there are %d notes about the settings, and --strict takes none", len(notes.held))
	}
	return err
}

// takeSwitch removes a flag without a value from the arguments of check. given reports whether it
// was present.
func takeSwitch(name string, args []string) (given bool, rest []string) {
	is := func(arg string) bool { return arg == "--"+name || arg == "-"+name }
	return slices.ContainsFunc(args, is), slices.DeleteFunc(slices.Clone(args), is)
}

// offline checks the settings and the files that they name. It opens no connection.
func offline(ctx context.Context, cfg config.Config, out io.Writer) error {
	files := errors.Join(app.CheckTLS(cfg, out), app.CheckAuthFiles(cfg, out), app.CheckAudit(cfg, out), app.CheckIdentity(cfg, out), app.CheckDescriptors(ctx, cfg, out), app.CheckServiceMetadata(cfg))
	printNotes(&cfg, out)
	_, _ = fmt.Fprintln(out, "info    backends, issuers, the policy server and Redis are not asked: run check without --offline where they can be reached")
	if files != nil {
		return files
	}
	if _, err := app.Backends(cfg, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	return cfg.NothingServed()
}

// run checks the settings and their backends. Unless budget is 0, it also checks the tokens of the
// tools.
func run(ctx context.Context, cfg config.Config, trial *prober.Trial, budget int, out io.Writer) error {
	files, issuers := errors.Join(app.CheckTLS(cfg, out), app.CheckServiceMetadata(cfg)), errors.Join(app.CheckAuth(ctx, cfg, out), app.CheckAudit(cfg, out), app.CheckIdentity(cfg, out), app.CheckRedis(ctx, cfg, out))
	app.ReportExternal(cfg, out)
	app.ReportHooks(cfg, out)
	printNotes(&cfg, out)
	written := cfg // the settings as they were read, without the demo
	if cfg.Demo {
		stop, err := demo.Add(context.WithoutCancel(ctx), &cfg, nil)
		if err != nil {
			return err
		}
		defer stop()
	}
	switch {
	case len(cfg.Backends) > 0:
	case cfg.Kubernetes != nil:
		_, _ = fmt.Fprintln(out, "info    all backends are discovered in Kubernetes: check does not read them")
	case cfg.File == "":
		return errors.Join(files, issuers, errors.New("check: no backend: name one with --backend NAME=TARGET or in the configuration file"))
	default:
		return errors.Join(files, issuers, prober.All(ctx, nil, trial, out), cfg.NothingServed())
	}
	backends, err := app.Backends(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return errors.Join(issuers, cmp.Or(files, err))
	}
	preview := app.Preview(cfg)
	trial.Pages = preview.Of
	trial.Documents, trial.Document = preview.Documents, preview.AddDocument
	trial.Curate = curation(&cfg, &trial.Caller)
	err = prober.All(ctx, backends, trial, out)
	for _, note := range written.Unclaimed(preview.Serves) {
		_, _ = fmt.Fprintln(out, "note    "+note)
	}
	mistakes := app.ReportPreview(cfg, preview, preview.Complete(len(backends)) && cfg.Kubernetes == nil, out)
	err = errors.Join(err, preview.Faults(), mistakes)
	if budget > 0 {
		err = errors.Join(err, checkBudget(&cfg, preview, budget, out))
	}
	return errors.Join(files, issuers, err)
}

// printNotes writes to out the notes on the settings that need no backends. They include the
// warnings of a starting edge, and facts that are not mistakes.
func printNotes(cfg *config.Config, out io.Writer) {
	var notes []string
	for _, w := range app.Warnings(*cfg) {
		notes = append(notes, w.Setting)
	}
	for _, note := range slices.Concat(notes, config.Strays(os.Environ())) {
		_, _ = fmt.Fprintln(out, notePrefix+note)
	}
	for _, text := range cfg.OpenAdmin() {
		_, _ = fmt.Fprintln(out, "info    "+text)
	}
}

// trialUsage is the help for check and for the flags that command.Take removes. Package flag prints
// the help for the settings after it.
const trialUsage = `mcpedge check [flags]

Calls every RPC of the backends, up to 8 of them side by side, prints what they serve and what breaks the contract, and last what is to be
noted about the settings. The exit status is 1 if anything breaks the contract or cannot be used. A backend that does not answer is waited for
up to 10 s, and one where attempts to connect fail at once, as where nothing listens, for 2 s.

  -call NAME=JSON
    	also calls the tool NAME, as clients see it, with its prefix, which need not be marked read-only, with these
    	arguments; again with others: each is a call
  -answer KEY=JSON
    	answers the question KEY that a tool asks, once for each key: what the form asks for, as '{"sure":true}', or
    	'{"action":"decline"}'; without one it is declined
  -claims JSON|FILE
    	the claims of a token, or a file with them, which are not verified: calls are then made as that caller; without
    	them, as an anonymous one. A token of the backend's own, identity: exchange, is not got for it
  -api-key NAME
    	instead of claims, the name of a key in the file auth.api-keys: calls are then made as its caller
  -timeout DURATION
    	the longest time of a call's round, where the backend's own timeout is not shorter (default 10s)
  -schemas
    	names each place where a tool's schema breaks the rules of a model interface, which else are counted
  -budget TOKENS
    	prints about how many tokens of a model's context each tool takes in the list of the root and of each set; the exit
    	status is 1 if one of these lists takes more
  -offline
    	looks at the settings and the files that they name alone, and opens no connection: for CI that reaches no backend
  -strict
    	a note about the settings is a mistake, too: the exit status is 1 if there is any, as that a rule names a tool
    	which no backend has, or that a tool differs from the catalog-lock. Lines of info are none

`

// settingsOf parses the arguments of check. It writes the help to usage, and returns flag.ErrHelp
// if help was requested.
func settingsOf(args []string, usage io.Writer) (cfg config.Config, trial *prober.Trial, err error) {
	trial = &prober.Trial{Calls: map[string][]string{}, Answers: map[string]string{}}
	trial.Schemas, args = takeSwitch("schemas", args)
	calls, args, err := takePairs("call", "NAME=JSON, a tool and its arguments", args)
	if err != nil {
		return cfg, nil, err
	}
	for _, c := range calls {
		trial.Calls[c.name] = append(trial.Calls[c.name], c.json)
	}
	answers, args, err := takePairs("answer", "KEY=JSON, the key of a question and its answer", args)
	if err != nil {
		return cfg, nil, err
	}
	for _, a := range answers {
		if first, twice := trial.Answers[a.name]; twice {
			return cfg, nil, fmt.Errorf("check: --answer %s is given twice, as %.80q and %.80q: give one, and run check again for the other", a.name, first, a.json)
		}
		trial.Answers[a.name] = a.json
	}
	if trial.Timeout, args, err = takeTimeout(args); err != nil {
		return cfg, nil, err
	}
	claims, args, err := command.TakeLast("check", "claims", "the claims of a token, as JSON or a file of it", args)
	if err != nil {
		return cfg, nil, err
	}
	key, args, err := command.TakeLast("check", "api-key", "the name of a key in the file auth.api-keys", args)
	if err != nil {
		return cfg, nil, err
	}
	var settings bytes.Buffer
	if cfg, err = config.Load("check", args, os.LookupEnv, &settings); errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprint(usage, trialUsage, &settings)
	}
	if err == nil {
		if trial.Caller, err = app.Caller(&cfg, claims, key); err != nil {
			return cfg, nil, fmt.Errorf("check: %w", err)
		}
	}
	return cfg, trial, err
}

// pair is a value of --call or --answer: a name and JSON.
type pair struct{ name, json string }

// takePairs removes a repeatable flag with a name and JSON, --call or --answer, from the arguments
// of check. It returns the values in order.
func takePairs(flag, want string, args []string) (pairs []pair, rest []string, err error) {
	values, rest, err := command.Take("check", flag, want, args)
	if err != nil {
		return nil, nil, err
	}
	for _, value := range values {
		name, text, found := strings.Cut(value, "=")
		if !found || name == "" {
			return nil, nil, fmt.Errorf("check: --%s %q: give %s", flag, value, want)
		}
		pairs = append(pairs, pair{name, text})
	}
	return pairs, rest, nil
}

// takeTimeout removes --timeout from the arguments of check and returns its last value. 0 means
// that it is absent.
func takeTimeout(args []string) (timeout time.Duration, rest []string, err error) {
	const want = "a duration above 0, as 2m"
	values, rest, err := command.Take("check", "timeout", want, args)
	if err != nil || len(values) == 0 {
		return 0, rest, err
	}
	last := values[len(values)-1]
	if timeout, err = config.ParseDuration(last); err != nil {
		return 0, nil, fmt.Errorf("check: --timeout: %w", err)
	}
	if timeout <= 0 {
		return 0, nil, fmt.Errorf("check: --timeout %q: give %s", last, want)
	}
	return timeout, rest, nil
}
