package matrix

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/generated"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// place is where a cell stands.
type place struct{ row, version, transport string }

// outcome is what became of a cell.
type outcome byte

const (
	failed outcome = iota
	green
	lacking // shown not to exist
)

// TestMatrix is every method and flow × revision × transport. The outcomes are the table in
// docs/revisions.md.
func TestMatrix(t *testing.T) { protocols(t) }

// TestMatrixOfASet is the same at the endpoints of a set that has everything, of edges with optional sessions, with the same outcomes:
// clients that send their session's id see no difference.
func TestMatrixOfASet(t *testing.T) {
	set, required = "whole", false
	defer func() { set, required = "", true }()
	protocols(t)
}

// protocols runs the matrix once, or with -tls for each protocol.
func protocols(t *testing.T) {
	if *secured == "" {
		matrix(t)
		return
	}
	for _, over = range strings.Split(*secured, ",") {
		t.Run(over, matrix)
	}
}

func matrix(t *testing.T) {
	f, backends := startBackends(t)
	outcomes := map[place]outcome{}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			s := loadSchemas(t, version)
			for _, tr := range transports {
				if tr.serves(version) {
					t.Run(tr.name, func(t *testing.T) { column(t, f, tr, backends, version, s, outcomes) })
				}
			}
		})
	}
	if t.Failed() || len(outcomes) < cells() {
		t.Log("the table in docs/revisions.md was not looked at: not every cell is there and green")
		return
	}
	generated.Compare(t, "../../../docs/revisions.md", "matrix", table(outcomes), "go test ./tests/suites/matrix -update", *update)
}

// cells is how many a whole run has.
func cells() int {
	n := 0
	for _, version := range versions {
		for _, tr := range transports {
			if tr.serves(version) {
				n += len(rows())
			}
		}
	}
	return n
}

// column runs all rows for one client. A row that fails spoils none of those after it but the last.
func column(t *testing.T, f *fixture, tr transport, backends []*harness.Service, version string, s *schemas, outcomes map[place]outcome) {
	p := connect(t, tr, backends, version, everything, s)
	again := func(t *testing.T, capabilities string) *peer {
		return connect(t, tr, backends, version, capabilities, s)
	}
	known := func(t *testing.T, who string) *peer {
		caller = who
		defer func() { caller = "" }()
		return again(t, everything)
	}
	all := rows()
	for i := range all {
		r := &all[i]
		t.Run(r.key(), func(t *testing.T) {
			r.run(t, &cell{peer: p, f: f, transport: tr.name, row: r, again: again, known: known})
			at := place{r.key(), version, tr.name}
			switch {
			case t.Failed():
			case r.exists(version, tr.name):
				outcomes[at] = green
			default:
				outcomes[at] = lacking
			}
		})
	}
	p.link.close()
	p.settle(t)
	p.onlyShown(t, all, version, tr.name)
}

// key tells rows of one name apart.
func (r *row) key() string { return r.group + "/" + r.name }

// onlyShown: the edge sent no request and no notification but those that the table shows.
func (p *peer) onlyShown(t *testing.T, all []row, version, transport string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, method := range slices.Sorted(maps.Keys(p.sent)) {
		shown := slices.ContainsFunc(all, func(r row) bool {
			name, _, _ := strings.Cut(r.name, ",")
			return (r.group == serverRequests || r.group == serverNotifications) && name == method && r.exists(version, transport)
		})
		if !shown {
			t.Errorf("the edge sent %s, which no row shows", method)
		}
	}
}

// table renders the outcomes: a column per revision, a mark per transport.
func table(outcomes map[place]outcome) string {
	marks := map[outcome]string{failed: "✗", green: "✓", lacking: "–"}
	var b strings.Builder
	group := ""
	for _, r := range rows() {
		if r.group != group {
			group = r.group
			b.WriteString("\n| " + group + " |")
			for _, v := range versions {
				b.WriteString(" " + v + " |")
			}
			b.WriteString("\n|---|" + strings.Repeat(":-:|", len(versions)) + "\n")
		}
		b.WriteString("| " + label(r.name) + " |")
		for _, version := range versions {
			for _, tr := range transports {
				mark := "\u00a0"
				if tr.serves(version) {
					mark = marks[outcomes[place{r.key(), version, tr.name}]]
				}
				b.WriteString(" " + mark)
			}
			b.WriteString(" |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// label sets names of the protocol as code.
func label(name string) string {
	words := strings.Fields(name)
	for i, w := range words {
		bare := strings.TrimRight(w, ",:")
		if strings.ContainsAny(bare, "/_") || bare == "initialize" || bare == "ping" || bare == "structuredContent" {
			words[i] = "`" + bare + "`" + w[len(bare):]
		}
	}
	return strings.Join(words, " ")
}
