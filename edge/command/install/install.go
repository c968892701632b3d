// Package install is the command mcpedge install. It prints the entry with which a host uses an
// edge, or writes it to the host's file.
package install

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
)

const usage = `mcpedge install HOST [flags] [-- flags of mcpedge stdio]

Prints what the configuration of a host, a program that uses MCP servers, needs to use this edge, and which file it belongs to. With --write,
it adds it to the file: everything else there stays, comments included, and the file as it was stays beside it, with the ending .bak.

Hosts: %s

`

// defaultURL is the URL of the MCP endpoint of mcpedge serve with default settings.
const defaultURL = "http://127.0.0.1:8080/mcp"

// request is a parsed command line.
type request struct {
	host             host
	entry            entry
	file             string
	project          bool
	write, overwrite bool
}

// Run runs mcpedge install. It prints the entry, or a report of what it has written, to out, and
// help and advice to stderr. It returns flag.ErrHelp if help was requested.
func Run(args []string, out, stderr io.Writer) error {
	r, err := parse(args, stderr)
	if err != nil {
		return err
	}
	v, err := r.values()
	if err != nil {
		return err
	}
	if r.entry.tokenEnv != "" && isExposed(r.entry.url) {
		fmt.Fprintf(stderr, "Warning: %s will send the token to %s without encryption: use https beyond this machine\n", r.host.title, r.entry.url)
	}
	if !r.write {
		fmt.Fprintf(stderr, "%s reads this from %s; --write adds it there:\n\n", r.host.title, r.file)
		if _, err := out.Write(r.host.format.block(r.host.section, r.entry.name, v)); err != nil {
			return err
		}
		fmt.Fprint(stderr, "\n", r.advice())
		return nil
	}
	backup, err := r.add(v)
	if err != nil {
		return errorf("%s: %w", r.file, err)
	}
	switch {
	case backup == unchanged:
		fmt.Fprintf(out, "%s has this entry already\n", r.file)
	case backup == "":
		fmt.Fprintf(out, "%s is new\n", r.file)
	default:
		fmt.Fprintf(out, "%s has the entry %s now; %s is the file as it was\n", r.file, r.entry.name, backup)
	}
	fmt.Fprint(out, r.advice())
	return nil
}

// advice returns the lines with the user's next steps.
func (r *request) advice() string {
	var lines []string
	if !r.host.tried {
		lines = append(lines, "This form is from the documentation of "+r.host.title+"; it was not tried\n")
	}
	switch {
	case r.entry.clientID != "":
		lines = append(lines, r.clientAdvice())
	case r.entry.tokenEnv != "":
		lines = append(lines, fmt.Sprintf("Start %s with %s in its environment\n", r.host.title, r.entry.tokenEnv))
	case r.entry.url != "":
		lines = append(lines, "If the edge wants a login: "+r.named(r.host.login)+"\n")
	}
	return strings.Join(append(lines, "To see that it is connected: "+r.host.checkHelp+"\n"), "")
}

// errorf returns an error of the command.
func errorf(format string, args ...any) error { return fmt.Errorf("install: "+format, args...) }

// nameRule matches names of servers that all hosts accept, and that need no quotes in TOML.
var nameRule = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// clientRule matches ids of clients that RFC 6749 permits.
var clientRule = regexp.MustCompile(`^[\x20-\x7e]{1,512}$`)

// variableRule matches names of environment variables that shells accept.
var variableRule = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func parse(args []string, stderr io.Writer) (*request, error) {
	r := &request{}
	flags := flag.NewFlagSet("install", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.StringVar(&r.entry.url, "url", defaultURL, "`URL` of the edge, of a set of it, or of its load balancer")
	flags.StringVar(&r.entry.name, "name", "mcpedge", "`name` of the server in the host, which models see before each tool")
	flags.StringVar(&r.entry.tokenEnv, "token-env", "", "environment `variable` from which the host reads the access token or API key; the value is never written")
	flags.StringVar(&r.entry.clientID, "client-id", "", "`ID` of the OAuth client that the edge's issuer has for the host, if the host cannot register itself there")
	flags.IntVar(&r.entry.callbackPort, "callback-port", 0, "`port` of the redirect of that client, where the host takes one")
	flags.StringVar(&r.file, "file", "", "`file` to use instead of the user's")
	flags.BoolVar(&r.project, "project", false, "use the file of the project in the working directory instead of the user's")
	flags.BoolVar(&r.write, "write", false, "add the entry to the file")
	flags.BoolVar(&r.overwrite, "replace", false, "replace another entry of the same name")
	stdio := flags.Bool("stdio", false, "let the host start mcpedge stdio, with the flags after --, instead of connecting to a URL")
	var operands, rest []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, rest = args[:i], args[i+1:]
	}
	for len(args) > 0 {
		switch err := flags.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			fmt.Fprintf(stderr, usage, strings.Join(names(), ", "))
			flags.SetOutput(stderr)
			flags.PrintDefaults()
			return nil, err
		case err != nil:
			return nil, errorf("%w", config.FlagError("install", flags, err))
		}
		if args = flags.Args(); len(args) > 0 {
			operands, args = append(operands, args[0]), args[1:]
		}
	}
	if len(operands) != 1 {
		return nil, errorf("%d arguments: write mcpedge install HOST, with one of %s", len(operands), strings.Join(names(), ", "))
	}
	var known bool
	if r.host, known = hostNamed(operands[0]); !known {
		if meant := config.Nearest(operands[0], names()); meant != "" {
			return nil, errorf("%q is not a known host: did you mean %s?", operands[0], meant)
		}
		return nil, errorf("%q is not a known host: it has %s", operands[0], strings.Join(names(), ", "))
	}
	return r, r.check(flags, *stdio, rest)
}

