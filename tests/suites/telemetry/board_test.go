package telemetry

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const deployed = "../../../deploy/"

// board is what the tests read of a dashboard.
type board struct {
	file          string
	text          string
	UID, Title    string
	SchemaVersion int
	Panels        []panel
	Templating    struct{ List []variable }
	Annotations   struct {
		List []struct{ Expr, TitleFormat string }
	}
	Links []struct{ URL string }
}

type variable struct {
	Name, Type, Definition, Description string
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ H, W, X, Y int }
	FieldConfig              struct {
		Defaults struct {
			Unit       string
			Thresholds struct {
				Steps []struct {
					Color string
					Value *float64
				}
			}
		}
	}
	Targets []struct {
		RefID, Expr, LegendFormat, Format string
		Instant                           bool
	}
	Transformations []struct {
		ID      string
		Options struct {
			ByField      string
			RenameByName map[string]string
		}
	}
}

// boards are all dashboards that Grafana is provisioned with.
func boards(t *testing.T) []board {
	t.Helper()
	files, err := filepath.Glob(deployed + "chart/files/dashboards/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("dashboards %v: %v", files, err)
	}
	var all []board
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b := board{file: filepath.Base(file), text: string(text)}
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&b); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, b)
	}
	return all
}

// What Grafana would not refuse and nobody wants.
func TestBoards(t *testing.T) {
	uids := map[string]string{}
	for _, b := range boards(t) {
		if other, twice := uids[b.UID]; twice || b.UID == "" {
			t.Errorf("%s has the uid %q, which %q has", b.file, b.UID, other)
		}
		uids[b.UID] = b.file
		if b.SchemaVersion < 42 || b.Title == "" {
			t.Errorf("%s: schema %d, title %q", b.file, b.SchemaVersion, b.Title)
		}
		b.layout(t)
		for _, p := range b.Panels {
			if p.Type != "row" {
				b.panel(t, &p)
			}
		}
		b.variables(t)
	}
	for _, b := range boards(t) {
		for _, l := range b.Links {
			if uid := regexp.MustCompile(`^/d/([^?]+)`).FindStringSubmatch(l.URL); uid == nil || uids[uid[1]] == "" {
				t.Errorf("%s links to %s, which is no dashboard here", b.file, l.URL)
			}
		}
	}
}

// layout: no two panels have an id or a place in common, and all are within Grafana's 24 columns.
func (b *board) layout(t *testing.T) {
	ids := map[int]string{}
	for i, p := range b.Panels {
		if other, twice := ids[p.ID]; twice || p.ID <= 0 {
			t.Errorf("%s: %q has the id %d, which %q has", b.file, p.Title, p.ID, other)
		}
		ids[p.ID] = p.Title
		g := p.GridPos
		if g.W <= 0 || g.H <= 0 || g.X < 0 || g.Y < 0 || g.X+g.W > 24 {
			t.Errorf("%s: %q is at %+v", b.file, p.Title, g)
		}
		for _, q := range b.Panels[:i] {
			h := q.GridPos
			if g.X < h.X+h.W && h.X < g.X+g.W && g.Y < h.Y+h.H && h.Y < g.Y+g.H {
				t.Errorf("%s: %q lies over %q", b.file, p.Title, q.Title)
			}
		}
	}
}

// panel: a reader learns what it shows, in which unit, and what to do when it is red.
func (b *board) panel(t *testing.T, p *panel) {
	if p.Title == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Description) < 20 || len(p.Targets) == 0 {
		t.Errorf("%s: %q has the unit %q, the description %q, %d queries", b.file, p.Title, p.FieldConfig.Defaults.Unit, p.Description, len(p.Targets))
	}
	red := false
	for _, s := range p.FieldConfig.Defaults.Thresholds.Steps {
		red = red || s.Color == "red"
	}
	if told := strings.Contains(p.Description, "Red: "); red && !told || !red && told && p.Type != "table" {
		t.Errorf("%s: %q can be red: %v; its description says what to do then: %v", b.file, p.Title, red, told)
	}
	refs := map[string]bool{}
	for _, q := range p.Targets {
		if refs[q.RefID] || q.RefID == "" {
			t.Errorf("%s: %q has two queries %q", b.file, p.Title, q.RefID)
		}
		refs[q.RefID] = true
	}
}

var (
	used    = regexp.MustCompile(`\$\{?([a-z]\w*)`)
	builtIn = regexp.MustCompile(`\$__\w+`)
)

// variables: every one is used, and every one that is used is there.
func (b *board) variables(t *testing.T) {
	var names, seen []string
	for _, v := range b.Templating.List {
		names = append(names, v.Name)
		if v.Description == "" {
			t.Errorf("%s: the variable %s has no description", b.file, v.Name)
		}
	}
	for _, m := range used.FindAllStringSubmatch(b.text, -1) {
		seen = append(seen, m[1])
		if !slices.Contains(names, m[1]) {
			t.Errorf("%s uses $%s, which is no variable of it", b.file, m[1])
		}
	}
	for _, name := range names {
		if !slices.Contains(seen, name) {
			t.Errorf("%s does not use its variable %s", b.file, name)
		}
	}
}
