package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// tokenAge is how long a token is sent before its file is read again. The kubelet renews it minutes before it ends; to
// read it for each of thousands of calls took 2.7 % of a controller's processor time.
const tokenAge = 10 * time.Second

// tokenFile sends the token in a file with every call.
type tokenFile struct {
	path string

	mu   sync.Mutex
	read time.Time
	// sent is what every call carries until the file is read again; it is never changed.
	sent map[string]string
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (f *tokenFile) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sent != nil && time.Since(f.read) < tokenAge {
		return f.sent, nil
	}
	text, err := os.ReadFile(f.path)
	token := strings.TrimSpace(string(text))
	if err == nil && token == "" {
		err = errors.New("the file is empty")
	}
	if err != nil {
		// gRPC passes only a status on as it is; the code is what the caller would get without the token.
		return nil, status.Errorf(codes.Unauthenticated, "read the token %s: %v", f.path, err)
	}
	f.read, f.sent = time.Now(), map[string]string{"authorization": "Bearer " + token}
	return f.sent, nil
}

// RequireTransportSecurity keeps the token from ever going over a plain connection.
func (*tokenFile) RequireTransportSecurity() bool { return true }

// transport is TLS that reads its files for every handshake, so that renewed certificates need no restart.
type transport struct {
	credentials.TransportCredentials // of the first reading, for all that is not a handshake

	cfg Config
}

func newTransport(cfg Config) (credentials.TransportCredentials, error) {
	first, err := readTransport(cfg)
	if err != nil {
		return nil, err
	}
	return &transport{TransportCredentials: first, cfg: cfg}, nil
}

func readTransport(cfg Config) (credentials.TransportCredentials, error) {
	text, err := os.ReadFile(cfg.CAFile)
	if err != nil {
		return nil, fmt.Errorf("CAFile: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("CAFile: %s holds no PEM certificate", cfg.CAFile)
	}
	loaded := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, ServerName: cfg.ServerName}
	if cfg.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(cfg.CertFile, cfg.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("CertFile and KeyFile: %w", err)
		}
		loaded.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(loaded), nil
}

// ClientHandshake implements credentials.TransportCredentials. gRPC repeats a failed one and returns its error only to the
// calls that come meanwhile, so it is logged here.
func (t *transport) ClientHandshake(ctx context.Context, authority string, conn net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	secure, auth, err := t.handshake(ctx, authority, conn)
	if err != nil {
		t.cfg.Logger.Warn("no TLS with the gateway", "address", conn.RemoteAddr().String(), "error", err)
		return nil, nil, err
	}
	return secure, auth, nil
}

func (t *transport) handshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	fresh, err := readTransport(t.cfg)
	if err != nil {
		return nil, nil, err
	}
	return fresh.ClientHandshake(ctx, authority, conn)
}

// Clone implements credentials.TransportCredentials.
func (t *transport) Clone() credentials.TransportCredentials {
	clone := *t
	clone.TransportCredentials = t.TransportCredentials.Clone()
	return &clone
}
