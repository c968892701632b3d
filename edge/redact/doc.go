// Package redact replaces secrets in texts, JSON and messages of the contract, by the setting
// redact. Its functions depend on their arguments only. Their cost is linear in the length of a
// text, and bounded: a text that exceeds the bound is replaced as a whole.
package redact
