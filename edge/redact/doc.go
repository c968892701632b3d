// Package redact replaces secrets in texts, JSON and messages of the contract, by the setting redact. It is pure: it reads nothing but its
// arguments. What it costs is linear in the length of a text and bounded; a text beyond the bound is replaced as a whole.
package redact
