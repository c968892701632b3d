package frame

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pieces reads data in pieces of the given sizes, repeatedly; size 0 counts as 1.
type pieces struct {
	data  []byte
	sizes []byte
	n     int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	size := 1
	if len(p.sizes) > 0 {
		size = max(1, int(p.sizes[p.n%len(p.sizes)]))
		p.n++
	}
	n := copy(b, p.data[:min(size, len(p.data))])
	p.data = p.data[n:]
	return n, nil
}

func FuzzEvents(f *testing.F) {
	f.Add("1", "message", []byte(`{"a":1}`), uint16(0), []byte{3})
	f.Add("1\n2", "a\rb\x00", []byte("a\r\nb\rc\n"), uint16(1500), []byte{1, 7})
	f.Add("", "", []byte(""), uint16(9), []byte{})
	f.Add(" x", "", []byte("\ufeffdata: x\n\n: c\nid: 1\x00\nretry: 5\n\rdata\r\r\n"), uint16(0), []byte{2})
	f.Fuzz(func(t *testing.T, id, name string, data []byte, ms uint16, sizes []byte) {
		checkWritten(t, Event{ID: id, Name: name, Data: data, Retry: time.Duration(ms) * time.Millisecond}, sizes)
		checkStream(t, data, sizes)
	})
}

// checkWritten writes ev between others and reads them back.
func checkWritten(t *testing.T, ev Event, sizes []byte) {
	plain := Event{Data: []byte("plain")}
	wire := AppendEvent(nil, plain)
	wire = AppendEvent(wire, ev)
	wire = AppendComment(wire, string(ev.Data))
	wire = AppendEvent(wire, plain)

	strip := strings.NewReplacer("\r", "", "\n", "", "\x00", "")
	read := Event{ID: strip.Replace(ev.ID), Name: strip.Replace(ev.Name), Retry: ev.Retry}
	want := []Event{plain, read, plain}
	if len(ev.Data) > 0 || ev.ID != "" || ev.Name != "" {
		text := strings.ReplaceAll(strings.ReplaceAll(string(ev.Data), "\r\n", "\n"), "\r", "\n")
		want[1].Data = []byte(text)
	} else if ev.Retry == 0 {
		want = []Event{plain, plain}
	}
	got, err := readAll(NewReader(&pieces{data: wire, sizes: sizes}, len(wire)))
	if d := cmp.Diff(want, got); d != "" || err != io.EOF {
		t.Fatalf("%q: error %v, %s", wire, err, d)
	}
}

// checkStream reads data as a stream in pieces, and compares the result with the reference
// implementation.
func checkStream(t *testing.T, data, sizes []byte) {
	want := interpret(data)
	for _, in := range []io.Reader{bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data)), &pieces{data: data, sizes: sizes}} {
		got, err := readAll(NewReader(in, len(data)+1))
		if d := cmp.Diff(want, got); d != "" || err != io.EOF {
			t.Fatalf("%q: error %v, %s", data, err, d)
		}
	}
	bounded := NewReader(bytes.NewReader(data), 16)
	if got, err := readAll(bounded); err != io.EOF && !errors.Is(err, ErrEventTooLong) {
		t.Fatalf("%q: %d events, then %v", data, len(got), err)
	}
}

var lineEnds = regexp.MustCompile("\r\n|\r|\n")

// interpret is the reference implementation, for complete streams.
func interpret(stream []byte) []Event {
	var events []Event
	lines := lineEnds.Split(strings.TrimPrefix(string(stream), "\ufeff"), -1)
	var ev Event
	var data []string
	for _, line := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && data != nil:
			ev.Data = []byte(strings.Join(data, "\n"))
			events = append(events, ev)
			ev, data = Event{}, nil
		case line == "":
			if ev.Retry > 0 {
				events = append(events, Event{ID: ev.ID, Retry: ev.Retry})
			}
			ev = Event{}
		case field == "data":
			data = append(data, value)
		case field == "event":
			ev.Name = value
		case field == "id" && !strings.Contains(value, "\x00"):
			ev.ID = value
		case field == "retry" && regexp.MustCompile("^[0-9]+$").MatchString(value):
			if d, err := time.ParseDuration(value + "ms"); err == nil {
				ev.Retry = d
			}
		}
	}
	return events
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\n{\"a\":1}\r\n\n  \nlast"), uint8(20), []byte{3})
	f.Add([]byte("too long a line\nshort\n\r\n\r"), uint8(5), []byte{})
	f.Add([]byte("12345\r\n12345\r6\n"), uint8(5), []byte{6, 1})
	f.Fuzz(func(t *testing.T, data []byte, most uint8, sizes []byte) {
		limit := max(1, int(most))
		want := splitLines(string(data), limit)
		for _, in := range []io.Reader{bytes.NewReader(data), &pieces{data: data, sizes: sizes}} {
			got, err := readLines(NewLineReader(in, limit))
			if d := cmp.Diff(want, got); d != "" || err != io.EOF {
				t.Fatalf("%q: error %v, %s", data, err, d)
			}
		}
		checkLineWritten(t, data, sizes)
	})
}

// splitLines splits complete streams for the reference implementation.
func splitLines(stream string, limit int) []string {
	var want []string
	lines := strings.Split(stream, "\n")
	for i, line := range lines {
		if i < len(lines)-1 {
			line = strings.TrimSuffix(line, "\r")
		}
		switch {
		case len(line) > limit:
			want = append(want, tooLong)
		case strings.Trim(line, " \t\r") != "":
			want = append(want, line)
		}
	}
	return want
}

// checkLineWritten writes msg twice and reads it back, or expects an error.
func checkLineWritten(t *testing.T, msg, sizes []byte) {
	var out bytes.Buffer
	w := NewLineWriter(&out)
	err := w.WriteLine(msg)
	if refuse := len(msg) == 0 || bytes.ContainsAny(msg, "\r\n"); refuse != (err != nil) || refuse && out.Len() > 0 {
		t.Fatalf("WriteLine(%q) = %v, wrote %q", msg, err, out.Bytes())
	}
	if err != nil || len(bytes.Trim(msg, " \t")) == 0 {
		return
	}
	if err := w.WriteLine(msg); err != nil {
		t.Fatal(err)
	}
	got, err := readLines(NewLineReader(&pieces{data: out.Bytes(), sizes: sizes}, len(msg)))
	if d := cmp.Diff([]string{string(msg), string(msg)}, got); d != "" || err != io.EOF {
		t.Fatalf("%q: error %v, %s", msg, err, d)
	}
}
