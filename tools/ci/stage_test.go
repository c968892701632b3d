package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func named(stages []stage) string {
	var names []string
	for _, s := range stages {
		names = append(names, s.name)
	}
	return strings.Join(names, " ")
}

func TestStagesAreSound(t *testing.T) {
	if err := check(stages); err != nil {
		t.Error(err)
	}
	for _, s := range stages {
		if s.within > 2*time.Hour || slices.Contains(s.sets, landing) && s.within > 20*time.Minute {
			t.Errorf("%s may take %v", s.name, s.within)
		}
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	sound := stage{name: "a", run: "true", cores: 1, within: time.Minute}
	with := func(change func(*stage)) []stage {
		s := sound
		s.name = "b"
		change(&s)
		return []stage{sound, s}
	}
	for want, all := range map[string][]stage{
		"two stages have the name": with(func(s *stage) { s.name = "a" }),
		"lacks a command":          with(func(s *stage) { s.run = "" }),
		"its cores":                with(func(s *stage) { s.cores = 0 }),
		"its time bound":           with(func(s *stage) { s.within = 0 }),
		`awaits "c"`:               with(func(s *stage) { s.after = []string{"c"} }),
		`awaits "b"`:               with(func(s *stage) { s.needs = []string{"b"} }),
		`the set "weekly"`:         with(func(s *stage) { s.sets = []string{"weekly"} }),
	} {
		if err := check(all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	if err := check(with(func(s *stage) { s.after = []string{"a"} })); err != nil {
		t.Error(err)
	}
}

func TestChoose(t *testing.T) {
	all := []stage{
		{name: "programs", sets: []string{landing, nightly}}, {name: "test", sets: []string{landing}, after: []string{"programs"}},
		{name: "sdk-java", sets: []string{landing}, needs: []string{"programs"}}, {name: "sdk-rust", sets: []string{nightly}}, {name: "rare"},
	}
	for _, c := range []struct{ set, only, want, err string }{
		{landing, "", "programs test sdk-java", ""},
		{nightly, "", "programs sdk-rust", ""},
		{landing, "test", "test", ""},
		{landing, "sdk-*", "programs sdk-java sdk-rust", ""},
		{landing, "rare,test", "test rare", ""},
		{landing, "none", "", `no stage is named "none"`},
		{landing, "[", "", "syntax error"},
		{"weekly", "", "", `no stage is of the set "weekly"`},
	} {
		got, err := choose(all, c.set, c.only)
		if named(got) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s %q: %q, %v", c.set, c.only, named(got), err)
		}
	}
}
