package app

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// Preview returns a preview of what clients would see of backends.
func Preview(cfg config.Config) *catalog.Preview { return catalog.NewPreview(catalogOptions(cfg)) }

// shownConflicts bounds the reported names that a backend loses to an earlier one.
const shownConflicts = 20

// ReportPreview writes to out, as one line each, the objects of the added backends that clients
// would not see and, if complete is true, the names in the settings that match nothing. It always
// reports the catalog's names for added backends. The error lists the entries that are meant to
// restrict an object but match nothing, because they have names that only clients see.
func ReportPreview(cfg config.Config, p *catalog.Preview, complete bool, out io.Writer) error {
	var mistakes []error
	for _, text := range p.Together() {
		_, _ = fmt.Fprintln(out, "all backends together:", text)
	}
	targets, lost := p.Targets(), map[string]int{}
	for _, c := range p.Conflicts() {
		served, at := slices.ContainsFunc(targets, func(t policy.Target) bool { return t.Backend == c.Dropped }), p.GivenAt(c)
		if at != "" {
			at += ": name: "
		}
		if c.Kept == c.Dropped {
			_, _ = fmt.Fprintf(out, "note    %sbackend %q: two of its %ss have the name or alias %q: the first keeps it; it lists the name twice, or the catalog gives one the name of the other\n", at, c.Kept, c.What, c.Key)
			continue
		}
		switch lost[c.Dropped]++; {
		case !served && lost[c.Dropped] == 1:
			_, _ = fmt.Fprintf(out, "note    backend %q: nothing that it lists is served: its names are all those of earlier backends, such as %q of %q: rename them, or give it a prefix of its own\n",
				c.Dropped, c.Key, c.Kept)
		case !served:
		case lost[c.Dropped] <= shownConflicts:
			_, _ = fmt.Fprintf(out, "note    %sbackends %q and %q list the same %s %q: the first keeps it; rename one, or give one a prefix of its own\n", at, c.Kept, c.Dropped, c.What, c.Key)
		case lost[c.Dropped] == shownConflicts+1:
			_, _ = fmt.Fprintf(out, "note    backend %q: more of its names are those of earlier backends\n", c.Dropped)
		}
	}
	notes := slices.Concat(p.Overridden(), p.Mentions())
	for _, one := range p.Idle() {
		if one.Opens() && one.Hint != "" {
			mistakes = append(mistakes, errors.New(one.String()))
		} else {
			notes = append(notes, one.String())
		}
	}
	for _, backend := range slices.Sorted(maps.Keys(p.Differing())) {
		notes = append(notes, fmt.Sprintf("catalog-lock: the backend %q has tools that differ from the lock, above: review them with mcpedge catalog diff --lock", backend))
	}
	notes = append(notes, cfg.Unapprovable(targets)...)
	for _, note := range notes {
		_, _ = fmt.Fprintln(out, "note    "+note)
	}
	mistakes = append(mistakes, reportSets(&cfg, p, complete, out))
	if complete {
		for _, note := range cfg.Idle(targets) {
			_, _ = fmt.Fprintln(out, "note    "+note)
		}
	}
	return errors.Join(mistakes...)
}
