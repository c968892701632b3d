package config

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// renamed maps the keys of earlier versions to those of today.
var renamed = map[string]string{
	"listen": "listen.address", "public-url": "listen.public-url", "allow-anonymous": "listen.allow-anonymous",
	"hosts": "listen.hosts", "origins": "listen.origins", "trusted-proxies": "listen.trusted-proxies", "sse": "listen.sse",
	"tls": "listen.tls", "tls.cert": "listen.tls.cert", "tls.key": "listen.tls.key", "tls.client-ca": "listen.tls.client-ca",
	"admin": "admin.address", "admin-hosts": "admin.hosts", "allow-remote-admin": "admin.allow-remote", "dev": "admin.dev", "pprof": "admin.pprof",
	"admin-tls": "admin.tls", "admin-tls.cert": "admin.tls.cert", "admin-tls.key": "admin.tls.key", "admin-tls.client-ca": "admin.tls.client-ca",
	"admin-auth": "admin.auth", "admin-auth.scope": "admin.auth.scope", "admin-auth.approve-scope": "admin.auth.approve-scope",
	"admin-auth.client-cert": "admin.auth.client-cert", "admin-auth.open": "admin.auth.open",
	"redis": "redis.url", "redis-prefix": "redis.prefix", "state-keys": "redis.seal-keys",
	"replica": "server.replica", "memory": "server.memory", "identity-key": "server.signing-key",
	"sessions": "sessions.required", "schemas": "lists.schemas", "trace-content": "telemetry.trace-content",
	"drain-delay": "shutdown.delay", "grace": "shutdown.grace",
	"limits.body": "listen.body", "limits.read-timeout": "listen.read-timeout", "limits.write-timeout": "listen.write-timeout",
	"limits.keep-alive": "listen.keep-alive", "limits.connections": "listen.connections", "limits.connection-age": "listen.connection-age",
	"limits.lease": "redis.lease", "limits.task-replicas": "redis.acknowledge",
	"limits.session-ttl": "sessions.ttl", "limits.session-bytes": "sessions.bytes",
	"limits.stream-after": "calls.stream-after", "limits.rounds": "calls.rounds", "limits.call-lifetime": "calls.lifetime",
	"limits.task-grace": "tasks.after", "limits.task-ttl": "tasks.ttl", "limits.task-lifetime": "tasks.lifetime", "limits.running-tasks": "tasks.running",
	"limits.log-ttl": "streams.ttl", "limits.result-bytes": "streams.result-bytes",
	"limits.sessions-per-principal": "clients.sessions", "limits.tasks-per-principal": "clients.tasks", "limits.principal-bytes": "clients.bytes",
	"limits.connections-per-address": "clients.connections", "limits.subscriptions": "clients.subscriptions",
	"limits.page-size":       "lists.page-size",
	"limits.argument-values": "advanced.argument-values", "limits.calls-per-session": "advanced.calls-per-session",
	"limits.listens-per-principal": "advanced.listens-per-principal", "limits.name-bytes": "advanced.name-bytes",
	"limits.page-bytes": "advanced.page-bytes", "limits.running-tasks-per-principal": "advanced.running-tasks-per-principal",
	"limits.sessions-per-address": "advanced.sessions-per-address", "limits.start-wait": "advanced.start-wait",
	"limits.log-bytes": "advanced.stream-bytes", "limits.task-polls": "advanced.task-polls",
}

// fixedKeys maps the keys of earlier versions that are no longer settings to descriptions of the
// constants that replace them.
var fixedKeys = map[string]string{
	"limits":       "its keys are in listen, redis, sessions, calls, tasks, streams, clients, lists and advanced",
	"limits.batch": "64", "limits.headers": "64KiB", "limits.http2-streams": "1000", "limits.listen-bytes": "64MiB",
	"limits.streams-per-session": "256", "limits.log-events": "1024", "limits.attempts": "5", "limits.session-stale": "30s", "limits.task-poll": "1s",
	"audit.queue":      "16MiB",
	"backends.resolve": "10s", "backends.max-stream-messages": "1000",
	"backends.outlier-detection.interval": "10s", "backends.outlier-detection.ejection": "30s",
	"backends.outlier-detection.calls": "50", "backends.outlier-detection.max-ejected": "50",
}

// formerSections are the sections of earlier versions whose keys have moved.
var formerSections = []string{"limits", "tls", "admin-tls", "admin-auth"}

