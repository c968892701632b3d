package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/grpclog"
)

// grpcTo is the logger of gRPC's own lines; nil discards them.
var grpcTo atomic.Pointer[slog.Logger]

// gRPC accepts a logger only before its first use, which only a package's init can guarantee: a
// service in the same process may run before an edge is made.
func init() { grpclog.SetLoggerV2(grpcLogger{}) }

// logGRPC sends gRPC's own lines to a logger, at level debug: the backends log what matters of it.
// The last call wins, for the whole process.
func logGRPC(log *slog.Logger) { grpcTo.Store(log.With("component", "grpc")) }

// grpcLogger implements grpclog.LoggerV2.
type grpcLogger struct{}

var _ grpclog.LoggerV2 = grpcLogger{}

func (g grpcLogger) log(severity string, format func() string) {
	if log := grpcTo.Load(); log != nil && log.Enabled(context.Background(), slog.LevelDebug) {
		log.Debug(strings.TrimSpace(format()), "severity", severity)
	}
}

func (g grpcLogger) print(severity string, args []any) {
	g.log(severity, func() string { return fmt.Sprint(args...) })
}

func (g grpcLogger) println(severity string, args []any) {
	g.log(severity, func() string { return fmt.Sprintln(args...) })
}

func (g grpcLogger) printf(severity, format string, args []any) {
	g.log(severity, func() string { return fmt.Sprintf(format, args...) })
}

// Info and the others are gRPC's.
func (g grpcLogger) Info(args ...any)                    { g.print("info", args) }
func (g grpcLogger) Infoln(args ...any)                  { g.println("info", args) }
func (g grpcLogger) Infof(format string, args ...any)    { g.printf("info", format, args) }
func (g grpcLogger) Warning(args ...any)                 { g.print("warning", args) }
func (g grpcLogger) Warningln(args ...any)               { g.println("warning", args) }
func (g grpcLogger) Warningf(format string, args ...any) { g.printf("warning", format, args) }
func (g grpcLogger) Error(args ...any)                   { g.print("error", args) }
func (g grpcLogger) Errorln(args ...any)                 { g.println("error", args) }
func (g grpcLogger) Errorf(format string, args ...any)   { g.printf("error", format, args) }

// Fatal and the others end the process, as gRPC relies on.
func (g grpcLogger) Fatal(args ...any)                 { g.die(fmt.Sprint(args...)) }
func (g grpcLogger) Fatalln(args ...any)               { g.die(fmt.Sprintln(args...)) }
func (g grpcLogger) Fatalf(format string, args ...any) { g.die(fmt.Sprintf(format, args...)) }

func (g grpcLogger) die(text string) {
	if log := grpcTo.Load(); log != nil {
		log.Error(strings.TrimSpace(text))
	}
	os.Exit(1)
}

// V returns false: verbose details are not wanted.
func (g grpcLogger) V(int) bool { return false }
