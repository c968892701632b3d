package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestLogGRPC(t *testing.T) {
	var out bytes.Buffer
	g := grpcLogger{}
	g.Info("before anybody listens: nowhere")
	logGRPC(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer grpcTo.Store(nil)
	g.Info("one")
	g.Infoln("two")
	g.Infof("%d", 3)
	g.Warning("four")
	g.Warningln("five")
	g.Warningf("%d", 6)
	g.Error("seven")
	g.Errorln("eight")
	g.Errorf("%d", 9)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 9 || !strings.Contains(lines[1], "msg=two component=grpc severity=info") || !strings.Contains(lines[8], "msg=9 component=grpc severity=error") {
		t.Fatalf("logged:\n%s", out.String())
	}
	out.Reset()
	logGRPC(slog.New(slog.NewTextHandler(&out, nil)))
	g.Error("nothing")
	if out.Len() != 0 || g.V(0) {
		t.Fatalf("logged %q above debug", out.String())
	}
}
