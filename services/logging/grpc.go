package logging

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// grpcLogger implements grpclog.LoggerV2. What gRPC calls info is of interest for debugging only, and what it calls an error
// is mostly the other side's going away, which shows in the calls that fail.
type grpcLogger struct{ log *slog.Logger }

func (l *grpcLogger) Info(args ...any)                    { l.log.Debug(fmt.Sprint(args...)) }
func (l *grpcLogger) Infoln(args ...any)                  { l.log.Debug(line(args)) }
func (l *grpcLogger) Infof(format string, args ...any)    { l.log.Debug(fmt.Sprintf(format, args...)) }
func (l *grpcLogger) Warning(args ...any)                 { l.log.Info(fmt.Sprint(args...)) }
func (l *grpcLogger) Warningln(args ...any)               { l.log.Info(line(args)) }
func (l *grpcLogger) Warningf(format string, args ...any) { l.log.Info(fmt.Sprintf(format, args...)) }
func (l *grpcLogger) Error(args ...any)                   { l.log.Warn(fmt.Sprint(args...)) }
func (l *grpcLogger) Errorln(args ...any)                 { l.log.Warn(line(args)) }
func (l *grpcLogger) Errorf(format string, args ...any)   { l.log.Warn(fmt.Sprintf(format, args...)) }

func (l *grpcLogger) Fatal(args ...any) {
	l.log.Error(fmt.Sprint(args...))
	os.Exit(1)
}

func (l *grpcLogger) Fatalln(args ...any) {
	l.log.Error(line(args))
	os.Exit(1)
}

func (l *grpcLogger) Fatalf(format string, args ...any) {
	l.log.Error(fmt.Sprintf(format, args...))
	os.Exit(1)
}

// V turns gRPC's verbose logs off.
func (l *grpcLogger) V(int) bool { return false }

func line(args []any) string { return strings.TrimSuffix(fmt.Sprintln(args...), "\n") }
