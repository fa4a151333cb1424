package openapisim

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// shutdownGrace is how long calls in flight may take once the simulator begins to stop.
const shutdownGrace = 2 * time.Second

// Start listens on loopback and serves until ctx ends. Addresses names endpoints and where they listen ("host:port"); nil
// stands for all of them on free ports. It returns when every endpoint can be called; [Simulator.Wait] waits for the end.
func (s *Simulator) Start(ctx context.Context, addresses map[string]string) error {
	if addresses == nil {
		addresses = make(map[string]string, len(s.handlers))
		for name := range s.handlers {
			addresses[name] = "127.0.0.1:0"
		}
	}
	var problems []error
	for name, address := range addresses {
		if s.handlers[name] == nil {
			problems = append(problems, fmt.Errorf("unknown endpoint %q; known are %s", name, strings.Join(s.names(), ", ")))
			continue
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			problems = append(problems, fmt.Errorf("listen for %s: %w", name, err))
			continue
		}
		if name == tlsEndpoint || name == frontEndpoint {
			config, err := s.serverTLS(s.authority)
			if err != nil {
				problems = append(problems, err)
			}
			if name == tlsEndpoint {
				listener = tls.NewListener(listener, config)
			} else {
				listener = eitherListener{listener, config}
			}
		}
		s.listeners[name] = listener
	}
	if err := errors.Join(problems...); err != nil {
		for _, listener := range s.listeners {
			_ = listener.Close() // what matters is why it is closed
		}
		clear(s.listeners)
		return err
	}
	for name, listener := range s.listeners {
		s.serve(ctx, name, listener)
	}
	if s.plane != nil {
		s.serving.Go(func() { s.plane.Run(ctx) })
	}
	if s.cfg.StateDir != "" {
		for _, p := range s.places {
			s.serving.Go(func() { p.keep(ctx.Done()) })
		}
	}
	return nil
}

func (s *Simulator) serve(ctx context.Context, name string, listener net.Listener) {
	server := &http.Server{
		Handler:           s.handlers[name],
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	s.serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("endpoint stopped serving", "endpoint", name, "error", err)
		}
	})
	s.serving.Go(func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close() // calls in flight have had their time
		}
	})
}

// Wait returns when a started simulator has stopped, which it does when the context of Start ends.
func (s *Simulator) Wait() { s.serving.Wait() }

// Endpoint returns the address ("host:port") of an endpoint of a started simulator, or "".
func (s *Simulator) Endpoint(name string) string {
	if listener := s.listeners[name]; listener != nil {
		return listener.Addr().String()
	}
	return ""
}

// Admin returns the URL of the admin API of a started simulator.
func (s *Simulator) Admin() string { return "http://" + s.Endpoint("admin") }

func (s *Simulator) names() []string { return slices.Sorted(maps.Keys(s.handlers)) }
