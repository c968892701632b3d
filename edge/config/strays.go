package config

import (
	"flag"
	"regexp"
	"slices"
	"strings"
)

// environment is the prefix of the variables that are settings.
const environment = "MCPEDGE_"

// ofServices matches the variables that Kubernetes and Docker set for services and links whose
// names begin with mcpedge.
var ofServices = regexp.MustCompile(`^MCPEDGE(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?)?|NAME)$`)

// Strays returns a note for each variable that looks like a setting and is none. environ has the
// form of os.Environ.
func Strays(environ []string) (notes []string) {
	var c Config
	var known []string
	for _, command := range []string{serve, stdio} {
		flags(command, &c, new(string)).VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, environment) || slices.ContainsFunc(known, func(flag string) bool { return variable(flag) == name }) || ofServices.MatchString(name) {
			continue
		}
		note := name + " is set, and no setting has this variable"
		if meant := Nearest(strings.TrimPrefix(name, environment), known); meant != "" {
			note += ": " + variable(meant) + " may be meant"
		}
		notes = append(notes, note)
	}
	slices.Sort(notes)
	return notes
}

// variable returns the environment variable of a flag.
func variable(flag string) string {
	return environment + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
