package frame

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Event is one server-sent event.
type Event struct {
	// ID is the value of the id line. Empty means no such line.
	ID string
	// Name is the value of the event line. Empty means no such line; receivers then use "message".
	Name string
	// Data is the payload. Its lines may end in LF, CR or CRLF; a reader joins them by LF.
	Data []byte
	// Retry is the receiver's delay before it reconnects. It is written in milliseconds, rounded
	// up. Zero or less means no such line.
	Retry time.Duration
}

// AppendEvent appends the encoding of ev, including its blank line.
//
// Empty Data is encoded as an empty data line, so that an ID alone makes a priming event. An event
// with neither ID nor Name has no data line: it sets the receiver's reconnection time and
// dispatches nothing. The zero Event appends nothing. CR, LF and NUL are removed from ID and Name,
// which cannot represent them.
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

// AppendComment appends text as a comment, which receivers ignore; comments keep a connection open
// through proxies. Each line becomes a comment line; empty text becomes a bare colon. A comment
// must not be between the lines of one event.
func AppendComment(dst []byte, text string) []byte {
	if text == "" {
		return append(dst, ":\n\n"...)
	}
	return append(appendLines(dst, ": ", []byte(text)), '\n')
}

// milliseconds converts d, rounded up, so that a positive delay is never 0.
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

// appendLines appends each line of text after prefix. Empty text is one line.
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
