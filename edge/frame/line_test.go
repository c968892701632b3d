package frame

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

const tooLong = "<too long>"

// readLines reads to the end; tooLong stands for a line that was too long.
func readLines(r *LineReader) ([]string, error) {
	var got []string
	for {
		line, err := r.Next()
		switch {
		case errors.Is(err, ErrLineTooLong):
			got = append(got, tooLong)
		case err != nil:
			return got, err
		default:
			got = append(got, string(line))
		}
	}
}

func TestLineReader(t *testing.T) {
	const most = 5000 // more than one buffer
	full, over := strings.Repeat("x", most), strings.Repeat("x", most+1)
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"empty", "", nil},
		{"one", "{}\n", []string{"{}"}},
		{"several", "a\nb\nc\n", []string{"a", "b", "c"}},
		{"CRLF", "a\r\nb\r\n", []string{"a", "b"}},
		{"no end", "a\nb", []string{"a", "b"}},
		{"empty lines", "\n\r\n \t \na\n\n\nb\n\n", []string{"a", "b"}},
		{"space is kept", " a \n", []string{" a "}},
		{"CR within", "a\rb\n", []string{"a\rb"}},
		{"just fits", full + "\n" + full + "\r\n" + full, []string{full, full, full}},
		{"too long", over + "\na\n", []string{tooLong, "a"}},
		{"too long with CRLF", over + "\r\na\n", []string{tooLong, "a"}},
		{"too long, no end", "a\n" + over, []string{"a", tooLong}},
		{"far too long", strings.Repeat("y", 100_000) + "\na\n" + strings.Repeat("z", 100_000) + "\nb", []string{tooLong, "a", tooLong, "b"}},
		{"too long by a CR", full + "\rx\na\n", []string{tooLong, "a"}},
		{"CR at the end", full + "\r", []string{tooLong}},
		{"space too long", strings.Repeat(" ", most+1) + "\na\n", []string{tooLong, "a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for how, in := range map[string]io.Reader{
				"at once":      strings.NewReader(tc.in),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tc.in)),
				"end at once":  iotest.DataErrReader(strings.NewReader(tc.in)),
			} {
				got, err := readLines(NewLineReader(in, most))
				if d := cmp.Diff(tc.want, got); d != "" || err != io.EOF {
					t.Errorf("%s: error %v, %s", how, err, d)
				}
			}
		})
	}
}

// TestLineTooLongIsToldBeforeItsEnd: the error is returned before the end of the line, which the
// peer may never send.
func TestLineTooLongIsToldBeforeItsEnd(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	go func() { _, _ = out.Write(make([]byte, 10_000)) }()
	if _, err := NewLineReader(in, 10).Next(); !errors.Is(err, ErrLineTooLong) {
		t.Errorf("got %v", err)
	}
}

func TestLineReaderStreamError(t *testing.T) {
	broken := errors.New("broken")
	for _, in := range []string{"a\nrest", "a\n" + strings.Repeat("x", 10_000)} {
		got, err := readLines(NewLineReader(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)), 100))
		if got[0] != "a" || !errors.Is(err, broken) {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

func TestLinesAreTheCallers(t *testing.T) {
	r := NewLineReader(strings.NewReader("first\nother\n"), 100)
	first, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil || string(first) != "first" {
		t.Errorf("the first line became %q, %v", first, err)
	}
}

// writes records each Write.
type writes struct {
	calls []string
	err   error
	short bool
}

func (w *writes) Write(p []byte) (int, error) {
	w.calls = append(w.calls, string(p))
	if w.short {
		return len(p) - 1, nil
	}
	return len(p), w.err
}

func TestLineWriter(t *testing.T) {
	var out writes
	w := NewLineWriter(&out)
	large := strings.Repeat("x", 2*keepBuffer)
	for _, tc := range []struct {
		msg  string
		want error
	}{
		{"{}", nil}, {"", ErrEmptyLine}, {"a\nb", ErrRawNewline}, {"a\r", ErrRawNewline}, {"\n", ErrRawNewline}, {large, nil}, {"b", nil},
	} {
		if err := w.WriteLine([]byte(tc.msg)); !errors.Is(err, tc.want) {
			t.Errorf("WriteLine(%.10q) = %v, want %v", tc.msg, err, tc.want)
		}
	}
	if d := cmp.Diff([]string{"{}\n", large + "\n", "b\n"}, out.calls); d != "" {
		t.Error(d)
	}
}

func TestLineWriterFailureStays(t *testing.T) {
	broken := errors.New("broken")
	for want, out := range map[error]*writes{broken: {err: broken}, io.ErrShortWrite: {short: true}} {
		w := NewLineWriter(out)
		first, second := w.WriteLine([]byte("a")), w.WriteLine([]byte("b"))
		if !errors.Is(first, want) || second != first || len(out.calls) != 1 {
			t.Errorf("got %v, then %v, after %d writes; want %v twice after 1", first, second, len(out.calls), want)
		}
	}
}

func TestLineWriterConcurrently(t *testing.T) {
	const writers, each = 8, 100
	var out bytes.Buffer
	w := NewLineWriter(&out)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for j := range each {
				if err := w.WriteLine(fmt.Appendf(nil, "%d:%d:%s", i, j, strings.Repeat("x", j))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	next := [writers]int{}
	lines, err := readLines(NewLineReader(&out, 1000))
	for _, line := range lines {
		var i, j int
		if _, err := fmt.Sscanf(line, "%d:%d:", &i, &j); err != nil || next[i] != j || strings.Count(line, "x") != j {
			t.Fatalf("line %q out of order or torn, %v", line, err)
		}
		next[i]++
	}
	if err != io.EOF || len(lines) != writers*each {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}
