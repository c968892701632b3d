package capability

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

type ratio struct {
	Share float64 `json:"share"`
}

// marshaled encodes itself, and is a cycle.
type marshaled struct {
	Next   *marshaled
	number float64
}

func (m *marshaled) MarshalJSON() ([]byte, error) { return json.Marshal(m.number) }

// TestNotFinite: the error of a number that JSON does not have names its place.
func TestNotFinite(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(-1)
	for at, v := range map[string]any{
		"":            nan,
		"/1":          []float64{1, inf},
		"/a/0/share":  map[string]any{"a": []any{&ratio{nan}}},
		"/b":          map[string]float32{"a": 1, "b": float32(nan), "c": float32(inf)},
		"/7":          map[int]float64{7: nan},
		"/x~1y~0z":    map[string]any{"x/y~z": inf},
		"/share":      struct{ ratio }{ratio{inf}},
		"/Rest/share": struct{ Rest *ratio }{&ratio{inf}},
		"/Quoted": struct {
			Quoted float64 `json:",string"`
		}{nan},
		"/Zero/0/1/share": struct{ Zero [1]map[string]ratio }{[1]map[string]ratio{{"1": {nan}}}},
	} {
		_, err := encodeJSON(v)
		if err == nil || !strings.Contains(err.Error(), `at "`+at+`" is no JSON; use null or a text instead`) {
			t.Errorf("%v: %v, want one at %q", v, err, at)
		}
	}
	m := &marshaled{number: nan}
	m.Next = m
	if _, err := encodeJSON([]any{m, m}); err == nil || !strings.HasPrefix(err.Error(), "json: error calling MarshalJSON") {
		t.Errorf("a number of a value that encodes itself: %v", err)
	}
	type cycle struct{ Next any }
	c := &cycle{}
	c.Next = c
	for _, v := range []any{c, func() {}, map[string]any{"a": make(chan int), "b": nan}} {
		if _, err := encodeJSON(v); err == nil || !strings.HasPrefix(err.Error(), "json: ") {
			t.Errorf("%T: %v", v, err)
		}
	}
	if got, err := encodeJSON(map[string]any{"a": 1.5, "b": nil}); err != nil || got != `{"a":1.5,"b":null}` {
		t.Errorf("%s, %v", got, err)
	}
}

// TestOnceNotFinite: the same applies to values that are stored between rounds.
func TestOnceNotFinite(t *testing.T) {
	_, err := Once(&Call{}, "scores", func() (map[string]float64, error) { return map[string]float64{"a": math.NaN()}, nil })
	if err == nil || !strings.Contains(err.Error(), `the number NaN at "/a" is no JSON`) {
		t.Error(err)
	}
}
