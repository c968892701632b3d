package admin

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// levels are the names of the setting log.level.
var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

func writeLevel(w http.ResponseWriter, level *slog.LevelVar) {
	_, _ = fmt.Fprintln(w, strings.ToLower(level.Level().String()))
}

// setLevel sets the level named in the body, until the process ends.
func setLevel(w http.ResponseWriter, r *http.Request, level *slog.LevelVar, acts operations) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64))
	name := strings.ToLower(strings.TrimSpace(string(body)))
	next, ok := levels[name]
	if err != nil || !ok {
		http.Error(w, fmt.Sprintf("%.20q is not a level: send debug, info, warn or error", name), http.StatusBadRequest)
		return
	}
	web.WasRead(w)
	err = acts.do(r.Context(), Act{Method: ActLogLevel, Target: name}, func() error {
		level.Set(next)
		return nil
	})
	if err != nil {
		web.RetryAfter(w, http.StatusServiceUnavailable, retryAfter(err))
		http.Error(w, status.Convert(err).Message(), http.StatusServiceUnavailable)
		return
	}
	writeLevel(w, level)
}
