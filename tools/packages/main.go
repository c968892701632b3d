// Command packages makes what npm and PyPI take of a built edge: for each platform an npm package with the program and a wheel that
// installs it, and one npm package, mcpedge, that starts the program of the platform it is on. Nothing is run when they are installed.
//
//	packages -version 0.1.0 -out DIR -os linux -arch amd64 -program dist/.../mcpedge
//	packages -version 0.1.0 -out DIR -launcher
//
// The files are the same whenever they are made, as the inputs are: they carry the time of SOURCE_DATE_EPOCH, in seconds since 1970, or
// none.
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

// options are the command line.
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

// sourceDate reads SOURCE_DATE_EPOCH; without it, it is the oldest time that a zip can say.
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

// writeFile has a file written, and takes it away where that fails.
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
