package audit

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// OTLP is a Sink that exports OpenTelemetry logs. A record is written when the collector has
// acknowledged it.
type OTLP struct {
	exporter sdklog.Exporter
	provider *sdklog.LoggerProvider
	logger   log.Logger
	batch    batcher
}

var _ Sink = (*OTLP)(nil)

// Scope is the instrumentation scope of the log records.
const Scope = "github.com/mcpedge/mcpedge/audit"

// exportTimeout bounds one export, including the exporter's retries.
const exportTimeout = 10 * time.Second

// NewOTLP returns an OTLP with the exporter that the environment selects (OTEL_LOGS_EXPORTER,
// OTEL_EXPORTER_OTLP_…). res describes the process.
func NewOTLP(ctx context.Context, res *resource.Resource) (*OTLP, error) {
	exporter, err := autoexport.NewLogExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("OTEL_LOGS_EXPORTER: %w", err)
	}
	if autoexport.IsNoneLogExporter(exporter) {
		return nil, errors.New("OTEL_LOGS_EXPORTER is none: name an exporter, or record without otlp")
	}
	return newOTLP(exporter, res), nil
}

func newOTLP(exporter sdklog.Exporter, res *resource.Resource) *OTLP {
	o := &OTLP{exporter: exporter}
	o.provider = sdklog.NewLoggerProvider(sdklog.WithResource(res), sdklog.WithProcessor(&o.batch), sdklog.WithAttributeCountLimit(-1))
	o.logger = o.provider.Logger(Scope)
	return o
}

// Write implements Sink. All records are exported in one request.
func (o *OTLP) Write(ctx context.Context, records []Record) (int, error) {
	o.batch.records = o.batch.records[:0]
	for i := range records {
		o.emit(&records[i])
	}
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	if err := o.exporter.Export(ctx, o.batch.records); err != nil {
		return 0, err
	}
	return len(records), nil
}

// emit adds the log record of r to the batch.
func (o *OTLP) emit(r *Record) {
	var out log.Record
	out.SetEventName("mcpedge.audit." + string(r.Event))
	out.SetTimestamp(r.Time)
	out.SetSeverity(log.SeverityInfo)
	if r.Event == EventDecision && r.Verdict.Effect != Allow {
		out.SetSeverity(log.SeverityWarn)
	}
	out.SetBody(attribute.StringValue(string(r.Event)))
	out.AddAttributes(r.attributes()...)
	ctx := context.Background()
	if r.Trace.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, r.Trace)
	}
	o.logger.Emit(ctx, out)
}

// attributes returns the members of the record's line, with their names prefixed by
// "mcpedge.audit.".
func (r *Record) attributes() (out []attribute.KeyValue) {
	const prefix = "mcpedge.audit."
	for _, x := range []struct{ key, value string }{
		{"settings", r.Settings},
		{"issuer", r.Who.Issuer}, {"subject", r.Who.Subject}, {"client_id", r.Who.Client}, {"jti_sha256", r.Who.TokenID},
		{"session", r.Who.Session}, {"listener", r.Listener}, {"address", r.Address}, {"call", r.Call}, {"task", r.Task}, {"set", r.Set}, {"method", r.Method}, {"target", r.Target},
		{"shown", r.Shown}, {"via", r.Via},
		{"backend", r.Backend}, {"reason", r.Reason}, {"approval", r.Approval}, {"decision", string(r.Verdict.Effect)}, {"by", string(r.Verdict.By)}, {"rule", r.Verdict.Rule},
		{"outcome", r.Outcome}, {"arguments_hmac_sha256", r.ArgumentsDigest}, {"arguments", string(r.Arguments)},
		{"sent_arguments_hmac_sha256", r.SentArgumentsDigest}, {"sent_arguments", string(r.SentArguments)},
	} {
		if x.value != "" {
			out = append(out, attribute.String(prefix+x.key, x.value))
		}
	}
	if len(r.Hooks) > 0 {
		out = append(out, attribute.String(prefix+"hooks", string(appendHookList(nil, r.Hooks))))
	}
	if r.Verdict.Failed {
		out = append(out, attribute.Bool(prefix+"rule_failed", true))
	}
	if r.Who.SubjectIsClient {
		out = append(out, attribute.Bool(prefix+"subject_is_client", true))
	}
	if len(r.Verdict.Missing) > 0 {
		out = append(out, attribute.StringSlice(prefix+"missing_scopes", r.Verdict.Missing))
	}
	if len(r.Verdict.Approved) > 0 {
		out = append(out, attribute.String(prefix+"approved", string(approved(r.Verdict.Approved))))
	}
	if r.Awaited != nil {
		out = append(out, attribute.String(prefix+"awaited", string(r.Awaited.encode())))
	}
	if len(r.Verdict.Confirmed) > 0 {
		out = append(out, attribute.String(prefix+"confirmed", string(confirmed(r.Verdict.Confirmed))))
	}
	if len(r.Would) > 0 {
		out = append(out, attribute.String(prefix+"would", string(trials(r.Would))))
	}
	if r.Round != 0 {
		out = append(out, attribute.Int(prefix+"round", r.Round))
	}
	if r.Attempt > 1 {
		out = append(out, attribute.Int(prefix+"attempt", r.Attempt))
	}
	if r.Code != 0 {
		out = append(out, attribute.Int(prefix+"code", r.Code))
	}
	if r.Event == EventOutcome {
		out = append(out, attribute.Float64(prefix+"duration", r.Duration.Seconds()))
	}
	if r.Trace.IsValid() {
		id := r.Trace.TraceID()
		out = append(out, attribute.String(prefix+"trace_id", hex.EncodeToString(id[:])))
	}
	return out
}

// Close implements Sink.
func (o *OTLP) Close(ctx context.Context) error {
	return errors.Join(o.provider.Shutdown(ctx), o.exporter.Shutdown(ctx))
}

// batcher collects the log records for one export, so that Write returns the result of the export.
type batcher struct{ records []sdklog.Record }

var _ sdklog.Processor = (*batcher)(nil)

// Enabled implements the SDK's Processor.
func (*batcher) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

// OnEmit implements the SDK's Processor.
func (b *batcher) OnEmit(_ context.Context, r *sdklog.Record) error {
	b.records = append(b.records, r.Clone())
	return nil
}

// Shutdown implements the SDK's Processor.
func (*batcher) Shutdown(context.Context) error { return nil }

// ForceFlush implements the SDK's Processor.
func (*batcher) ForceFlush(context.Context) error { return nil }
