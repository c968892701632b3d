package main

import (
	"maps"
	"slices"
	"testing"
)

func TestTakePairs(t *testing.T) {
	calls, rest, err := takePairs("call", "NAME=JSON", []string{"--backend", "a=x:1", "--call", `t={"a":"b=c"}`, "-call=u={}", "--log-level=warn", "--call=v={}"})
	if err != nil || !slices.Equal(rest, []string{"--backend", "a=x:1", "--log-level=warn"}) ||
		!maps.Equal(calls, map[string]string{"t": `{"a":"b=c"}`, "u": "{}", "v": "{}"}) {
		t.Errorf("calls %v, rest %q, %v", calls, rest, err)
	}
	for _, bad := range [][]string{{"--call"}, {"--call", "tool"}, {"--call=={}"}} {
		if _, _, err := takePairs("call", "NAME=JSON", bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}
