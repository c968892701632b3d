// Package explain is the command mcpedge policy explain.
package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/command"
	"github.com/mcpedge/mcpedge/edge/command/demo"
	"github.com/mcpedge/mcpedge/edge/config"
)

const usage = `mcpedge policy explain --config FILE --claims JSON|FILE [flags]

Says what the policy decides for a caller on what the backends list now, and by which rule. Lines that begin with note say
what decides beside it: why the edge would refuse the caller, backends that could not be asked, a policy server. Quotas are
not part of the answer: what is allowed is refused when a quota is used up.

  --claims JSON|FILE
        the claims of a token, or a file with them, which are not verified; {} stands for an anonymous caller.
        What the edge would refuse of them, as an issuer that is not configured, is a note; claims that are missing are
        taken to be right
  --api-key NAME
        instead of claims, the name of a key in the file auth.api-keys
  --tool NAME, --prompt NAME, --resource URI
        one tool, prompt or resource, which may be one of a template, or the text of a template; without them, everything
        that is listed
  --set NAME
        the set in which the caller is, with what it has; without it, the root, which has everything
  --arguments JSON
        the arguments of a call of that tool, or of that prompt; without them, a rule that looks at them decides nothing yet

`

// Run prints the policy's decisions for the claims of a token, with their rules, to out, and help
// to stderr. args are the arguments after policy. It returns flag.ErrHelp if help was requested.
func Run(ctx context.Context, args []string, out, stderr io.Writer) error {
	asked := len(args) > 0 && slices.Contains([]string{"-h", "-help", "--help"}, args[0])
	switch {
	case asked:
	case len(args) == 0 || args[0] != "explain":
		return errors.New("policy: write mcpedge policy explain --config FILE --claims JSON|FILE [--tool NAME [--arguments JSON]]")
	default:
		args = args[1:]
	}
	var q app.Question
	var claims, arguments string
	for _, own := range []struct {
		flag  string
		value *string
	}{{"claims", &claims}, {"api-key", &q.APIKey}, {"tool", &q.Tool}, {"prompt", &q.Prompt}, {"resource", &q.Resource}, {"arguments", &arguments}, {"set", &q.Set}} {
		values, rest, err := command.Take("policy", own.flag, "its value", args)
		if err != nil {
			return err
		}
		if args = rest; len(values) > 0 { // the last value is used
			*own.value = values[len(values)-1]
		}
	}
	var settings bytes.Buffer
	cfg, err := config.Load("policy explain", args, os.LookupEnv, &settings)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprint(stderr, usage, &settings)
	}
	if err != nil {
		return err
	}
	q.Arguments = json.RawMessage(arguments)
	switch {
	case q.Tool != "" && q.Prompt != "", q.Tool+q.Prompt != "" && q.Resource != "":
		return errors.New("policy: --tool, --prompt and --resource name one thing: give one of them")
	case arguments != "" && q.Tool+q.Prompt == "":
		return errors.New("policy: --arguments is about one tool or prompt: give --tool NAME or --prompt NAME, too")
	case claims != "" && q.APIKey != "":
		return errors.New("policy: --claims and --api-key are two callers: give one of them")
	case claims == "" && q.APIKey == "":
		return errors.New("policy: --claims is missing: give the claims of a token, as JSON or a file of it; {} stands for an anonymous caller. A caller with an API key is --api-key NAME")
	case claims != "":
		if q.Claims, err = app.ReadClaims(claims); err != nil {
			return fmt.Errorf("policy: %w", err)
		}
	}
	if err := cfg.NothingServed(); err != nil {
		return err
	}
	if cfg.ServesDemo() {
		stop, err := demo.Add(context.WithoutCancel(ctx), &cfg, nil)
		if err != nil {
			return err
		}
		defer stop()
	}
	return app.ExplainPolicy(ctx, cfg, q, out)
}
