package main

import (
	"strings"
	"testing"
)

// A test that is skipped because the machine lacks something is counted separately.
func TestReportCountsWhatIsLeftOut(t *testing.T) {
	var out strings.Builder
	r := newReport(&out)
	err := r.read(strings.NewReader(`{"Action":"output","Package":"p","Test":"TestA","Output":"    a.go:1: left out: redis-server is missing\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    a.go:1: not on this system\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p","Test":"TestC"}
`))
	if err != nil || r.passed != 1 || r.skipped != 2 || r.leftOut != 1 {
		t.Errorf("%d passed, %d skipped, %d left out, %v", r.passed, r.skipped, r.leftOut, err)
	}
}

func TestReport(t *testing.T) {
	const (
		start   = `{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}` + "\n"
		said    = `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: boom\n"}` + "\n"
		okLine  = `{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}` + "\n"
		end     = `{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}` + "\n"
		pkgPass = `{"Action":"pass","Package":"p"}` + "\n"
		pkgFail = `{"Action":"fail","Package":"p"}` + "\n"
	)
	test := func(action string) string {
		return `{"Action":"` + action + `","Package":"p","Test":"TestA"}` + "\n"
	}
	for _, tc := range []struct {
		name, in, out           string
		passed, failed, skipped int
	}{
		{"nothing", "", "", 0, 0, 0},
		{"passes", start + said + test("pass") + okLine + pkgPass, "ok  \tp\t0.1s\n", 1, 0, 0},
		{"fails", start + said + test("fail") + end + pkgFail, "    a_test.go:1: boom\nFAIL\tp\t0.1s\n", 0, 1, 0},
		{"skips", start + said + test("skip") + okLine + pkgPass, "ok  \tp\t0.1s\n", 0, 0, 1},
		{"crashes", start + said + end + pkgFail, "    a_test.go:1: boom\nFAIL\tp\t0.1s\n", 0, 1, 0},
		{"does not build", `{"Action":"build-output","ImportPath":"p","Output":"p/a.go:1: no\n"}` + "\n" + end + pkgFail,
			"p/a.go:1: no\nFAIL\tp\t0.1s\n", 0, 1, 0},
		{"no test files", `{"Action":"output","Package":"p","Output":"?   \tp\t[no test files]\n"}` + "\n" +
			`{"Action":"skip","Package":"p"}` + "\n", "", 0, 0, 0},
		{"not an event", "go: no such module\n{}\n", "go: no such module\n{}\n", 0, 0, 0},
		{"cut off", start + said + test("pass") + okLine + strings.TrimSuffix(pkgPass, "\n"), "ok  \tp\t0.1s\n", 1, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out)
			if err := r.read(strings.NewReader(tc.in)); err != nil {
				t.Fatal(err)
			}
			if out.String() != tc.out {
				t.Errorf("output %q, want %q", out.String(), tc.out)
			}
			if r.passed != tc.passed || r.failed != tc.failed || r.skipped != tc.skipped {
				t.Errorf("counts %d passed, %d failed, %d skipped; want %d, %d, %d",
					r.passed, r.failed, r.skipped, tc.passed, tc.failed, tc.skipped)
			}
		})
	}
}
