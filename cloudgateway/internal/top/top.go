// Package top shows in a terminal how the rate limits of the account are used, and by whom.
package top

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

const (
	// A picture is written over the one before: each of its lines erases what is left of the old one, and its end what is below.
	home, eraseLine, eraseRest = "\x1b[H", "\x1b[K", "\x1b[J"
	// patience bounds one question.
	patience = 10 * time.Second
)

// Config says what is shown, and where.
type Config struct {
	// Status asks the gateway.
	Status commonv1.StatusServiceClient
	// Interval is the time between two pictures; 0: there is one.
	Interval time.Duration
	// JSON is the form for scripts, which is one object with the fields of GetStatusResponse.
	JSON bool
	Out  io.Writer
}

// Run shows the status, again and again until ctx ends if there is an interval. Then an answer that is missing is shown as well, and tried again.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Interval <= 0 {
		return cfg.once(ctx)
	}
	ticks := time.NewTicker(cfg.Interval)
	defer ticks.Stop()
	for {
		status, err := cfg.ask(ctx)
		if ctx.Err() != nil {
			return nil
		}
		picture := table(status, false)
		if err != nil {
			picture = []byte(err.Error() + "\n")
		}
		picture = bytes.ReplaceAll(picture, []byte("\n"), []byte(eraseLine+"\n"))
		if _, err := fmt.Fprintf(cfg.Out, "%s%s%s", home, picture, eraseRest); err != nil {
			return err
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (cfg Config) once(ctx context.Context) error {
	status, err := cfg.ask(ctx)
	if err != nil {
		return err
	}
	text := table(status, true)
	if cfg.JSON {
		if text, err = (protojson.MarshalOptions{Multiline: true, EmitDefaultValues: true}).Marshal(status); err != nil {
			return fmt.Errorf("write the status as JSON: %w", err)
		}
		text = append(text, '\n')
	}
	_, err = cfg.Out.Write(text)
	return err
}

func (cfg Config) ask(ctx context.Context) (*commonv1.GetStatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	status, err := cfg.Status.GetStatus(ctx, &commonv1.GetStatusRequest{})
	if err != nil {
		return nil, fmt.Errorf("ask the gateway for its status: %w", err)
	}
	return status, nil
}
