package mcp

// LogLevel is the severity of a log message (RFC 5424) or, in a request, the lowest severity
// wanted. The zero value means no messages. Levels compare by severity.
type LogLevel uint8

// The levels of the specification's LoggingLevel, by rising severity.
const (
	LogNone LogLevel = iota
	LogDebug
	LogInfo
	LogNotice
	LogWarning
	LogError
	LogCritical
	LogAlert
	LogEmergency
)

var logNames = [...]string{"", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// String returns the name on the wire; empty for LogNone.
func (l LogLevel) String() string {
	if int(l) < len(logNames) {
		return logNames[l]
	}
	return ""
}

// ParseLogLevel parses a name. It returns false for an unknown one.
func ParseLogLevel(name string) (LogLevel, bool) {
	for i, n := range logNames[1:] {
		if n == name {
			return LogLevel(i + 1), true
		}
	}
	return LogNone, false
}
