package admin_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/proto/tlstest"
	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/config"
)

// shown serves with a configuration and returns a function that gives the certificate which a new client is shown.
func shown(t *testing.T, cfg admin.Config) func() *x509.Certificate {
	t.Helper()
	cfg.Listen = "127.0.0.1:0"
	server, err := admin.New(t.Context(), cfg, nil, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	return func() *x509.Certificate {
		dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		conn, err := dialer.DialContext(t.Context(), "tcp", server.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
	}
}

// TestCertificate: a certificate from files is renewed without a restart, and the last good one serves while they can't be read.
func TestCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tlstest.Issue(t, dir, "admin")
	certFile, keyFile := filepath.Join(dir, "admin.crt"), filepath.Join(dir, "admin.key")
	now := shown(t, admin.Config{Authentication: true, CertFile: certFile, KeyFile: keyFile})
	first := now()
	if err := os.WriteFile(keyFile, []byte("half of a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := now(); !bytes.Equal(got.Raw, first.Raw) {
		t.Error("in the middle of a renewal, another certificate is shown")
	}
	tlstest.Issue(t, dir, "admin")
	if got := now(); bytes.Equal(got.Raw, first.Raw) {
		t.Error("the former certificate is still shown")
	}
}

// TestOwnCertificate: without files, what passes on the network is encrypted all the same.
func TestOwnCertificate(t *testing.T) {
	t.Parallel()
	if got := shown(t, admin.Config{Authentication: true})(); got.Subject.CommonName != "admin" {
		t.Errorf("the certificate of %s is shown", got.Subject)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cfg  admin.Config
		want string
	}{
		"open":       {cfg: admin.Config{Listen: ":1"}},
		"own":        {cfg: admin.Config{Listen: ":1", Authentication: true}},
		"files":      {cfg: admin.Config{Listen: ":1", Authentication: true, CertFile: "c", KeyFile: "k"}},
		"half":       {cfg: admin.Config{Listen: ":1", Authentication: true, CertFile: "c"}, want: "admin: certFile and keyFile"},
		"no effect":  {cfg: admin.Config{Listen: ":1", CertFile: "c", KeyFile: "k"}, want: "admin.certFile: has no effect"},
		"no address": {want: "admin.listen"},
	} {
		var p config.Problems
		tt.cfg.Validate(&p, "admin")
		if err := p.Err(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	cfg := admin.Config{Listen: "127.0.0.1:0", Authentication: true, CertFile: "/nowhere", KeyFile: "/nowhere"}
	if _, err := admin.New(t.Context(), cfg, nil, slog.New(slog.DiscardHandler), prometheus.NewRegistry()); err == nil ||
		!strings.Contains(err.Error(), "admin.certFile") {
		t.Errorf("files that are not there give %v", err)
	}
}
