package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mcpedge/mcpedge/edge/admin"
	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// newAudit makes the log of decisions and outcomes, and registers it with telemetry for the latter;
// nil records nothing.
func (a *App) newAudit() (_ *audit.Log, err error) {
	c := a.cfg.Audit
	if c == nil {
		return nil, nil
	}
	o := audit.Options{
		Sinks: map[string]audit.Sink{}, Required: c.Required, Timeout: c.Timeout, Logger: a.log,
		Arguments: recordedArguments(c.Arguments), Settings: a.recorded, Redact: a.auditRedactor,
	}
	if o.Key, err = readDigestKey(c); err != nil {
		return nil, fmt.Errorf("audit.digest-key-file: %w", err)
	}
	replica := a.cfg.ReplicaName()
	switch c.File {
	case "":
	case config.AuditStdout:
		o.Sinks["stdout"] = audit.NewLines(os.Stdout, replica)
	default:
		file, err := audit.NewFile(a.cfg.AuditFile(), replica)
		if err != nil {
			return nil, fmt.Errorf("audit.file: %w", err)
		}
		o.Sinks["file"] = file
	}
	if c.OTLP {
		res := a.telemetry.Resource()
		if res == nil {
			return nil, errors.New("audit.otlp: OTEL_SDK_DISABLED is true: unset it, or record without otlp")
		}
		if o.Sinks["otlp"], err = audit.NewOTLP(context.Background(), res); err != nil {
			return nil, fmt.Errorf("audit.otlp: %w", err)
		}
	}
	records := audit.New(o)
	a.telemetry.Audit(auditor{records})
	return records, nil
}

func recordedArguments(setting string) audit.Arguments {
	switch setting {
	case config.AuditDigest:
		return audit.ArgumentsDigest
	case config.AuditWhole:
		return audit.ArgumentsWhole
	}
	return audit.ArgumentsNone
}

// leastDigestKey is the length, in bytes, of an HMAC-SHA-256 key as strong as the hash.
const leastDigestKey = 32

// readDigestKey reads the key for digests of arguments; nil disables digests.
func readDigestKey(c *config.Audit) ([]byte, error) {
	if c.DigestKeyFile == "" {
		return nil, nil
	}
	key, err := os.ReadFile(c.DigestKeyFile)
	if err != nil {
		return nil, err // It names the file.
	}
	if key = bytes.TrimSpace(key); len(key) < leastDigestKey {
		return nil, fmt.Errorf("%s has %d bytes: give it %d or more, random ones", c.DigestKeyFile, len(key), leastDigestKey)
	}
	return key, nil
}

// CheckAudit writes to out, as one line each, whether the sinks of the setting audit can be used.
// Without the setting it writes nothing.
func CheckAudit(cfg config.Config, out io.Writer) error {
	c := cfg.Audit
	if c == nil {
		return nil
	}
	var errs []error
	report := func(what string, err error) {
		if err != nil {
			_, _ = fmt.Fprintf(out, "error   %s: %v\n", what, err)
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
			return
		}
		_, _ = fmt.Fprintf(out, "ok      %s\n", what)
	}
	if c.File != "" && c.File != config.AuditStdout {
		file := cfg.AuditFile()
		report("audit.file "+file, audit.CheckFile(file))
	}
	if c.DigestKeyFile != "" {
		_, err := readDigestKey(c)
		report("audit.digest-key-file", err)
	}
	return errors.Join(errs...)
}

// auditor records requests as telemetry reports them.
type auditor struct{ records *audit.Log }

var _ telemetry.Auditor = auditor{}

// Ended implements telemetry.Auditor.
func (x auditor) Ended(a *telemetry.Audited, outcome string, code int, took time.Duration) {
	r := recordOf(&a.Principal, a)
	r.Outcome, r.Code, r.Duration = outcome, code, took
	x.records.Ended(&r)
}

// Foreign implements telemetry.Auditor.
func (x auditor) Foreign(ctx context.Context, who *mcp.Principal, a *telemetry.Audited) error {
	r := recordOf(who, a)
	r.Verdict = audit.Verdict{Effect: audit.Hide, By: audit.ByOwnership}
	return x.records.Decided(ctx, &r, audit.CallArguments{})
}

// operators records the actions of operators.
type operators struct{ records *audit.Log }

var _ admin.Auditor = operators{}

// Operate implements admin.Auditor.
func (x operators) Operate(ctx context.Context, a *admin.Act) (ended func(outcome string), err error) {
	began := time.Now()
	r := audit.Record{
		Who: audit.WhoOf(&a.Operator), Listener: "admin", Method: a.Method, Target: a.Target, Backend: a.Backend, Set: a.Set, Reason: a.Reason, Approval: a.Approval,
		Verdict: audit.Verdict{Effect: audit.Allow, By: audit.ByOperator},
	}
	if a.Denied {
		r.Verdict.Effect = audit.Deny
	}
	if a.Awaited != nil {
		r.Awaited = &audit.Awaited{Names: a.Awaited.Names, Requester: audit.WhoOf(&a.Awaited.Requester)}
	}
	if a.Address.IsValid() {
		r.Address = a.Address.String()
	}
	if a.Session != "" {
		r.Who.Session = telemetry.SessionPrint(a.Session)
	}
	if a.Task != "" {
		r.Task = telemetry.SessionPrint(a.Task)
	}
	outcome := r
	outcome.Verdict, outcome.Reason = audit.Verdict{}, ""
	if err := x.records.Decided(ctx, &r, audit.CallArguments{}); err != nil {
		return nil, err
	}
	return func(how string) {
		outcome.Outcome, outcome.Duration = how, time.Since(began)
		x.records.Ended(&outcome)
	}, nil
}

func recordOf(who *mcp.Principal, a *telemetry.Audited) audit.Record {
	by := audit.WhoOf(who)
	by.Session = a.Session
	return audit.Record{
		Who: by, Call: a.Call, Task: a.Task, Round: a.Round, Attempt: a.Attempt, Set: a.Set, Method: string(a.Method), Target: a.Target, Shown: a.Shown, Via: a.Via, Backend: a.Backend, Trace: a.Trace,
		Address: addressText(a.From), Would: a.Trials(),
	}
}

// observeAudit registers the counters of records with telemetry.
func (a *App) observeAudit() []error {
	if a.audit == nil {
		return nil
	}
	each := func(name string, of func(written, lost int64, waiting int) float64) error {
		return a.telemetry.Observe(name, func(emit telemetry.Emit) {
			a.audit.Each(func(sink string, written, lost int64, waiting int) {
				emit(of(written, lost, waiting), telemetry.AttrSink.String(sink))
			})
		})
	}
	return []error{
		each(telemetry.AuditWritten, func(written, _ int64, _ int) float64 { return float64(written) }),
		each(telemetry.AuditLost, func(_, lost int64, _ int) float64 { return float64(lost) }),
		each(telemetry.AuditQueue, func(_, _ int64, waiting int) float64 { return float64(waiting) }),
		a.telemetry.Observe(telemetry.AuditRefused, func(emit telemetry.Emit) { emit(float64(a.audit.Refused())) }),
	}
}

// closeAudit writes the waiting records.
func (a *App) closeAudit() error {
	if a.audit == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	return a.audit.Close(ctx)
}
