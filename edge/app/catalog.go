package app

import (
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// newCuration makes the catalog's part of the settings one that is read again, if the edge has one.
func (a *App) newCuration() {
	if a.cfg.Catalog != nil {
		a.curating.what, a.curating.prepare = "catalog", a.prepareCatalog
	}
}

// prepareCatalog implements rereadable.prepare for the catalog.
func (a *App) prepareCatalog(file string) (apply func() bool, err error) {
	o, err := config.ReadCatalog(file, &a.cfg)
	return func() bool { return a.dispatch.Catalog().SetOverlay(o) }, err
}

// observeCatalog registers the catalog's part of the settings with telemetry.
func (a *App) observeCatalog() []error {
	if a.curating.what == "" {
		return nil
	}
	return []error{a.telemetry.Observe(telemetry.CatalogExchanges, func(emit telemetry.Emit) { emit(float64(a.curating.exchanges.Load())) })}
}
