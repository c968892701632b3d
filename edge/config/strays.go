package config

import (
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
	known := variables()
	var lower []string // as Nearest compares
	for name := range known {
		lower = append(lower, strings.ToLower(name))
	}
	slices.Sort(lower)
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, environment) || known[name] || ofServices.MatchString(name) {
			continue
		}
		note := name + " is set, and no setting has this variable"
		if meant := Nearest(name, lower); meant != "" {
			note += ": " + strings.ToUpper(meant) + " may be meant"
		}
		notes = append(notes, note)
	}
	slices.Sort(notes)
	return notes
}

// variables returns the variables of the environment that are settings.
func variables() map[string]bool {
	out := map[string]bool{Variable("config"): true, Variable("set"): true}
	for _, s := range settings() {
		out[Variable(s.key)] = true
	}
	return out
}
