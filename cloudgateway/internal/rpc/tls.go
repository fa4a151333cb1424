package rpc

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

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

// stamp identifies the state of the files: it changes when one of them does. Settled is false if one has changed so lately that it could
// change again and keep its time, which file systems do not keep exactly.
func (c TLSConfig) stamp() (stamp string, settled bool) {
	const tick = 2 * time.Second
	settled = true
	for _, path := range []string{c.CertFile, c.KeyFile, c.ClientCAFile} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return "", false
		}
		stamp += fmt.Sprintf("%d %d,", info.ModTime().UnixNano(), info.Size())
		settled = settled && time.Since(info.ModTime()) > tick
	}
	return stamp, settled
}

// reloading gives a configuration that reads the files anew when they have changed. While they cannot be read, e.g. in the middle of
// a renewal, the last good ones serve.
func (c TLSConfig) reloading(log *slog.Logger) (*tls.Config, error) {
	first, err := c.load()
	if err != nil {
		return nil, err
	}
	var unreadable logging.Occasional
	var mu sync.Mutex
	good, loaded := first, "" // of the stamp loaded
	serving := first.Clone()
	serving.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		stamp, settled := c.stamp()
		if stamp != "" && stamp == loaded {
			return good, nil
		}
		fresh, err := c.load()
		if err != nil {
			unreadable.Warn(log, "certificates cannot be read, the former ones serve", "error", err)
			return good, nil
		}
		if good = fresh; settled {
			loaded = stamp
		}
		return good, nil
	}
	return serving, nil
}
