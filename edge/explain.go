package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
)

// explainPolicy prints to out what the policy decides for the claims of a token, and by which rule.
func explainPolicy(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 || args[0] != "explain" {
		return errors.New("policy: write mcpedge policy explain --config FILE --claims FILE [--tool NAME]")
	}
	file, args, err := takeValue("claims", args[1:])
	if err != nil {
		return err
	}
	tool, args, err := takeValue("tool", args)
	if err != nil {
		return err
	}
	cfg, err := config.Load("policy explain", args, os.LookupEnv, os.Stderr)
	if err != nil {
		return err
	}
	if file == "" {
		return errors.New("policy: --claims FILE is missing: give the claims of a token, as JSON; {} stands for an anonymous caller")
	}
	raw, err := os.ReadFile(file) // #nosec G304 G703 -- the operator names the file
	if err != nil {
		return fmt.Errorf("policy: --claims: %w", err)
	}
	var claims map[string]any
	if err := json.Unmarshal(raw, &claims); err != nil || claims == nil {
		return fmt.Errorf("policy: --claims %s: it is no JSON object: give the claims of a token, decoded", file)
	}
	if len(cfg.Backends) == 0 || cfg.Demo {
		stop, err := addBundled(context.WithoutCancel(ctx), &cfg, nil)
		if err != nil {
			return err
		}
		defer stop()
	}
	return app.ExplainPolicy(ctx, cfg, claims, tool, out)
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
