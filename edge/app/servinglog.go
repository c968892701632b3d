package app

import "strings"

// logServing logs that requests are accepted at an endpoint: a URL, or another name of the
// transport.
func (a *App) logServing(endpoint string) {
	names := make([]string, 0, len(a.cfg.Backends))
	for i := range a.cfg.Backends {
		names = append(names, a.cfg.Backends[i].Name)
	}
	log := a.log.With("version", Version(), "endpoint", endpoint)
	if admin := a.AdminAddr(); admin != "" {
		log = log.With("admin", admin)
	}
	if a.cfg.File != "" {
		log = log.With("config", a.cfg.File)
	}
	log.Info("serving", "backends", strings.Join(names, ", "))
}

// logDraining logs that running calls have the grace period to end.
func (a *App) logDraining() {
	a.log.Info("draining", "delay", a.cfg.Shutdown.Delay, "grace", a.cfg.Shutdown.Grace)
}

// logStopped logs that serving has ended, and what could not be ended in order.
func (a *App) logStopped(err error) {
	if err != nil {
		a.log.Error("stopped", "error", err)
		return
	}
	a.log.Info("stopped")
}
