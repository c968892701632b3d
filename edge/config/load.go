package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// serve is the command that listens. check validates the same settings. Other commands have no
// flags for listeners, and ignore settings of listeners in the file and the environment.
const (
	serve = "serve"
	check = "check"
	stdio = "stdio"
)

// Ready is the command that asks a running edge. Its only settings are those of the admin address.
const Ready = "ready"

// writesLocks begins the commands that make the file of CatalogLock, and so do not read it.
const writesLocks = "catalog "

// Load reads the settings of a command from its arguments, without the command's name, and from an
// environment lookup such as os.LookupEnv. It writes the help text to usage and returns
// flag.ErrHelp if help was requested. With any
// other error, the settings are those that were read before it, of which only Log is useful.
//
// Errors contain no values of the file and no passwords of URLs: they are printed and logged.
func Load(command string, args []string, lookup func(string) (string, bool), usage io.Writer) (Config, error) {
	cfg, err := load(command, args, lookup, usage)
	return cfg, withoutSecrets(err)
}

func load(command string, args []string, lookup func(string) (string, bool), usage io.Writer) (Config, error) {
	probe := Default()
	probe.origins = new(origins)
	file := ""
	if err := parse(command, &probe, &file, args, lookup, usage); err != nil {
		return probe, err
	}
	if file == "" {
		return probe, probe.Locate(probe.validate(command))
	}
	raw, err := readText(file)
	if err != nil {
		return probe, err
	}
	cfg, misplaced, err := compose(command, file, raw, args, lookup)
	switch {
	case err != nil && cfg.origins == nil:
		return probe, err
	case err != nil:
		return cfg, err
	}
	cfg.origins.taken = raw
	if err := errors.Join(misplaced, cfg.Locate(cfg.validate(command))); err != nil {
		return cfg, err
	}
	if command == Ready {
		return cfg, nil
	}
	if strings.HasPrefix(command, writesLocks) {
		cfg.CatalogLock = nil
	}
	cfg.origins.included = cfg.readIncluded(new(lockReading))
	cfg.takeIncluded(cfg.origins.included, nil)
	return cfg, cfg.Locate(cfg.takeLock(cfg.origins.included))
}

// compose returns the settings of a file's content, the environment and the arguments, without
// validating them. misplaced are the errors of file names. After an error of the content the
// settings have no origins.
func compose(command, file string, raw []byte, args []string, lookup func(string) (string, bool)) (cfg Config, misplaced, err error) {
	cfg = Default()
	text, err := decode(file, raw, &cfg)
	if err != nil {
		return Config{}, nil, err
	}
	if err := parse(command, &cfg, &file, args, lookup, io.Discard); err != nil {
		return cfg, nil, err
	}
	cfg.File = file
	cfg.origins.command = command
	cfg.origins.again = func(raw []byte) (Config, error, error) { return compose(command, file, raw, args, lookup) }
	return cfg, text.misplaced, nil
}

// parse applies the environment and then the arguments.
func parse(command string, c *Config, file *string, args []string, lookup func(string) (string, bool), usage io.Writer) error {
	c.origins.others = map[string]string{}
	if err := parseEnvironment(command, c, file, lookup); err != nil {
		return err
	}
	fs := flags(command, c, file)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(usage)
			fmt.Fprintf(usage, "The flags of mcpedge %s; mcpedge help lists the commands. A flag sets the key in brackets. Every other setting is a key of the file "+
				"and a variable of the environment: calls.stream-after is MCPEDGE_CALLS_STREAM_AFTER. docs/configuration.md lists them.\n", command)
			fs.PrintDefaults()
			return err
		}
		return flagError(command, fs, err, true)
	}
	if file := fs.Arg(0); strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml") {
		return fmt.Errorf("%q is not a flag: did you mean --config %s?", file, file)
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("%q is not a flag: see mcpedge help", fs.Arg(0))
	}
	fs.Visit(func(f *flag.Flag) { c.origins.set(keyOfFlag(f.Name), "--"+f.Name) })
	c.origins.setBackends(c)
	return nil
}

