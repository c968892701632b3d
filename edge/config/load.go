package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// serve is the command that listens, and check the one that says what it would refuse. The others have no flags about listeners, and pass over
// what the file and the environment say of them.
const (
	serve = "serve"
	check = "check"
)

// Ready is the command that asks a running edge. It knows of nothing but where that one's admin address
// is told.
const Ready = "ready"

// Load reads the settings of one command: the arguments behind its name, and an environment lookup
// such as os.LookupEnv. usage gets the help text. It returns flag.ErrHelp when help was asked for.
//
// Errors show no value of the file and no password of a URL: they are printed and logged.
func Load(command string, args []string, lookup func(string) (string, bool), usage io.Writer) (Config, error) {
	cfg, err := load(command, args, lookup, usage)
	return cfg, redact(err)
}

func load(command string, args []string, lookup func(string) (string, bool), usage io.Writer) (Config, error) {
	probe := Default()
	file := ""
	if err := parse(command, &probe, &file, args, lookup, usage); err != nil {
		return Config{}, err
	}
	cfg := Default()
	if file == "" {
		return probe, probe.validate(command)
	}
	text, err := decodeFile(file, &cfg)
	if err != nil {
		return Config{}, err
	}
	written := cfg
	if err := parse(command, &cfg, &file, args, lookup, io.Discard); err != nil {
		return Config{}, err
	}
	cfg.File = file
	return cfg, text.place(errors.Join(text.misplaced, cfg.validate(command)), Differences(&written, &cfg))
}

// parse applies the environment and then the arguments.
func parse(command string, c *Config, file *string, args []string, lookup func(string) (string, bool), usage io.Writer) error {
	// Environment and flags each replace a list as a whole, so each has its own set of flags.
	env := flags(command, c, file)
	var errs []error
	env.VisitAll(func(f *flag.Flag) {
		name := variable(f.Name)
		if v, ok := lookup(name); ok {
			if err := f.Value.Set(v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fs := flags(command, c, file)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(usage)
			fmt.Fprintf(usage, "The flags of mcpedge %s; mcpedge help lists the commands. Each has a twin in the environment, MCPEDGE_….\n", command)
			fs.PrintDefaults()
			return err
		}
		return flagError(command, fs, err)
	}
	if file := fs.Arg(0); strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml") {
		return fmt.Errorf("%q is no flag: did you mean --config %s?", file, file)
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("%q is no flag: see mcpedge help", fs.Arg(0))
	}
	return nil
}

// Usages are what the flags of `mcpedge serve` say of themselves, by their names. The caller owns the map.
func Usages() map[string]string {
	cfg, file := Default(), ""
	out := map[string]string{}
	flags(serve, &cfg, &file).VisitAll(func(f *flag.Flag) { _, out[f.Name] = flag.UnquoteUsage(f) })
	return out
}

// flags are a command's. They print nothing by themselves: an error is its caller's to print, once.
func flags(command string, c *Config, file *string) *flag.FlagSet {
	fs := flag.NewFlagSet("mcpedge "+command, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(file, "config", *file, "YAML `file` with settings; flags win over it")
	if command == Ready {
		c.admin().register(fs)
		for _, s := range c.AdminTLS.settings("admin-tls", "admin") {
			s.register(fs)
		}
		return fs
	}
	fs.Var(&backends{values: &c.Backends}, "backend", "`NAME=TARGET` of a gRPC backend, repeatable; none, and no --config: the bundled demo")
	if command == serve || command == check {
		fs.Var(&list{values: &c.Origins}, "origin", "`origin` of a browser that may call, repeatable; * allows any")
		fs.Var(&list{values: &c.Hosts}, "host", "`name` the Host header may have, repeatable")
		fs.Var(&list{values: &c.TrustedProxies}, "trusted-proxy", "`address` or network of a proxy that names its clients in X-Forwarded-For or Forwarded, repeatable")
		fs.Var(&list{values: &c.AdminHosts}, "admin-host", "`name` the Host header may have on the admin address, repeatable")
		for _, s := range c.listeners() {
			s.register(fs)
		}
	}
	fs.Var(&list{values: &c.StateKeys}, "state-key", "`key` that seals request states, base64 of 32 bytes, repeatable; replicas share them")
	for _, s := range c.settings() {
		s.register(fs)
	}
	return fs
}

// ReadFile reads a file of settings alone: what the environment and the flags say is not in it, and neither is validated whether an edge could
// start with it. Errors are like Load's.
func ReadFile(path string) (Config, error) {
	c := Default()
	_, err := readFile(path, &c)
	c.File = path
	return c, redact(err)
}

// readFile is decodeFile for settings that are not validated: a name of a file that is misplaced is an error of its own.
func readFile(path string, c *Config) (*source, error) {
	text, err := decodeFile(path, c)
	if err != nil {
		return nil, err
	}
	return text, text.misplaced
}

// decodeFile reads a file of settings into c. What is wrong with names of files is in the source.
func decodeFile(path string, c *Config) (*source, error) {
	raw, err := os.ReadFile(path) // #nosec G304 -- the operator names the file
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	text, empty := newSource(path, raw)
	if empty {
		return text, nil
	}
	if len(text.faults) > 0 {
		return nil, errors.Join(append(text.faults, text.unknownBeside(nil)...)...)
	}
	days := yaml.CustomUnmarshaler(func(d *time.Duration, value []byte) (err error) {
		*d, err = parseDuration(strings.Trim(strings.TrimSpace(string(value)), `"'`))
		return err
	})
	if err := yaml.UnmarshalWithOptions(raw, c, yaml.Strict(), days); err != nil {
		told := withoutValues(inYAML(strings.TrimRight(yaml.FormatError(err, false, true), "\n")))
		if h := text.hint(err); h != "" {
			told += "\n" + h
		}
		return nil, errors.Join(append([]error{fmt.Errorf("config %s: %s", path, told)}, text.unknownBeside(err)...)...)
	}
	text.misplaced = text.place(beside(path, c), nil)
	return text, nil
}
