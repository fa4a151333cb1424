package logging

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// grpcLogger implements grpclog.LoggerV2. What gRPC calls info is of interest for debugging only, and what it calls an error
// is mostly the other side's going away, which shows in the calls that fail.
type grpcLogger struct{ log *slog.Logger }

func (l *grpcLogger) Info(args ...any)   { l.say(slog.LevelDebug, fmt.Sprint(args...)) }
func (l *grpcLogger) Infoln(args ...any) { l.say(slog.LevelDebug, fmt.Sprintln(args...)) }
func (l *grpcLogger) Infof(format string, args ...any) {
	l.say(slog.LevelDebug, fmt.Sprintf(format, args...))
}

func (l *grpcLogger) Warning(args ...any)   { l.say(slog.LevelInfo, fmt.Sprint(args...)) }
func (l *grpcLogger) Warningln(args ...any) { l.say(slog.LevelInfo, fmt.Sprintln(args...)) }
func (l *grpcLogger) Warningf(format string, args ...any) {
	l.say(slog.LevelInfo, fmt.Sprintf(format, args...))
}

func (l *grpcLogger) Error(args ...any)   { l.say(slog.LevelWarn, fmt.Sprint(args...)) }
func (l *grpcLogger) Errorln(args ...any) { l.say(slog.LevelWarn, fmt.Sprintln(args...)) }
func (l *grpcLogger) Errorf(format string, args ...any) {
	l.say(slog.LevelWarn, fmt.Sprintf(format, args...))
}

func (l *grpcLogger) Fatal(args ...any)                 { l.die(fmt.Sprint(args...)) }
func (l *grpcLogger) Fatalln(args ...any)               { l.die(fmt.Sprintln(args...)) }
func (l *grpcLogger) Fatalf(format string, args ...any) { l.die(fmt.Sprintf(format, args...)) }

// V turns gRPC's verbose logs off.
func (l *grpcLogger) V(int) bool { return false }

func (l *grpcLogger) say(level slog.Level, text string) {
	l.log.Log(context.Background(), level, "gRPC says", "text", strings.TrimSuffix(text, "\n"))
}

// die ends the process, as the interface demands.
func (l *grpcLogger) die(text string) {
	l.say(slog.LevelError, text)
	os.Exit(1)
}