// parseEnvironment applies the variables of the environment. It returns an error for each variable
// of an earlier version.
func parseEnvironment(command string, c *Config, file *string, lookup func(string) (string, bool)) error {
	if name, set := lookup(Variable("config")); set {
		*file = name
	}
	if name, set := lookup(Variable("set")); set && command == stdio {
		c.Set = name
	}
	errs := formerVariables(lookup)
	for _, s := range settings() {
		name := Variable(s.key)
		text, set := lookup(name)
		if !set || command == Ready && !strings.HasPrefix(s.key, "admin.") {
			continue
		}
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		s.register(fs, s.key, c)
		c.origins.set(s.key, name)
		f := fs.Lookup(s.key)
		if err := f.Value.Set(text); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, explainFlagError(f, text, err)))
		} else if err := checkNumber(f, s.key, name); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// flags returns the flag set of a command. It prints nothing: the caller prints the error, once.
func flags(command string, c *Config, file *string) *flag.FlagSet {
	fs := flag.NewFlagSet("mcpedge "+command, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(file, "config", *file, "YAML `file` with settings; flags win over it")
	if command == stdio {
		fs.StringVar(&c.Set, "set", c.Set, "`name` of the set that the client uses; none: what root says")
	}
	for _, t := range twins {
		switch {
		case command == Ready && t.key != "admin.address":
		case t.listens && command != serve && command != check && command != Ready:
		default:
			settingOf(t.key).register(fs, t.flag, c)
		}
	}
	return fs
}

// ReadFile reads a file of settings alone, without environment and flags, and does not validate
// whether an edge could start with it. Its errors are like Load's.
func ReadFile(path string) (Config, error) {
	raw, err := readText(path)
	if err != nil {
		return Default(), withoutSecrets(err)
	}
	c, misplaced, err := fileSettings(path, raw)
	return c, withoutSecrets(errors.Join(misplaced, err))
}

// fileSettings returns the settings of a file's content, without environment and flags. misplaced are the
// errors of file names.
func fileSettings(path string, raw []byte) (c Config, misplaced, err error) {
	c = Default()
	c.File = path
	text, err := decode(path, raw, &c)
	if err != nil {
		return c, nil, err
	}
	return c, text.misplaced, nil
}

// readText reads a file of settings.
func readText(path string) ([]byte, error) {
	raw, err := os.ReadFile(path) // #nosec G304 -- the operator names the file
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return raw, nil
}

// decode reads the content of a file of settings into c. Errors of misplaced files are in the
// source.
func decode(path string, raw []byte, c *Config) (*source, error) {
	text, empty := newSource(path, raw, reflect.TypeFor[Config]())
	c.origins = &text.origins
	if empty {
		return text, nil
	}
	if err := text.decode(raw, c); err != nil {
		return nil, err
	}
	text.setBackends(c)
	text.misplaced = text.place(resolveNames(path, c))
	return text, nil
}

// decode decodes the content of the file into settings. Their type must be the one that was given to newSource.
func (s *source) decode(raw []byte, into any) error {
	if len(s.faults) > 0 {
		return errors.Join(append(s.faults, s.unknownBeside(nil)...)...)
	}
	days := yaml.CustomUnmarshaler(func(d *time.Duration, value []byte) (err error) {
		*d, err = ParseDuration(strings.Trim(strings.TrimSpace(string(value)), `"'`))
		return err
	})
	if err := yaml.UnmarshalWithOptions(raw, into, yaml.Strict(), days); err != nil {
		return errors.Join(append([]error{s.decodeError(err)}, s.unknownBeside(err)...)...)
	}
	return nil
}

// explainFlagError replaces package flag's error about a value by one that describes the valid values.
func explainFlagError(f *flag.Flag, text string, err error) error {
	getter, ok := f.Value.(flag.Getter)
	if !ok {
		return err
	}
	switch getter.Get().(type) {
	case bool:
		return fmt.Errorf("%.40q is neither true nor false", text)
	case int:
		return fmt.Errorf("%.40q is not a whole number", text)
	}
	return err
}
