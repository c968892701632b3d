package capability

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxUndecodedDepth bounds how deep an argument is looked for, because each level is decoded again.
const maxUndecodedDepth = 8

// undecoded is the first argument that its type could not decode, if the type decodes itself, such
// as time.Time. encoding/json does not report which argument it is.
type undecoded struct {
	path []string
	t    reflect.Type
	data json.RawMessage
	err  error
}

// undecodedIn finds the argument in data for which decoding into a t failed. The path of the result
// is empty if no member of data caused the error.
func undecodedIn(t reflect.Type, data []byte, err error) undecoded {
	m := undecoded{t: t, data: data, err: err}
	for len(m.path) < maxUndecodedDepth && m.descend() {
	}
	return m
}

// descend replaces a list or an object by the first of its members that does not decode, and reports
// whether there is one.
func (m *undecoded) descend() bool {
	for m.t.Kind() == reflect.Pointer {
		m.t = m.t.Elem()
	}
	if p := reflect.PointerTo(m.t); p.Implements(unmarshalerType) || p.Implements(textUnmarshalerType) {
		return false
	}
	switch m.t.Kind() {
	case reflect.Struct:
		members := m.members()
		for _, f := range fieldsOf(m.t) {
			if value, ok := members[f.name]; ok && !f.quoted && m.enter(f.name, f.field.Type, value) {
				return true
			}
		}
	case reflect.Map:
		members := m.members()
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if m.enter(name, m.t.Elem(), members[name]) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		var elements []json.RawMessage
		_ = json.Unmarshal(m.data, &elements) // a string, for bytes, has none
		for i, value := range elements {
			if m.enter(strconv.Itoa(i), m.t.Elem(), value) {
				return true
			}
		}
	}
	return false
}

func (m *undecoded) members() map[string]json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(m.data, &members)
	return members
}

// enter makes a member the argument if it does not decode.
func (m *undecoded) enter(name string, t reflect.Type, value json.RawMessage) bool {
	err := unmarshal(value, reflect.New(t).Interface())
	if err == nil {
		return false
	}
	m.path, m.t, m.data, m.err = append(m.path, name), t, value, err
	return true
}

// failure returns the error that the model sees.
func (m *undecoded) failure() error {
	why := "fit: " + strings.TrimPrefix(m.err.Error(), "json: ")
	if len(m.path) == 0 {
		return Errorf(InvalidArgument, "the arguments do not %s", why)
	}
	who := fmt.Sprintf("the argument %q", strings.Join(m.path, "."))
	switch corrupt := base64.CorruptInputError(0); {
	case errors.As(m.err, &corrupt):
		return Errorf(InvalidArgument, "%s must be base64 of the standard alphabet, with padding", who)
	case m.t == reflect.TypeFor[time.Time]():
		return Errorf(InvalidArgument, `%s must be a date and time of RFC 3339, such as "2026-01-31T15:04:05Z", not %s`, who, brief(m.data))
	}
	return Errorf(InvalidArgument, "%s does not %s", who, why)
}

// brief returns the beginning of a JSON value.
func brief(value json.RawMessage) string {
	const most = 40
	text := []rune(string(value))
	if len(text) <= most {
		return string(text)
	}
	return string(text[:most]) + "…"
}