// check validates the flags, and completes r.entry and r.file.
func (r *request) check(flags *flag.FlagSet, stdio bool, rest []string) error {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	e := &r.entry
	switch {
	case !nameRule.MatchString(e.name):
		return errorf("--name %q: use 1 to 64 letters, digits, - and _", e.name)
	case e.tokenEnv != "" && !variableRule.MatchString(e.tokenEnv):
		return errorf("--token-env takes the name of an environment variable, as MCPEDGE_TOKEN, and not the token")
	case stdio && (given["url"] || given["token-env"] || given["client-id"]):
		return errorf("--stdio starts an edge beside the host: it takes neither --url, --token-env nor --client-id")
	case given["client-id"] && !clientRule.MatchString(e.clientID):
		return errorf("--client-id %q: give the id of the client at the issuer, of printable ASCII characters", e.clientID)
	case given["client-id"] && e.tokenEnv != "":
		return errorf("--client-id logs in with OAuth, and --token-env sends a key: give one")
	case given["callback-port"] && e.clientID == "":
		return errorf("--callback-port is for the client of --client-id: give both, or neither")
	case given["callback-port"] && (e.callbackPort < 1024 || e.callbackPort > 65535):
		return errorf("--callback-port %d: give a port from 1024 to 65535", e.callbackPort)
	case !stdio && len(rest) > 0:
		return errorf("flags after -- are those of mcpedge stdio: give --stdio as well")
	case given["file"] && r.project:
		return errorf("--file and --project both name a file: give one")
	case r.overwrite && !r.write:
		return errorf("--replace is for --write: give both, or neither")
	case r.project && r.host.project == "":
		return errorf("%s has no file for a project: leave --project out", r.host.title)
	}
	if stdio {
		program, err := os.Executable()
		if err != nil {
			return errorf("the path of this program: %w", err)
		}
		if rest, err = stdioArgs(rest); err != nil {
			return err
		}
		e.url, e.command, e.args = "", program, append([]string{"stdio"}, rest...)
	} else if err := checkURL(e.url); err != nil {
		return err
	}
	return r.locate()
}

// stdioArgs returns the arguments of mcpedge stdio for a host. The host may start the program in
// another directory, so the file of --config becomes absolute. It returns the error of mcpedge
// stdio for invalid arguments or settings. Variables of the environment are those of this command,
// because the host's are not known.
func stdioArgs(args []string) ([]string, error) {
	c, err := config.Load("stdio", args, os.LookupEnv, io.Discard)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		return nil, errorf("mcpedge stdio does not start with the flags after --: %w", err)
	}
	if c.File == "" {
		return args, nil
	}
	file, err := filepath.Abs(c.File)
	if err != nil {
		return nil, errorf("--config %s: %w", c.File, err)
	}
	args = slices.Clone(args)
	for i, arg := range args {
		switch flag, _, joined := strings.Cut(arg, "="); {
		case flag != "--config" && flag != "-config":
		case joined:
			args[i] = flag + "=" + file
		case i+1 < len(args):
			args[i+1] = file
		}
	}
	return args, nil
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errorf("--url %q: give an http or https URL, as %s", text, defaultURL)
	case u.User != nil:
		return errorf("--url has a user: credentials belong to --token-env")
	}
	return nil
}

// isExposed reports whether requests to a URL leave this machine without encryption.
func isExposed(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.IsLoopback()
}

// locate sets r.file.
func (r *request) locate() error {
	switch {
	case r.file != "":
	case r.project:
		r.file = filepath.FromSlash(r.host.project)
	default:
		dir, err := os.UserHomeDir()
		if err != nil {
			return errorf("the home of the user: %w: give --file", err)
		}
		r.file = r.host.user(home{dir: dir, env: os.Getenv})
	}
	return nil
}

// values returns the entry in the host's form.
func (r *request) values() (values, error) {
	h, e := r.host, r.entry
	if e.url == "" {
		return h.local(e), nil
	}
	if h.remote == nil {
		return nil, errorf("the file of %s takes no URL: %s", h.title, h.remoteHelp)
	}
	v := h.remote(e)
	switch {
	case e.clientID != "":
		return r.withClient(v)
	case e.tokenEnv == "":
	case h.variableMember != "":
		v[h.variableMember] = e.tokenEnv
	case h.token != nil:
		headers := values{"Authorization": "Bearer " + h.token(e.tokenEnv)}
		if h.headersIn != "" {
			v[h.headersIn] = values{"headers": headers}
		} else {
			v["headers"] = headers
		}
	default:
		return nil, errorf("%s reads no environment variables in its file: leave --token-env out, and write the header Authorization there by hand, or use OAuth", h.title)
	}
	return v, nil
}

// unchanged is the name of the backup if the file already had the entry.
const unchanged = "-"

// add adds the entry to the file. backup is the name of a copy of the previous file; empty for a
// new file.
func (r *request) add(v values) (backup string, _ error) {
	h := r.host
	file, before, err := read(r.file)
	if err != nil {
		return "", err
	}
	if !file.exists && h.wantsFile != "" {
		return "", fmt.Errorf("it does not exist: %s", h.wantsFile)
	}
	after, err := h.format.merge(before, h.section, r.entry.name, v, r.overwrite)
	switch {
	case errors.Is(err, errThere):
		return "", err
	case err != nil:
		return "", fmt.Errorf("%w: it was left as it is; add this by hand:\n%s", err, bytes.TrimSpace(h.format.block(h.section, r.entry.name, v)))
	case file.exists && bytes.Equal(before, after):
		return unchanged, nil
	}
	return file.replace(before, after, r.project, time.Now())
}
