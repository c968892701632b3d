package app

import (
	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// reportFull logs that callers are refused for lack of memory.
func (a *App) reportFull(f budget.Full) {
	a.log.Warn("memory is in use; callers that hold more than an equal share are refused",
		"refusals", f.Refusals, "last", f.Holder, "for", f.Purpose.String(), "asked", config.Bytes(f.Bytes), "holds", config.Bytes(f.Own),
		"share", config.Bytes(f.Share), "used", config.Bytes(f.Used), "limit", config.Bytes(f.Limit), "callers", f.Holders)
}

// observeMemory registers the budget with telemetry.
func (a *App) observeMemory() []error {
	by := func(of func(*budget.Budget, budget.Purpose) int64) func(telemetry.Emit) {
		return func(emit telemetry.Emit) {
			for _, w := range budget.All() {
				emit(float64(of(a.memory, w)), telemetry.AttrMemory.String(w.String()))
			}
		}
	}
	return []error{
		a.telemetry.Observe(telemetry.MemoryAdmitted, by((*budget.Budget).UsedFor)),
		a.telemetry.Observe(telemetry.MemoryRefused, by((*budget.Budget).Refused)),
		a.telemetry.Observe(telemetry.MemoryLimit, func(emit telemetry.Emit) { emit(float64(a.memory.Limit())) }),
		a.telemetry.Observe(telemetry.MemoryHolders, func(emit telemetry.Emit) {
			_, holders := a.memory.Used()
			emit(float64(holders))
		}),
	}
}
