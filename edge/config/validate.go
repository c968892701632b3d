package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// Validate returns all errors in the settings of `mcpedge serve`, each with the value and what to
// do. Load has called it.
func (c *Config) Validate() error { return c.validate(serve) }

// validate ignores the settings of listeners for commands that do not listen.
func (c *Config) validate(command string) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if command == serve || command == check {
		errs = c.validateListeners()
	}
	errs = append(errs, c.validateBackends()...)
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		wrong("log.level: %q: use debug, info, warn or error", c.Log.Level)
	}
	if !slices.Contains([]string{"text", "json"}, c.Log.Format) {
		wrong("log.format: %q: use text or json", c.Log.Format)
	}
	if c.Sessions != SessionsRequired && c.Sessions != SessionsOptional {
		wrong("sessions: %q: use required or optional", c.Sessions)
	}
	if !slices.Contains(forms, c.Schemas) {
		wrong("schemas: %q: use auto, portable or full", c.Schemas)
	}
	if _, err := c.Keys(); err != nil {
		errs = append(errs, err)
	}
	if _, err := c.Proxies(); err != nil {
		errs = append(errs, err)
	}
	if c.Redis != "" {
		if _, _, err := c.RedisURL(); err != nil {
			errs = append(errs, err)
		}
	}
	if c.RedisPrefix == "" || strings.ContainsAny(c.RedisPrefix, "{ ") {
		wrong("redis-prefix: %q: give a word without { and spaces", c.RedisPrefix)
	}
	if c.Limits.TaskTTL > maxTaskTTL {
		wrong("limits.task-ttl: %s: give %s or less", c.Limits.TaskTTL, maxTaskTTL)
	}
	if c.Limits.TaskReplicas > 0 && c.Redis == "" {
		wrong("limits.task-replicas: %d: there is no Redis, and so no replica of it: set redis, or leave it out", c.Limits.TaskReplicas)
	}
	if c.Limits.Lease < minLease {
		wrong("limits.lease: %s: give %s or more, so that a replica which is merely busy is not given up", c.Limits.Lease, minLease)
	}
	if least := c.LeastMemory(); c.Memory > 0 && c.Memory < least {
		wrong("memory: %s is too little to serve with limits.body of %s: give %s or more, a smaller body, or 0 to have it chosen", c.Memory, c.Limits.Body, least)
	}
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
		if b.Resolve != 0 && b.Resolve < minResolve {
			wrong("backends[%d] %s: resolve: %s: give %s or more, or leave it out for 10s", i, b.Name, b.Resolve, minResolve)
		}
		b.validateKind(at("backends[%d] %s: ", &errs, i, b.Name))
		c.validateSettings(&b, at("backends[%d] %s: ", &errs, i, b.Name))
	}
	return errs
}

// wrongs records a mistake. Its format begins with the key below the section that it is about.
type wrongs func(format string, args ...any)

// at returns a function that adds mistakes of the section at a place, a format for of, to errs.
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

func (c *Config) validateListeners() (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	loopback, err := isLoopback(c.Listen)
	switch {
	case err != nil:
		wrong("listen: %q %s", c.Listen, notAddress(c.Listen))
	case !loopback && !c.AllowAnonymous && c.Auth == nil:
		wrong("listen: %q is reachable from other machines without authentication: listen on 127.0.0.1, set auth, or set allow-anonymous", c.Listen)
	case !loopback && !c.AllowAnonymous && c.Auth.Optional:
		wrong("listen: %q is reachable from other machines, and with auth.optional callers need no credentials: take that out, or set allow-anonymous", c.Listen)
	}
	errs = append(errs, c.validateTLS()...)
	loopback, err = isLoopback(c.Admin)
	switch {
	case err != nil:
		wrong("admin: %q %s", c.Admin, notAddress(c.Admin))
	case c.Dev && !loopback:
		wrong("dev: %q is reachable from other machines, and the page shows what was called with what: have admin on 127.0.0.1, or leave dev out", c.Admin)
	case !loopback && !c.AllowRemoteAdmin && c.AdminAuth == nil:
		wrong("admin: %q is reachable from other machines, which could call, end sessions and stop the edge without credentials: use 127.0.0.1, set admin-auth, or set allow-remote-admin", c.Admin)
	}
	if _, port, _ := net.SplitHostPort(c.Listen); c.Listen == c.Admin && port != "0" {
		wrong("admin: %q is the address of listen, too: give it another port", c.Admin)
	}
	return errs
}
