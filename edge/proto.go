package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/proto"
)

// writeProto writes the files of the contract, from which other teams generate stubs.
func writeProto(args []string) error {
	flags := flag.NewFlagSet("mcpedge proto", flag.ContinueOnError)
	out := flags.String("out", "", "`directory` to write to, made when missing")
	flags.SetOutput(io.Discard) // main prints the error
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(os.Stderr)
		flags.Usage()
		return err
	} else if err != nil {
		return fmt.Errorf("proto: %w", config.FlagError("proto", flags, err))
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
			return os.MkdirAll(target, 0o755) // #nosec G301 -- for a team to read
		}
		data, err := fs.ReadFile(proto.Files, path)
		if err != nil {
			return err
		}
		fmt.Println(target)
		return os.WriteFile(target, data, 0o644) // #nosec G306 -- for a team to read
	})
}
