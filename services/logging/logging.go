// Package logging makes the process's one logger, leads the logs of libraries into it, and keeps secrets out of it.
package logging

import (
	"fmt"
	"io"
	"log/slog"

	"k8s.io/klog/v2"

	"google.golang.org/grpc/grpclog"

	"alicloud-controllers.dev/services/config"
)

// Config describes the logger.
type Config struct {
	// Level is "debug", "info", "warn" or "error". Default: info.
	Level string `json:"level"`
	// Format is "json" or "text". Default: json.
	Format string `json:"format"`
}

// Validate notes what is wrong, under key.
func (c Config) Validate(p *config.Problems, key string) {
	p.OneOf(key+".level", c.level(), "debug", "info", "warn", "error")
	p.OneOf(key+".format", c.format(), "json", "text")
}

func (c Config) level() string  { return either(c.Level, "info") }
func (c Config) format() string { return either(c.Format, "json") }

func either(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// New makes a logger that writes to w and redacts secrets.
func New(cfg Config, w io.Writer) (*slog.Logger, error) {
	var p config.Problems
	cfg.Validate(&p, "logging")
	if err := p.Err(); err != nil {
		return nil, err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.level())); err != nil {
		return nil, fmt.Errorf("logging.level: %w", err)
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: redactAttr}
	if cfg.format() == "text" {
		return slog.New(slog.NewTextHandler(w, options)), nil
	}
	return slog.New(slog.NewJSONHandler(w, options)), nil
}

// Bridge leads the logs of client-go (klog) and gRPC into log. They have process-wide loggers, so main calls it once, before
// anything else runs.
func Bridge(log *slog.Logger) {
	klog.SetSlogLogger(log.With("library", "client-go"))
	grpclog.SetLoggerV2(&grpcLogger{log: log.With("library", "grpc")})
}
