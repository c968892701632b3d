package app

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/config"
)

// reportSets writes to out a line for each set with its contents. If complete is true, it writes a
// note for each set without contents and for each pattern that matches nothing. The error lists the
// patterns with names that only clients see.
func reportSets(cfg *config.Config, p *catalog.Preview, complete bool, out io.Writer) error {
	var mistakes []error
	sets, err := cfg.OpenSets()
	if err != nil {
		return nil // Load has reported it.
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		found := p.Set(sets[name].Set)
		_, _ = fmt.Fprintf(out, "info    sets.%s: %s at %s/%s\n", name, found, endpointPath, name)
		if !complete {
			continue
		}
		if found == (catalog.SetSummary{Name: name}) {
			_, _ = fmt.Fprintf(out, "note    sets.%s: it has nothing that a backend lists\n", name)
		}
		notes, wrong := p.IdleInSet(sets[name].Set)
		for _, note := range notes {
			_, _ = fmt.Fprintln(out, "note    "+note)
		}
		for _, one := range wrong {
			mistakes = append(mistakes, errors.New(one))
		}
	}
	return errors.Join(mistakes...)
}

// setsWithoutBoundary returns, as one sentence each, the sets that audiences do not separate from
// each other. An issuer has the same audiences for all of them, so that its tokens for one set are
// accepted by the others.
func setsWithoutBoundary(cfg *config.Config) (notes []string) {
	if len(cfg.OwnedSets()) == 0 || cfg.Auth == nil {
		return nil
	}
	for i := range cfg.Auth.Issuers {
		if one := &cfg.Auth.Issuers[i]; len(one.Audiences) > 0 {
			notes = append(notes, fmt.Sprintf("auth.issuers[%d] %s: audiences: every set accepts %s, so that its sets are views and no boundary: "+
				"leave out audiences, or give sets when or scopes", i, one.Issuer, strings.Join(one.Audiences, ", ")))
		}
	}
	return notes
}
