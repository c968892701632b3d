package main

import "testing"

func TestMask(t *testing.T) {
	for text, want := range map[string]string{
		"card 4111 1111 1111 1111.": "card [card …1111].",
		"4111-1111-1111-1111":       "[card …1111]",
		"order 4111111111111112":    "order 4111111111111112",
		"378282246310005":           "[card …0005]",
		"12 34":                     "12 34",
	} {
		if got := mask(text); got != want {
			t.Errorf("%q gave %q, want %q", text, got, want)
		}
	}
}
