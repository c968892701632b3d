package frame

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAppendEvent(t *testing.T) {
	for _, tc := range []struct {
		name string
		ev   Event
		want string
	}{
		{"data", Event{Data: []byte(`{"a":1}`)}, "data: {\"a\":1}\n\n"},
		{"all", Event{ID: "7", Name: "message", Data: []byte("x"), Retry: 1500 * time.Millisecond}, "event: message\nid: 7\nretry: 1500\ndata: x\n\n"},
		{"priming", Event{ID: "7"}, "id: 7\ndata: \n\n"},
		{"name alone", Event{Name: "ping"}, "event: ping\ndata: \n\n"},
		{"retry alone", Event{Retry: 2 * time.Second}, "retry: 2000\n\n"},
		{"retry rounds up", Event{Retry: time.Microsecond}, "retry: 1\n\n"},
		{"negative retry", Event{Retry: -time.Second, Data: []byte("x")}, "data: x\n\n"},
		{"nothing", Event{}, ""},
		{"lines", Event{Data: []byte("a\nb\r\nc\rd")}, "data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{"line ends alone", Event{Data: []byte("\n\r\n\r")}, "data: \ndata: \ndata: \ndata: \n\n"},
		{"ends in a newline", Event{Data: []byte("a\n")}, "data: a\ndata: \n\n"},
		{"leading space", Event{ID: " 1", Data: []byte(" a")}, "id:  1\ndata:  a\n\n"},
		{"breaking out", Event{ID: "1\ndata: x\x00", Name: "a\r\n\r\nb", Data: []byte("y")}, "event: ab\nid: 1data: x\ndata: y\n\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(AppendEvent([]byte("."), tc.ev)); got != "."+tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAppendComment(t *testing.T) {
	for in, want := range map[string]string{
		"":              ":\n\n",
		"keep-alive":    ": keep-alive\n\n",
		"a\ndata: b\rc": ": a\n: data: b\n: c\n\n",
	} {
		if got := string(AppendComment(nil, in)); got != want {
			t.Errorf("AppendComment(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestReader(t *testing.T) {
	ev := func(id, name, data string) Event { return Event{ID: id, Name: name, Data: []byte(data)} }
	for _, tc := range []struct {
		name, in string
		want     []Event
		lastID   string
	}{
		{"empty", "", nil, ""},
		{"one", "event: message\nid: 1\ndata: x\n\n", []Event{ev("1", "message", "x")}, "1"},
		{"CR", "id: 1\rdata: x\r\rdata: y\r\r", []Event{ev("1", "", "x"), ev("", "", "y")}, "1"},
		{"CRLF", "id: 1\r\ndata: x\r\n\r\ndata: y\r\n\r\n", []Event{ev("1", "", "x"), ev("", "", "y")}, "1"},
		{"line ends mixed", "data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\r", []Event{ev("", "", "a\nb\nc"), ev("", "", "d")}, ""},
		{"byte order mark", "\xef\xbb\xbfdata: x\n\n", []Event{ev("", "", "x")}, ""},
		{"second byte order mark", "\xef\xbb\xbf\xef\xbb\xbfdata: x\n\ndata: y\n\n", []Event{ev("", "", "y")}, ""},
		{"comments", ": hello\n\n:\n:data: x\ndata: y\n: in between\ndata: z\n\n", []Event{ev("", "", "y\nz")}, ""},
		{"endless comment", ":" + strings.Repeat("x", 10_000) + "\ndata: y\n\n", []Event{ev("", "", "y")}, ""},
		{"endless comment after a byte order mark", "\xef\xbb\xbf:" + strings.Repeat("x", 10_000) + "\ndata: y\n\n", []Event{ev("", "", "y")}, ""},
		{"no colon", "data\nid\nevent\n\n", []Event{ev("", "", "")}, ""},
		{"one space is dropped", "data:  x \ndata:y\n\n", []Event{ev("", "", " x \ny")}, ""},
		{"colon in value", "data: a:b\n\n", []Event{ev("", "", "a:b")}, ""},
		{"empty lines of data", "data\ndata\n\n", []Event{ev("", "", "\n")}, ""},
		{"priming", "id: 1\ndata: \n\n", []Event{ev("1", "", "")}, "1"},
		{"last name counts", "event: a\nevent: b\ndata: x\n\ndata: y\n\n", []Event{ev("", "b", "x"), ev("", "", "y")}, ""},
		{"name without data", "event: a\n\ndata: x\n\n", []Event{ev("", "", "x")}, ""},
		{"id without data", "id: 1\n\ndata: x\n\n", []Event{ev("", "", "x")}, "1"},
		{"id with NUL", "id: 1\ndata: x\n\nid: 2\x00\ndata: y\n\n", []Event{ev("1", "", "x"), ev("", "", "y")}, "1"},
		{"empty id clears", "id: 1\ndata: x\n\nid:\ndata: y\n\n", []Event{ev("1", "", "x"), ev("", "", "y")}, ""},
		{"unknown and other case", "Data: x\nfoo: y\ndata : z\n\ndata: w\n\n", []Event{ev("", "", "w")}, ""},
		{"cut off", "id: 1\ndata: x\n\nid: 2\ndata: y\n", []Event{ev("1", "", "x")}, "1"},
		{"cut off in a line", "data: x\n\ndata: y", []Event{ev("", "", "x")}, ""},
		{"retry", "retry: 1500\ndata: x\n\n", []Event{{Data: []byte("x"), Retry: 1500 * time.Millisecond}}, ""},
		{"retry alone", "retry: 20\n\ndata: x\n\n", []Event{{Retry: 20 * time.Millisecond}, ev("", "", "x")}, ""},
		{"odd retries", "retry: -1\nretry: 1s\nretry: +1\nretry:\nretry:  5\nretry: 0x1\nretry: 1.5\nretry: 99999999999999999999\nretry: 9223372036854775807\ndata: x\n\n", []Event{ev("", "", "x")}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for how, in := range map[string]io.Reader{
				"at once":      strings.NewReader(tc.in),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tc.in)),
				"end at once":  iotest.DataErrReader(strings.NewReader(tc.in)),
			} {
				r := NewReader(in, 300)
				got, err := readAll(r)
				if d := cmp.Diff(tc.want, got); d != "" || err != io.EOF {
					t.Errorf("%s: error %v, %s", how, err, d)
				}
				if r.LastEventID() != tc.lastID {
					t.Errorf("%s: last event id %q, want %q", how, r.LastEventID(), tc.lastID)
				}
			}
		})
	}
}

// readAll reads until the first error.
func readAll(r *Reader) ([]Event, error) {
	var got []Event
	for {
		ev, err := r.Next()
		if err != nil {
			return got, err
		}
		got = append(got, ev)
	}
}

// TestReaderDispatchesAtOnce: an event is returned when its blank line has arrived, before the next
// byte shows whether a CR of that line belongs to a CRLF.
func TestReaderDispatchesAtOnce(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	for _, blank := range []string{"data: x\n\n", "data: x\r\r", "data: x\r\n\r"} {
		go func() { _, _ = io.WriteString(out, blank) }()
	}
	r := NewReader(in, 100)
	for range 3 {
		if ev, err := r.Next(); err != nil || string(ev.Data) != "x" {
			t.Fatalf("got %+v, %v", ev, err)
		}
	}
}

func TestReaderBound(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		events   int
		err      error
	}{
		{"just fits", "data: 789\n\ndata: 789\n\n", 2, io.EOF},
		{"one more", "data: 789\n\ndata: 7890\n\n", 1, ErrEventTooLong},
		{"in two lines", "data\ndata: \n\n", 0, ErrEventTooLong},
		{"two that fit", "data\ndata:\n\n", 1, io.EOF},
		{"unknown fields count", "data\nabcdef\n\n", 0, ErrEventTooLong},
		{"no end in sight", strings.Repeat("x", 1<<16), 0, ErrEventTooLong},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := NewReader(strings.NewReader(tc.in), 9)
			got, err := readAll(r)
			if len(got) != tc.events || !errors.Is(err, tc.err) {
				t.Fatalf("got %d events, %v; want %d, %v", len(got), err, tc.events, tc.err)
			}
			if _, again := r.Next(); again != err {
				t.Errorf("then %v, want the same error again", again)
			}
		})
	}
}

func TestReaderStreamError(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("data: x\n\ndata: y\n"), iotest.ErrReader(broken)), 100)
	got, err := readAll(r)
	if len(got) != 1 || !errors.Is(err, broken) {
		t.Errorf("got %d events, %v", len(got), err)
	}
}

func TestEventsAreTheCallers(t *testing.T) {
	r := NewReader(strings.NewReader("data: first\n\ndata: other\n\n"), 100)
	first, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil || string(first.Data) != "first" {
		t.Errorf("the first event became %q, %v", first.Data, err)
	}
}

func BenchmarkAppendEvent(b *testing.B) {
	ev, dst := Event{ID: "s1-42", Name: "message", Data: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)}, []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendEvent(dst[:0], ev)
	}
}
