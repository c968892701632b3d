package reflect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"
)

// toolErrorCodes are the codes of errors for the caller, which are reported to the model as errors of the
// tool. Other codes concern the transport or the service's internals; they remain statuses, which
// the edge maps to error kinds.
var toolErrorCodes = []codes.Code{
	codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.ResourceExhausted,
	codes.FailedPrecondition, codes.Aborted, codes.OutOfRange,
}

// statusCodes are the codes that remain statuses even with details.
var statusCodes = []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Unauthenticated}

// codeNames are the canonical names of codes.
var codeNames = map[codes.Code]string{
	codes.Unknown: "UNKNOWN", codes.InvalidArgument: "INVALID_ARGUMENT", codes.NotFound: "NOT_FOUND",
	codes.AlreadyExists: "ALREADY_EXISTS", codes.PermissionDenied: "PERMISSION_DENIED",
	codes.ResourceExhausted: "RESOURCE_EXHAUSTED", codes.FailedPrecondition: "FAILED_PRECONDITION",
	codes.Aborted: "ABORTED", codes.OutOfRange: "OUT_OF_RANGE", codes.Unimplemented: "UNIMPLEMENTED",
	codes.Internal: "INTERNAL", codes.DataLoss: "DATA_LOSS",
}

// failed ends the call with the service's status, as an error of the tool if the model can act on
// it.
func (c *call) failed(err error) error {
	st := status.Convert(err)
	if st.Code() == codes.Unimplemented { // the service may have been redeployed without the method
		c.a.relearn()
	}
	var size, most int
	if n, _ := fmt.Sscanf(st.Message(), "grpc: received message larger than max (%d vs. %d)", &size, &most); n == 2 && most == c.a.opts.MaxBytes {
		return c.refuse(fmt.Sprintf("%s was called, but its answer has %d bytes, more than %d (the backend's max-message): request less",
			c.method.full, size, most))
	}
	lines := c.details(st.Proto().GetDetails())
	if slices.Contains(statusCodes, st.Code()) || len(lines) == 0 && !slices.Contains(toolErrorCodes, st.Code()) {
		return withoutDetails(st)
	}
	name := codeNames[st.Code()]
	if name == "" {
		name = st.Code().String()
	}
	first := name
	if st.Message() != "" {
		first += ": " + st.Message()
	}
	return c.refuse(strings.Join(append([]string{first}, lines...), "\n"))
}

// withoutDetails returns a status without its details, except for the retry delay.
func withoutDetails(st *status.Status) error {
	p := st.Proto()
	p.Details = slices.DeleteFunc(p.Details, func(d *anypb.Any) bool { return !d.MessageIs((*errdetails.RetryInfo)(nil)) })
	return status.ErrorProto(p)
}

// details returns lines that describe a status's details. Debug information is for the service's
// authors, and left out.
func (c *call) details(all []*anypb.Any) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, "- "+fmt.Sprintf(format, args...)) }
	for _, raw := range all {
		m, err := raw.UnmarshalNew()
		if err != nil {
			if text := c.unknown(raw); text != "" {
				add("%s", text)
			}
			continue
		}
		switch d := m.(type) {
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				add("field %s: %s", v.GetField(), v.GetDescription())
			}
		case *validate.Violations:
			for _, v := range d.GetViolations() {
				add("field %s: %s", path(v.GetField()), v.GetMessage())
			}
		case *errdetails.PreconditionFailure:
			for _, v := range d.GetViolations() {
				add("precondition %s of %s: %s", v.GetType(), v.GetSubject(), v.GetDescription())
			}
		case *errdetails.QuotaFailure:
			for _, v := range d.GetViolations() {
				add("quota of %s: %s", v.GetSubject(), v.GetDescription())
			}
		case *errdetails.RetryInfo:
			add("try again after %s", d.GetRetryDelay().AsDuration())
		case *errdetails.Help:
			for _, l := range d.GetLinks() {
				add("help: %s %s", l.GetDescription(), l.GetUrl())
			}
		case *errdetails.ErrorInfo:
			add("reason %s (%s)%s", d.GetReason(), d.GetDomain(), pairs(d.GetMetadata()))
		case *errdetails.ResourceInfo:
			add("resource %s %s: %s", d.GetResourceType(), d.GetResourceName(), d.GetDescription())
		case *errdetails.LocalizedMessage:
			add("%s", d.GetMessage())
		case *errdetails.RequestInfo:
			add("request id %s", d.GetRequestId())
		case *errdetails.DebugInfo:
		default:
			if text := c.unknown(raw); text != "" {
				add("%s", text)
			}
		}
	}
	return lines
}

// unknown returns a detail of another type as JSON, or an empty string if the type is unknown.
func (c *call) unknown(raw *anypb.Any) string {
	text, err := protojson.MarshalOptions{Resolver: c.types()}.Marshal(raw)
	if err != nil {
		return ""
	}
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return ""
	}
	return cut(b.Bytes(), maxProgress)
}

func pairs(m map[string]string) string {
	var out []string
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, ", ")
}

// path formats a field's path as protovalidate does.
func path(p *validate.FieldPath) string {
	var b strings.Builder
	for i, e := range p.GetElements() {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(e.GetFieldName())
		switch s := e.GetSubscript().(type) {
		case *validate.FieldPathElement_Index:
			fmt.Fprintf(&b, "[%d]", s.Index)
		case *validate.FieldPathElement_StringKey:
			fmt.Fprintf(&b, "[%q]", s.StringKey)
		case *validate.FieldPathElement_IntKey:
			fmt.Fprintf(&b, "[%d]", s.IntKey)
		case *validate.FieldPathElement_UintKey:
			fmt.Fprintf(&b, "[%d]", s.UintKey)
		case *validate.FieldPathElement_BoolKey:
			fmt.Fprintf(&b, "[%t]", s.BoolKey)
		}
	}
	return b.String()
}
