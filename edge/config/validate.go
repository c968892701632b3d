package config

import (
	"errors"
	"fmt"
	"slices"
)

// Validate returns all errors in the settings of `mcpedge serve`, each with the value and what to
// do. Load has called it.
func (c *Config) Validate() error { return c.validate(serve) }

// validate ignores the settings of listeners for commands that do not listen.
func (c *Config) validate(command string) error {
	var errs []error
	if command == serve || command == check {
		errs = slices.Concat(c.validateListen(), c.validateAdmin())
	}
	errs = slices.Concat(errs, c.validateBackends(), c.Log.validate(), c.Lists.validate())
	if _, err := c.Proxies(); err != nil {
		errs = append(errs, err)
	}
	errs = slices.Concat(errs, c.validateRedis(), c.Tasks.validate(), c.validateServer())
	if _, err := c.QuotaRules(); err != nil {
		errs = append(errs, err)
	}
	if _, err := c.Masker(); err != nil {
		errs = append(errs, err)
	}
	if _, err := c.compileOwn(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, c.validateHooks()...)
	errs = append(errs, c.validateCatalog()...)
	errs = append(errs, c.validateLock()...)
	errs = append(errs, c.validateIncludes()...)
	errs = append(errs, c.validateSets()...)
	errs = append(errs, c.Kubernetes.validate()...)
	errs = append(errs, c.validateServices()...)
	errs = append(errs, c.Audit.validate(command)...)
	if err := c.validateAuditFile(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, c.validateAuth()...)
	return errors.Join(errs...)
}

func (c *Config) validateBackends() (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	names := map[string]bool{}
	for i, b := range c.Backends {
		if !backendName.MatchString(b.Name) {
			wrong("backends[%d]: name %q: use 1 to 64 letters, digits, - and _", i, b.Name)
		}
		if names[b.Name] {
			wrong("backends[%d]: name %q is used twice: give each backend its own", i, b.Name)
		}
		names[b.Name] = true
		errs = append(errs, b.validateTarget(i)...)
		b.validateKind(at("backends[%d] %s: ", &errs, i, b.Name))
		c.validateSettings(&b, at("backends[%d] %s: ", &errs, i, b.Name))
	}
	return errs
}

// wrongs records a mistake in a section. Its format begins with the key in the section.
type wrongs func(format string, args ...any)

// at returns a function that appends mistakes in a section to errs. place, a format with the
// arguments of, is the path of the section and begins each message.
func at(place string, errs *[]error, of ...any) wrongs {
	return func(format string, args ...any) {
		*errs = append(*errs, fmt.Errorf(place+format, slices.Concat(of, args)...))
	}
}

// validateSettings calls wrong for each mistake in the settings that a configured and a discovered
// backend may have, and that do not depend on its kind.
func (c *Config) validateSettings(b *Backend, wrong wrongs) {
	if b.TLS != nil && (b.TLS.Cert == "") != (b.TLS.Key == "") {
		wrong("tls.cert and tls.key go together: give both or none")
	}
	b.validateOutliers(wrong)
	c.validateIdentity(b, wrong)
	b.validateMetadata(wrong)
	b.validateExtensions(wrong)
}
