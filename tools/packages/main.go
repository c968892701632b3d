// Command packages creates the packages for npm and PyPI from a built edge: for each platform an
// npm package and a wheel with the program, and the npm package mcpedge, which starts the program
// of the current platform. The packages run nothing during installation.
//
//	packages -version 0.1.0 -out DIR -os linux -arch amd64 -program dist/.../mcpedge
//	packages -version 0.1.0 -out DIR -launcher
//
// Equal inputs give equal files: their times are SOURCE_DATE_EPOCH, in seconds since 1970, or the
// oldest time of the format.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// options are the flags of the command line.
type options struct {
	version  string
	out      string
	launcher bool
	os, arch string
	program  string
	time     time.Time
}

func main() {
	var o options
	flag.StringVar(&o.version, "version", "", "semantic version, without v")
	flag.StringVar(&o.out, "out", ".", "folder that gets the files")
	flag.BoolVar(&o.launcher, "launcher", false, "make the npm package that starts those of the platforms")
	flag.StringVar(&o.os, "os", "", "the program's system, as Go names it")
	flag.StringVar(&o.arch, "arch", "", "the program's processor, as Go names it")
	flag.StringVar(&o.program, "program", "", "the built edge")
	flag.Parse()
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

func run(o *options) error {
	if o.version == "" {
		return errors.New("-version is missing")
	}
	var err error
	if o.time, err = sourceDate(os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	if o.launcher {
		return writeFile(filepath.Join(o.out, npmFile(launcherName, o.version)), func(name string) error { return npmLauncher(name, o) })
	}
	p, err := platformOf(o.os, o.arch)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(o.program)
	if err != nil {
		return fmt.Errorf("-program: %w", err)
	}
	if err := writeFile(filepath.Join(o.out, npmFile(p.npmName(), o.version)), func(name string) error { return npmPlatform(name, o, p, program) }); err != nil {
		return err
	}
	version, err := pythonVersion(o.version)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(o.out, wheelFile(version, p)), func(name string) error { return wheel(name, o, p, version, program) })
}

// sourceDate parses SOURCE_DATE_EPOCH. Empty means the oldest time that a zip file can represent.
func sourceDate(seconds string) (time.Time, error) {
	if seconds == "" {
		return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), nil
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q: want seconds since 1970", seconds)
	}
	return time.Unix(n, 0).UTC(), nil
}

// writeFile calls write, and removes the file if write fails.
func writeFile(name string, write func(name string) error) error {
	err := write(name)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", name, err), os.RemoveAll(name))
	}
	return nil
}

// entry is a file of a package.
type entry struct {
	name       string
	text       []byte
	executable bool
}

func (e entry) mode() int64 {
	if e.executable {
		return 0o755
	}
	return 0o644
}