// formerFlags maps flags of earlier versions to the keys of those versions. It omits flags with the
// name of their key, with or without the section limits.
var formerFlags = map[string]string{
	"backend": "backends", "host": "hosts", "origin": "origins", "trusted-proxy": "trusted-proxies", "state-key": "state-keys", "admin-host": "admin-hosts",
	"tls-cert": "tls.cert", "tls-key": "tls.key", "tls-client-ca": "tls.client-ca",
	"admin-tls-cert": "admin-tls.cert", "admin-tls-key": "admin-tls.key", "admin-tls-client-ca": "admin-tls.client-ca",
	"server-name": "server.name", "server-title": "server.title", "log-level": "log.level", "log-format": "log.format",
	"demo": "demo",
}

// replacementOf returns what to write instead of a key of an earlier version; empty if the path is none.
func replacementOf(path string) string {
	if now := renamed[path]; now != "" {
		return fmt.Sprintf("%s is now %s%s", path, now, currentValue(now))
	}
	own := strings.TrimPrefix(path, "kubernetes.") // the keys of kubernetes.backends are those of backends
	switch now := fixedKeys[own]; {
	case own == "limits":
		return "limits is no longer a section: " + now
	case now != "":
		return fmt.Sprintf("%s is no longer a setting: it is always %s; take it out", path, now)
	}
	return ""
}

// currentValue returns what to write for the values of earlier versions if a key has others now.
func currentValue(key string) string {
	if key == "sessions.required" {
		return ": write true for required, and false for optional"
	}
	return ""
}

// former records an error if a member of the file is a key of an earlier version, or a section with
// such keys, and reports whether it is.
func (s *source) former(v *ast.MappingValueNode, path string) bool {
	members, isSection := membersOf(v.Value)
	for _, section := range formerSections {
		if path != section || len(members) == 0 {
			continue
		}
		for _, m := range members {
			key := path + "." + m.Key.GetToken().Value
			s.fault(m.Key, "", cmp.Or(replacementOf(key), key+": "+replacementOf(path)))
		}
		return true
	}
	_, isKey := sections[path]
	if advice := replacementOf(withoutIndexes(path)); advice != "" && (!isKey || !isSection && !blank(v.Value)) {
		s.fault(v.Key, "", advice)
		return true
	}
	return false
}

// membersOf returns the members of a section, which may have an anchor or a tag. An alias counts as a
// section without members: they are at its anchor.
func membersOf(n ast.Node) (members []*ast.MappingValueNode, isSection bool) {
	switch n := n.(type) {
	case *ast.AnchorNode:
		return membersOf(n.Value)
	case *ast.TagNode:
		return membersOf(n.Value)
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	case *ast.AliasNode:
		return nil, true
	}
	return nil, false
}

// sections are the sections of today that were keys with a value in earlier versions.
var sections = map[string]struct{}{"listen": {}, "admin": {}, "redis": {}, "sessions": {}}

// keyOfFormerFlag returns the current key for a flag of an earlier version, and the constant that
// replaces it if it is no longer a setting. Both are empty for other names.
func keyOfFormerFlag(name string) (key, constant string) {
	for _, was := range []string{formerFlags[name], name, "limits." + name} {
		if now := renamed[was]; now != "" {
			return now, ""
		}
		if now := fixedKeys[was]; now != "" && was != "limits" {
			return "", now
		}
	}
	if was := formerFlags[name]; was != "" {
		return was, "" // the key has kept its name
	}
	return "", ""
}

// formerVariables returns an error for each variable of an earlier version that is set.
func formerVariables(lookup func(string) (string, bool)) (errs []error) {
	known := variables()
	for _, name := range formerFlagNames() {
		was := Variable(name)
		if _, set := lookup(was); !set || known[was] {
			continue
		}
		if key, constant := keyOfFormerFlag(name); key != "" {
			errs = append(errs, fmt.Errorf("%s is now %s%s", was, Variable(key), currentValue(key)))
		} else {
			errs = append(errs, fmt.Errorf("%s is no longer a setting: it is always %s; take it out", was, constant))
		}
	}
	return errs
}

// formerFlagNames returns the names of the flags of earlier versions.
func formerFlagNames() (out []string) {
	for name := range formerFlags {
		out = append(out, name)
	}
	for _, keys := range []map[string]string{renamed, fixedKeys} {
		for was := range keys {
			name := strings.TrimPrefix(was, "limits.")
			if !strings.Contains(name, ".") && name != "limits" && name != "tls" && !strings.HasPrefix(name, "admin-tls") && name != "admin-auth" {
				out = append(out, name)
			}
		}
	}
	return out
}
