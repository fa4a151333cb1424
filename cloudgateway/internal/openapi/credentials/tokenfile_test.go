package credentials

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// seal is the other side of decipher: PKCS #5 padding, AES-CBC, base64.
func seal(t testing.TB, keyring, text string) string {
	t.Helper()
	block, err := aes.NewCipher([]byte(keyring))
	if err != nil {
		t.Fatal(err)
	}
	padding := aes.BlockSize - len(text)%aes.BlockSize
	padded := append([]byte(text), bytes.Repeat([]byte{byte(padding)}, padding)...)
	iv := []byte("0123456789abcdef")
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(padded, padded)
	return base64.StdEncoding.EncodeToString(append(iv, padded...))
}

const keyring = "a-key-of-32-bytes-for-the-tests-"

func addonToken(t testing.TB, change map[string]string) string {
	t.Helper()
	document := map[string]string{
		"access.key.id": seal(t, keyring, "STS.1"), "access.key.secret": seal(t, keyring, "s3cret"),
		"security.token": seal(t, keyring, "t0ken"), "expiration": "2030-01-02T03:04:05Z", "keyring": keyring,
	}
	maps.Copy(document, change)
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func put(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAddonTokenFile(t *testing.T) {
	want := Credentials{AccessKeyID: "STS.1", AccessKeySecret: "s3cret", SecurityToken: "t0ken",
		Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	got, err := AddonTokenFile{Path: put(t, addonToken(t, nil))}.Fetch(t.Context())
	if got != want || err != nil {
		t.Errorf("Fetch = %v, %v, want %v", got, err, want)
	}
	for name, tt := range map[string]struct {
		change map[string]string
		want   string
	}{
		"no end":           {map[string]string{"expiration": ""}, "expiration is not a time"},
		"no keyring":       {map[string]string{"keyring": ""}, "keyring has 0 bytes, want 16, 24 or 32"},
		"another keyring":  {map[string]string{"keyring": strings.Repeat("x", 32)}, "keyring does not fit"},
		"not base64":       {map[string]string{"security.token": "?"}, "security.token: it is not base64"},
		"no cipher text":   {map[string]string{"access.key.secret": ""}, "access.key.secret: it has 0 bytes"},
		"incomplete block": {map[string]string{"access.key.id": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWZhYmM="}, "want a multiple of 16"},
	} {
		t.Run(name, func(t *testing.T) {
			path := put(t, addonToken(t, tt.change))
			_, err := AddonTokenFile{Path: path}.Fetch(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want %q with the path", err, tt.want)
			}
		})
	}
	if _, err := (AddonTokenFile{Path: put(t, "{")}).Fetch(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "not the JSON document") {
		t.Errorf("half a document: %v", err)
	}
	if _, err := (AddonTokenFile{Path: "/none"}).Fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "/none") {
		t.Errorf("no file: %v", err)
	}
}

func TestDecipherOpensWhatWasSealed(t *testing.T) {
	block, err := aes.NewCipher([]byte(keyring))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.String().Draw(r, "text")
		if got, err := decipher(block, seal(t, keyring, text)); got != text || err != nil {
			r.Errorf("%q became %q, %v", text, got, err)
		}
	})
}

func FuzzAddonToken(f *testing.F) {
	f.Add(addonToken(f, nil))
	f.Add(addonToken(f, map[string]string{"security.token": ""}))
	f.Add(`{"keyring":"0123456789abcdef","expiration":"2030-01-02T03:04:05Z","access.key.id":"TOPSECRET"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseAddonToken([]byte(text)); err != nil && strings.Contains(err.Error(), "TOPSECRET") {
			t.Errorf("the error shows a secret: %v", err)
		}
	})
}

func TestTokenFile(t *testing.T) {
	path := put(t, `{"AccessKeyId":"STS.1","AccessKeySecret":"s3cret","SecurityToken":"t0ken","Expiration":"2030-01-02T03:04:05Z"}`)
	want := Credentials{AccessKeyID: "STS.1", AccessKeySecret: "s3cret", SecurityToken: "t0ken",
		Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	if got, err := (TokenFile{Path: path}).Fetch(t.Context()); got != want || err != nil {
		t.Errorf("Fetch = %v, %v, want %v", got, err, want)
	}
	path = put(t, "TOPSECRET")
	_, err := TokenFile{Path: path}.Fetch(t.Context())
	if diff := cmp.Diff("the STS token file "+path+": not the JSON document that was expected", err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if _, err := (TokenFile{Path: "/none"}).Fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "/none") {
		t.Errorf("no file: %v", err)
	}
}

// TestChangedFileIsTaken: who writes the file need not wait for the end of what was in it.
func TestChangedFileIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		document := func(id string) []byte {
			return []byte(`{"AccessKeyId":"` + id + `","AccessKeySecret":"s","SecurityToken":"t","Expiration":"` +
				time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"}`)
		}
		path := put(t, string(document("STS.1")))
		p := keep(t, TokenFile{Path: path}, nil)
		if got := current(t, p); got != "STS.1" {
			t.Errorf("first: %s", got)
		}
		if err := os.WriteFile(path, document("STS.2"), 0o600); err != nil {
			t.Fatal(err)
		}
		after(31 * time.Second)
		if got := current(t, p); got != "STS.2" {
			t.Errorf("half a minute after the change: %s", got)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		after(10 * time.Minute)
		if got := current(t, p); got != "STS.2" {
			t.Errorf("while the file is broken: %s", got)
		}
	})
}
