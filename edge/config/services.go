package config

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// servicePattern matches the patterns of names of discovered backends.
var servicePattern = regexp.MustCompile(`^[a-z0-9*-]{1,63}/[a-z0-9*-]{1,63}$`)

// maxServiceEntries bounds Kubernetes.Backends, because each entry is compared with the others and
// with each Service.
const maxServiceEntries = 1000

// matchesService reports whether the valid pattern of an entry of Kubernetes.Backends matches a
// name.
func matchesService(pattern, name string) bool {
	matches, err := path.Match(pattern, name) // In valid patterns only stars are special, which have the same meaning.
	return matches && err == nil
}

// serviceEntries returns the entries of Kubernetes.Backends; nil without any.
func (c *Config) serviceEntries() []Backend {
	if c.Kubernetes == nil {
		return nil
	}
	return c.Kubernetes.Backends
}

// validateServices returns the errors of Kubernetes.Backends. It validates each entry separately,
// for any kind of the Services: see Discovered.
func (c *Config) validateServices() (errs []error) {
	if n := len(c.serviceEntries()); n > maxServiceEntries {
		return []error{fmt.Errorf("kubernetes.backends: there are %d entries: have at most %d, with patterns for several Services", n, maxServiceEntries)}
	}
	set := map[[2]string]int{} // entries by name and key
	for i, b := range c.serviceEntries() {
		wrong := at("kubernetes.backends[%d] %s: ", &errs, i, b.Name)
		switch {
		case !servicePattern.MatchString(b.Name) || strings.Contains(b.Name, "**"):
			wrong("name: %q: write namespace/service, with * for any text, as payments/*: it is the name of a discovered backend", b.Name)
		case b.Target != "":
			wrong("target: %q: the discovery finds it: take it out, or name the backend among backends", b.Target)
		}
		for _, key := range b.keys() {
			if first, twice := set[[2]string{b.Name, key}]; twice {
				wrong("%s: it is set for %q in kubernetes.backends[%d], too: keep one", key, b.Name, first)
			}
			set[[2]string{b.Name, key}] = i
		}
		for _, key := range c.emptyKeys(i) {
			advice := "write a value, or take it out"
			if key == "prefix" {
				advice = "for a Service whose names have none, name it among backends; kubernetes.prefix may be empty, for all"
			}
			wrong("%s: it is empty, which is as if it was absent: %s", key, advice)
		}
		if prefix := filled(b.Prefix, "a", "a"); !ValidPrefix(prefix) {
			wrong("prefix: %q: use letters, digits, and _ . - /, with {namespace} and {service} for those of the Service", b.Prefix)
		}
		b.validateURIs(wrong)
		one := b
		if one.Kind == "" && (b.DescriptorSet != "" || len(b.Include)+len(b.Exclude) > 0) {
			one.Kind = KindReflect
		}
		one.validateKind(wrong)
		c.validateSettings(&b, wrong)
	}
	return errs
}

// keys returns the keys of the backend that are set, beside its name.
func (b *Backend) keys() (out []string) {
	v := reflect.ValueOf(b).Elem()
	for i := range v.NumField() {
		if key := v.Type().Field(i).Tag.Get("yaml"); key != "name" && !v.Field(i).IsZero() {
			out = append(out, key)
		}
	}
	return out
}

// emptyKeys returns the keys of Kubernetes.Backends[i] that the file has with an empty value.
func (c *Config) emptyKeys(i int) (out []string) {
	v := reflect.ValueOf(&c.Kubernetes.Backends[i]).Elem()
	for n := range v.NumField() {
		key := v.Type().Field(n).Tag.Get("yaml")
		if c.origins != nil && v.Field(n).IsZero() && c.origins.lines[fmt.Sprintf("kubernetes.backends[%d].%s", i, key)] != 0 {
			out = append(out, key)
		}
	}
	return out
}

