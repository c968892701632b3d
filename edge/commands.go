package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpedge/mcpedge/edge/admin"
	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/proto"
)

// check validates the settings and prints what each backend serves and what breaks the contract.
func check(ctx context.Context, args []string) error {
	cfg, err := config.Load("check", args, os.LookupEnv, os.Stderr)
	if err != nil {
		return err
	}
	if len(cfg.Backends) == 0 {
		return errors.New("check: no backend: name one with --backend NAME=TARGET or in the configuration file")
	}
	backends, err := app.Backends(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	var errs []error
	for _, b := range backends {
		if err := backend.Check(ctx, b, os.Stdout); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// readyWithin bounds how long `mcpedge ready` waits for an answer.
const readyWithin = 3 * time.Second

// ready asks a running edge, by its own setting of the admin address, whether it is ready: a health
// check for images that have no shell.
func ready(ctx context.Context, args []string) error {
	cfg, err := config.Load(config.Ready, args, os.LookupEnv, os.Stderr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	return admin.Ask(ctx, cfg.Admin)
}

// writeProto writes the contract's files for teams that generate stubs.
func writeProto(args []string) error {
	flags := flag.NewFlagSet("mcpedge proto", flag.ContinueOnError)
	out := flags.String("out", "", "`directory` to write to, made when missing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" {
		return errors.New("proto: --out DIR is missing")
	}
	return fs.WalkDir(proto.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(*out, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := fs.ReadFile(proto.Files, path)
		if err != nil {
			return err
		}
		fmt.Println(target)
		return os.WriteFile(target, data, 0o644)
	})
}
