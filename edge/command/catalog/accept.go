package catalog

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// accept runs mcpedge catalog accept. It replaces the whole file, or does not change it.
func accept(args []string, out, stderr io.Writer) error {
	if slices.ContainsFunc(args, func(arg string) bool { return slices.Contains([]string{"-h", "-help", "--help"}, arg) }) {
		_, _ = fmt.Fprint(stderr, usage)
		return flag.ErrHelp
	}
	if len(args) < 3 || slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") }) {
		return errors.New("catalog: write mcpedge catalog accept LOCK NEW TOOL... with the file of a lock, a new file of mcpedge catalog snapshot, and the tools to be accepted")
	}
	locked, err := read(args[0])
	if err != nil {
		return err
	}
	now, err := read(args[1])
	if err != nil {
		return err
	}
	var done []string
	for _, name := range args[2:] {
		what, err := locked.Accept(now, name)
		if err != nil {
			return fmt.Errorf("catalog: %w; %s is unchanged", err, args[0])
		}
		done = append(done, what)
	}
	var text bytes.Buffer
	if err := errors.Join(locked.Write(&text), replace(args[0], text.Bytes())); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	for _, what := range done {
		_, _ = fmt.Fprintln(out, what)
	}
	return nil
}

// replace replaces the content of a file atomically.
func replace(file string, content []byte) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	fresh, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = fresh.Write(content)
	if err = errors.Join(err, fresh.Chmod(info.Mode().Perm()), fresh.Close()); err == nil {
		err = os.Rename(fresh.Name(), file)
	}
	if err != nil {
		_ = os.Remove(fresh.Name())
	}
	return err
}
