package config

// Telemetry configures traces. Exporters are configured by OpenTelemetry's own variables.
type Telemetry struct {
	// TraceContent puts the arguments and results of tool calls into spans; they may be sensitive.
	TraceContent bool `yaml:"trace-content" usage:"put arguments and results of tool calls into spans, though they may be sensitive"`
}
