package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpedge/mcpedge/proto"
)

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
