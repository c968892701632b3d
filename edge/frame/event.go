package frame

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Event is one server-sent event.
type Event struct {
	// ID is the id line's value; empty: no such line.
	ID string
	// Name is the event line's value; empty: no such line, and receivers take it for "message".
	Name string
	// Data is the payload. Its lines may end in LF, CR or CRLF; they are received joined by LF.
	Data []byte
	// Retry is how long a receiver is to wait before it reconnects, written in milliseconds, rounded
	// up; zero or less: no such line.
	Retry time.Duration
}

// AppendEvent appends ev as it goes on the wire, its blank line included.
//
// Empty Data is written as an empty data line, so that an ID alone makes a priming event; only an
// event with neither ID nor Name goes without, which sets the receiver's reconnection time and
// dispatches nothing. The zero Event appends nothing. CR, LF and NUL are dropped from ID and Name:
// they cannot be represented there, and nothing may break out of its line.
func AppendEvent(dst []byte, ev Event) []byte {
	hasData := len(ev.Data) > 0 || ev.ID != "" || ev.Name != ""
	if !hasData && ev.Retry <= 0 {
		return dst
	}
	if ev.Name != "" {
		dst = appendField(dst, "event: ", ev.Name)
	}
	if ev.ID != "" {
		dst = appendField(dst, "id: ", ev.ID)
	}
	if ev.Retry > 0 {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, milliseconds(ev.Retry), 10)
		dst = append(dst, '\n')
	}
	if hasData {
		dst = appendLines(dst, "data: ", ev.Data)
	}
	return append(dst, '\n')
}

// AppendComment appends text as a comment, which receivers ignore: it keeps a connection open
// through proxies. Several lines become several comment lines; empty text is a bare colon. It must
// not come between the lines of one event.
func AppendComment(dst []byte, text string) []byte {
	if text == "" {
		return append(dst, ":\n\n"...)
	}
	return append(appendLines(dst, ": ", []byte(text)), '\n')
}

// milliseconds rounds up, so that no wait becomes none.
func milliseconds(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d%time.Millisecond != 0 {
		ms++
	}
	return ms
}

func appendField(dst []byte, field, value string) []byte {
	dst = append(dst, field...)
	if !strings.ContainsAny(value, "\r\n\x00") {
		dst = append(dst, value...)
		return append(dst, '\n')
	}
	for i := range len(value) {
		if c := value[i]; c != '\r' && c != '\n' && c != 0 {
			dst = append(dst, c)
		}
	}
	return append(dst, '\n')
}

// appendLines writes each line of text after prefix; one line if text is empty.
func appendLines(dst []byte, prefix string, text []byte) []byte {
	cr := bytes.IndexByte(text, '\r') >= 0
	for {
		dst = append(dst, prefix...)
		end := bytes.IndexByte(text, '\n')
		if cr {
			end = bytes.IndexAny(text, "\r\n")
		}
		if end < 0 {
			return append(append(dst, text...), '\n')
		}
		dst = append(append(dst, text[:end]...), '\n')
		if text[end] == '\r' && end+1 < len(text) && text[end+1] == '\n' {
			end++
		}
		text = text[end+1:]
	}
}
