package main

import (
	"slices"
	"testing"
)

// Without names all modes are run, on a Cluster those that it can have.
func TestChoose(t *testing.T) {
	names := func(names string, cluster bool) (out []string, err error) {
		o := options{cluster: cluster}
		err = choose(&o, names)
		for _, m := range o.modes {
			out = append(out, m.name)
		}
		return out, err
	}
	all, err := names("", false)
	if err != nil || !slices.Contains(all, "promotion") {
		t.Errorf("all modes: %q, %v", all, err)
	}
	of, err := names("", true)
	if err != nil || len(of) != len(all)-1 || slices.Contains(of, "promotion") {
		t.Errorf("the modes of a Cluster: %q, %v, of %q", of, err, all)
	}
	for _, m := range of {
		if got, err := names(m, true); err != nil || !slices.Equal(got, []string{m}) {
			t.Errorf("%s on a Cluster: %q, %v", m, got, err)
		}
	}
	if _, err := names("kill,promotion", true); err == nil {
		t.Error("a Cluster without replicas has a promotion")
	}
}
