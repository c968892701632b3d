package main

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
	"strings"

	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
)

const explainUsage = `mcpedge policy explain --config FILE --claims FILE [flags]

Says what the policy decides for a caller on what the backends list now, and by which rule.

  --claims FILE
        the claims of a token, as JSON, which is not verified; {} stands for an anonymous caller
  --tool NAME
        one tool; without it, everything that there is
  --arguments JSON
        the arguments of a call of that tool; without them, a rule that looks at them decides nothing yet

`

// explainPolicy prints to out what the policy decides for the claims of a token, and by which rule; help to stderr.
func explainPolicy(ctx context.Context, args []string, out, stderr io.Writer) error {
	asked := len(args) > 0 && slices.Contains([]string{"-h", "-help", "--help"}, args[0])
	switch {
	case asked:
	case len(args) == 0 || args[0] != "explain":
		return errors.New("policy: write mcpedge policy explain --config FILE --claims FILE [--tool NAME [--arguments JSON]]")
	default:
		args = args[1:]
	}
	file, args, err := takeValue("claims", args)
	if err != nil {
		return err
	}
	tool, args, err := takeValue("tool", args)
	if err != nil {
		return err
	}
	arguments, args, err := takeValue("arguments", args)
	if err != nil {
		return err
	}
	var settings bytes.Buffer
	cfg, err := config.Load("policy explain", args, os.LookupEnv, &settings)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprint(stderr, explainUsage, &settings)
	}
	if err != nil {
		return err
	}
	if arguments != "" && tool == "" {
		return errors.New("policy: --arguments is about one tool: give --tool NAME, too")
	}
	if file == "" {
		return errors.New("policy: --claims FILE is missing: give the claims of a token, as JSON; {} stands for an anonymous caller")
	}
	raw, err := os.ReadFile(file) // #nosec G304 G703 -- the operator names the file
	if err != nil {
		return fmt.Errorf("policy: --claims: %w", err)
	}
	var claims map[string]json.RawMessage
	if err := json.Unmarshal(raw, &claims); err != nil || claims == nil {
		return fmt.Errorf("policy: --claims %s: it is no JSON object: give the claims of a token, decoded", file)
	}
	if !cfg.HasBackends() || cfg.Demo {
		stop, err := addBundled(context.WithoutCancel(ctx), &cfg, nil)
		if err != nil {
			return err
		}
		defer stop()
	}
	return app.ExplainPolicy(ctx, cfg, raw, tool, json.RawMessage(arguments), out)
}

// takeValue takes a flag that is no setting, with its value, out of arguments. The last one counts.
func takeValue(flag string, args []string) (value string, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		given, found := strings.CutPrefix("-"+strings.TrimLeft(args[i], "-"), "-"+flag+"=")
		switch {
		case found && strings.HasPrefix(args[i], "-"):
			value = given
		case args[i] != "--"+flag && args[i] != "-"+flag:
			rest = append(rest, args[i])
		case i+1 == len(args):
			return "", nil, fmt.Errorf("--%s lacks its value", flag)
		default:
			i++
			value = args[i]
		}
	}
	return value, rest, nil
}
