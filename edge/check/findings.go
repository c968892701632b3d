package check

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// findings are the results of a check, written as one line each.
type findings struct {
	text     strings.Builder
	breaches int
	// first is the first breach.
	first string
	// work bounds a round of work, and backend is the backend's own timeout: the shorter one
	// applies.
	work, backend time.Duration
	// mistake is the first invalid part of the trial.
	mistake string
}

func (f *findings) line(label, format string, args ...any) {
	fmt.Fprintf(&f.text, "  %-7s %s\n", label, fmt.Sprintf(format, args...))
}

// ok reports a successful probe.
func (f *findings) ok(format string, args ...any) { f.line("ok", format, args...) }

// note reports something that the contract permits but that is worth knowing.
func (f *findings) note(format string, args ...any) { f.line("note", format, args...) }

// violation reports a violation of the contract.
func (f *findings) violation(format string, args ...any) {
	f.line("breaks", format, args...)
	if f.breaches++; f.breaches == 1 {
		f.first = fmt.Sprintf(format, args...)
	}
}

// cannotTry reports why a part of the trial cannot be tried, which is not the backend's fault.
func (f *findings) cannotTry(format string, args ...any) {
	f.line("wrong", format, args...)
	if f.mistake == "" {
		f.mistake = fmt.Sprintf(format, args...)
	}
}

// count formats a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func (f *findings) conclude() {
	switch {
	case f.breaches == 0 && f.mistake != "":
		f.text.WriteString("  nothing breaks the contract, as far as it could be tried\n")
		return
	case f.breaches == 0:
		f.text.WriteString("  nothing breaks the contract\n")
		return
	}
	fmt.Fprintf(&f.text, "  breaches of the contract: %d\n", f.breaches)
}

// try runs a probe and reports the returned text as ok, unless it is empty or the probe reported a
// violation.
func (f *findings) try(probe func() (ok string)) {
	before := f.breaches
	if text := probe(); text != "" && f.breaches == before {
		f.ok("%s", text)
	}
}

// crashed reports whether a status is one that servers return if a handler fails unexpectedly.
func crashed(err error) bool {
	code := status.Code(err)
	return code == codes.Unknown || code == codes.Internal
}

// statusText formats a status.
func statusText(err error) string {
	s := status.Convert(err)
	return fmt.Sprintf("status %s (%.120s)", s.Code(), s.Message())
}