// settingsOf returns the settings of a discovered backend by its name. Each key has the value of
// the first matching entry that sets it. Keys of wider entries that belong to another kind or
// identity are omitted. Kind is empty if no entry sets it. The caller must not modify what the
// result refers to.
func (k *Kubernetes) settingsOf(name string) *Backend {
	out := new(Backend)
	to := reflect.ValueOf(out).Elem()
	add := func(b *Backend) {
		one := *b
		one.withoutOthers(out.Kind, out.Identity)
		from := reflect.ValueOf(&one).Elem()
		for i := range from.NumField() {
			if to.Field(i).IsZero() {
				to.Field(i).Set(from.Field(i))
			}
		}
	}
	for i := range k.Backends {
		if matchesService(k.Backends[i].Name, name) {
			add(&k.Backends[i])
		}
	}
	add(k.Backend())
	out.Name = name
	namespace, service, _ := strings.Cut(name, "/")
	if out.Prefix == "" {
		out.Prefix = k.PrefixOf(namespace, service)
	}
	out.Prefix = filled(out.Prefix, namespace, service)
	return out
}

// withoutOthers removes the keys that belong to another kind or identity than that of earlier
// entries. Empty means that they have set none.
func (b *Backend) withoutOthers(kind, identity string) {
	if kind == KindContract {
		b.DescriptorSet, b.Include, b.Exclude = "", nil, nil
	}
	if identity != "" && identity != IdentityExchange {
		b.Exchange = nil
	}
}

// Discovered returns the settings of a discovered backend by its name, namespace/service, and the
// kind that its Service has requested. The error is the reason for which it cannot be a backend:
// the kind is not allowed, or the settings of several entries do not fit together or do not fit the
// kind. The caller must not modify what the result refers to.
func (c *Config) Discovered(name, kind string) (*Backend, error) {
	b := c.Kubernetes.settingsOf(name)
	if b.Kind == "" {
		if b.Kind = kind; kind == KindReflect && !c.Kubernetes.Reflect {
			return nil, errors.New("mcpedge.io/kind: reflect: the configuration does not allow it: set kubernetes.reflect, or serve the contract")
		}
	}
	if !ValidPrefix(b.Prefix) {
		return nil, fmt.Errorf("its names would begin with %q: names of tools have at most 63 letters, digits, and _ . - / before them: set another kubernetes.prefix", b.Prefix)
	}
	var errs []error
	wrong := at("kubernetes.backends: ", &errs)
	b.validateKind(wrong)
	c.validateSettings(b, wrong)
	return b, errors.Join(errs...)
}

// overridden returns a note for each entry of Kubernetes.Backends with keys that an earlier entry sets for all Services that it matches.
func (c *Config) overridden() (notes []string) {
	entries := c.serviceEntries()
	keys := make([][]string, len(entries))
	for i := range entries {
		left := entries[i].keys()
		for j := 0; j < i && len(left) > 0; j++ {
			if !covers(entries[j].Name, entries[i].Name) {
				continue
			}
			var lost []string
			for _, key := range keys[j] {
				if at := slices.Index(left, key); at >= 0 {
					lost, left = append(lost, key), slices.Delete(left, at, at+1)
				}
			}
			if len(lost) > 0 {
				notes = append(notes, fmt.Sprintf("kubernetes.backends[%d] %s: %s: it has no effect: kubernetes.backends[%d] %s comes first and sets it, too: put the entry before that one, or take it out",
					i, entries[i].Name, strings.Join(lost, ", "), j, entries[j].Name))
			}
		}
		keys[i] = entries[i].keys()
	}
	return notes
}

// unwatched returns a note for each entry of Kubernetes.Backends that matches no Service, since its
// namespace is not watched.
func (c *Config) unwatched() (notes []string) {
	for i, b := range c.serviceEntries() {
		namespace, _, _ := strings.Cut(b.Name, "/")
		matches := len(c.Kubernetes.Namespaces) == 0 // the namespace of the pod, which is not known
		for _, n := range c.Kubernetes.Namespaces {
			matches = matches || matchesService(namespace, n)
		}
		if !matches {
			notes = append(notes, fmt.Sprintf("kubernetes.backends[%d] %s: name: it matches no Service: no namespace of kubernetes.namespaces matches", i, b.Name))
		}
	}
	return notes
}
