package certs

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An authority that is kept signs for the same clients after a restart.
func TestAuthorityIsKept(t *testing.T) {
	t.Parallel()
	dir, now := filepath.Join(t.TempDir(), "certs"), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first, err := Load(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(dir, now.Add(time.Hour))
	if err != nil || string(again.PEM()) != string(first.PEM()) {
		t.Fatalf("the second start has another authority (%v)", err)
	}
	certificate, err := again.Issue(now, "localhost", "127.0.0.1", "*.aliyuncs.com")
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(certificate.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(first.PEM())
	for _, name := range []string{"localhost", "127.0.0.1", "sts.aliyuncs.com"} {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: now}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, keyFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info.Mode(), err)
	}
}

func TestLoadRefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"no key": {certificateFile: "x"}, "no PEM": {certificateFile: "x", keyFile: "x"},
		"no keys": {certificateFile: "-----BEGIN X-----\n-----END X-----\n", keyFile: "-----BEGIN X-----\n-----END X-----\n"},
	} {
		dir := t.TempDir()
		for file, content := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Load(dir, time.Now()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
