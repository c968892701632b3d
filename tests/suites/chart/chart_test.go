package chart

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

// TestLint is `helm lint --strict`: a warning is an error.
func TestLint(t *testing.T) {
	result := lint.AllWithKubeVersionAndSchemaValidation(chartDir, map[string]any{}, namespace, nil, false)
	for _, message := range result.Messages {
		if message.Severity >= support.WarningSev {
			t.Error(message)
		}
	}
}

// Each release has the objects that it should have, and each is one of its API.
func TestObjects(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r, err := render(t, s.values)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, object := range decode(t, r) {
				got = append(got, title(object))
			}
			want := slices.DeleteFunc(slices.Concat(everywhere, s.objects), func(name string) bool { return slices.Contains(s.lacks, name) })
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("the objects are\n%q, not\n%q", got, want)
			}
			if !strings.Contains(r.Info.Notes, "mcp.svc:") {
				t.Errorf("the notes do not say where the edge is:\n%s", r.Info.Notes)
			}
		})
	}
}

// What would expose an edge to anybody, or could not work, is not rendered, and the error says what to do.
func TestRefused(t *testing.T) {
	for _, s := range refused {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if _, err := render(t, s.values); err == nil || !strings.Contains(err.Error(), s.says) {
				t.Errorf("the error is\n%v, without\n%s", err, s.says)
			}
		})
	}
}
