package rpc

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/logging"
)

// TLSConfig names the files of the server's identity. They may be renewed in place.
type TLSConfig struct {
	CertFile string `json:"certFile"`
	KeyFile  string `json:"keyFile"`
	// ClientCAFile, if not empty, lets callers show client certificates of these authorities instead of a token.
	ClientCAFile string `json:"clientCAFile"`
}

// Validate notes what is wrong, under key.
func (c TLSConfig) Validate(p *config.Problems, key string) {
	p.Required(key+".certFile", c.CertFile)
	p.Required(key+".keyFile", c.KeyFile)
}

// load reads the files.
func (c TLSConfig) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("tls.certFile and tls.keyFile: %w", err)
	}
	loaded := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}}
	if c.ClientCAFile == "" {
		return loaded, nil
	}
	text, err := os.ReadFile(c.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("tls.clientCAFile: %w", err)
	}
	loaded.ClientCAs, loaded.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
	if !loaded.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("tls.clientCAFile: %s holds no PEM certificate", c.ClientCAFile)
	}
	return loaded, nil
}

// reloading gives a configuration that reads the files for each connection. While they cannot be read, e.g. in the
// middle of a renewal, the last good ones serve.
func (c TLSConfig) reloading(log *slog.Logger) (*tls.Config, error) {
	first, err := c.load()
	if err != nil {
		return nil, err
	}
	var unreadable logging.Occasional
	var good atomic.Pointer[tls.Config]
	good.Store(first)
	serving := first.Clone()
	serving.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if fresh, err := c.load(); err != nil {
			unreadable.Warn(log, "certificates cannot be read, the former ones serve", "error", err)
		} else {
			good.Store(fresh)
		}
		return good.Load(), nil
	}
	return serving, nil
}
