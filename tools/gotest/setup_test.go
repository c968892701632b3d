package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machine creates a directory of scripts, by name, and makes it the only one in PATH.
func machine(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	t.Setenv(envProgram, "")
	t.Setenv(envNeeds, "redis-server")
	t.Setenv("CI", "")
	t.Setenv(envLeftOut, "")
	return dir
}

const (
	redis7  = `echo 'Redis server v=7.0.15 sha=0:0 bits=64'`
	redis6  = `echo 'Redis server v=6.2.7 sha=0:0 bits=64'`
	valkey8 = `echo 'Valkey server v=8.0.1 sha=0:0 bits=64'`
	gcc     = `exit 0`
)

func TestRedisThatIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		programs map[string]string
		want     string
	}{
		"redis":               {map[string]string{"redis-server": redis7}, "redis-server"},
		"valkey":              {map[string]string{"valkey-server": valkey8}, "valkey-server"},
		"an old one, another": {map[string]string{"redis-server": redis6, "valkey-server": valkey8}, "valkey-server"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := machine(t, c.programs)
			var out strings.Builder
			s := &setup{out: &out}
			if _, err := s.prepare(nil); err != nil || !slices.Equal(s.env, []string{envProgram + "=" + filepath.Join(dir, c.want)}) || out.Len() > 0 {
				t.Errorf("env %q, printed %q, %v", s.env, out.String(), err)
			}
		})
	}
}

func TestRedisIsInstalled(t *testing.T) {
	// The script of the package manager can use no other program, since PATH has none.
	writes := func(name, text string) string {
		return `case "$*" in *` + name + `*) printf '#!/bin/sh\n%s\n' "` + text + `" > "${0%/*}/` + name + `-server"; /bin/chmod +x "${0%/*}/` + name + `-server";; install*) exit 1;; esac`
	}
	for _, c := range []struct{ manager, name, text string }{
		{"apt-get", "redis", redis7}, {"dnf", "redis", redis7}, {"apk", "valkey", valkey8}, {"brew", "redis", redis7},
	} {
		t.Run(c.manager, func(t *testing.T) {
			dir := machine(t, map[string]string{c.manager: writes(c.name, c.text), "sudo": `shift; exec "$@"`})
			var out strings.Builder
			s := &setup{out: &out}
			_, err := s.prepare(nil)
			if err != nil || !slices.Equal(s.env, []string{envProgram + "=" + filepath.Join(dir, c.name+"-server")}) {
				t.Errorf("env %q, %v; printed:\n%s", s.env, err, out.String())
			}
			s.conclude(0)
			if strings.Contains(out.String(), "left out") {
				t.Errorf("printed:\n%s", out.String())
			}
		})
	}
}

func TestRedisCannotBeHad(t *testing.T) {
	for name, programs := range map[string]map[string]string{
		"no package manager": {},
		"it fails":           {"apt-get": `echo 'Unable to locate package'; exit 100`, "sudo": `shift; exec "$@"`},
		"too old":            {"redis-server": redis6},
	} {
		t.Run(name, func(t *testing.T) {
			machine(t, programs)
			var out strings.Builder
			s := &setup{out: &out}
			if _, err := s.prepare(nil); err != nil || !slices.Equal(s.env, []string{envLeaveOut + "=1"}) {
				t.Errorf("env %q, %v", s.env, err)
			}
			s.conclude(12)
			last := out.String()[strings.LastIndex(strings.TrimSuffix(out.String(), "\n"), "\n")+1:]
			for _, want := range []string{"12 tests were left out", "redis-server", "apt-get install"} {
				if !strings.Contains(last, want) {
					t.Errorf("the last line lacks %q: %s", want, last)
				}
			}
			t.Setenv("CI", "true")
			if _, err := (&setup{out: &out}).prepare(nil); err == nil {
				t.Error("CI leaves tests out")
			}
		})
	}
}

func TestRaceNeedsACompiler(t *testing.T) {
	machine(t, map[string]string{"redis-server": redis7, "gcc": gcc, "go": "echo gcc"})
	var out strings.Builder
	args, err := (&setup{out: &out}).prepare([]string{"-race", "./..."})
	if err != nil || !slices.Equal(args, []string{"-race", "./..."}) || out.Len() > 0 {
		t.Errorf("with a compiler: %q, %v, printed %q", args, err, out.String())
	}
	machine(t, map[string]string{"redis-server": redis7, "go": "echo gcc"})
	args, err = (&setup{out: &out}).prepare([]string{"-race", "./..."})
	if err != nil || !slices.Equal(args, []string{"./..."}) || !strings.Contains(out.String(), "without the race detector") {
		t.Errorf("without a compiler: %q, %v, printed %q", args, err, out.String())
	}
	t.Setenv("CI", "true")
	if _, err := (&setup{out: &out}).prepare([]string{"-race"}); err == nil {
		t.Error("CI runs without the race detector")
	}
}
