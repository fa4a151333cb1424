package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/metadata"
)

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	files := Files{IDFile: write("id", "LTAI1\n"), SecretFile: write("secret", " s3cret \n")}
	got, err := files.Fetch(t.Context())
	if want := (Credentials{AccessKeyID: "LTAI1", AccessKeySecret: "s3cret"}); got != want || err != nil {
		t.Errorf("Fetch = %v, %v, want %v", got, err, want)
	}
	files.SecretFile = write("empty", "\n")
	files.IDFile = filepath.Join(dir, "none")
	_, err = files.Fetch(t.Context())
	if err == nil || !strings.Contains(err.Error(), "none") || !strings.Contains(err.Error(), "empty is empty") {
		t.Errorf("error %v does not name both files", err)
	}
}

// TestFilesReplacedWhileRead: the new key is taken, never the id of one with the secret of the other.
func TestFilesReplacedWhileRead(t *testing.T) {
	dir := t.TempDir()
	files := Files{IDFile: filepath.Join(dir, "id"), SecretFile: filepath.Join(dir, "secret")}
	// A pipe as the secret keeps the reader until somebody writes.
	if err := syscall.Mkfifo(files.SecretFile, 0o600); err != nil {
		t.Fatal(err)
	}
	put := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	put(files.IDFile, "old")
	var writer sync.WaitGroup
	writer.Go(func() {
		pipe, err := os.OpenFile(files.SecretFile, os.O_WRONLY, 0) // waits for the reader, which has read the id then
		if err != nil {
			t.Error(err)
			return
		}
		put(files.IDFile, "new")
		_, writeErr := pipe.WriteString("new secret")
		if err := errors.Join(writeErr, os.Remove(files.SecretFile)); err != nil {
			t.Error(err)
		}
		put(files.SecretFile, "new secret")
		if err := pipe.Close(); err != nil {
			t.Error(err)
		}
	})
	got, err := files.Fetch(t.Context())
	writer.Wait()
	if want := (Credentials{AccessKeyID: "new", AccessKeySecret: "new secret"}); got != want || err != nil {
		t.Errorf("Fetch = %v, %v, want %v", got, err, want)
	}
}

func TestEnvironment(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		want string
	}{
		{"short names", map[string]string{"ACCESS_KEY_ID": "a", "ACCESS_KEY_SECRET": "b"}, "a"},
		{"long names", map[string]string{"ALIBABA_CLOUD_ACCESS_KEY_ID": "c", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "d"}, "c"},
		{"half a pair does not count", map[string]string{"ACCESS_KEY_ID": "a", "ALIBABA_CLOUD_ACCESS_KEY_ID": "c",
			"ALIBABA_CLOUD_ACCESS_KEY_SECRET": "d"}, "c"},
		{"temporary", map[string]string{"ACCESS_KEY_ID": "STS.e", "ACCESS_KEY_SECRET": "f", "SECURITY_TOKEN": "g"}, "STS.e"},
		{"nothing", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{"ACCESS_KEY_ID", "ACCESS_KEY_SECRET", "SECURITY_TOKEN"} {
				t.Setenv(name, tt.env[name])
				t.Setenv("ALIBABA_CLOUD_"+name, tt.env["ALIBABA_CLOUD_"+name])
			}
			got, err := Environment{}.Fetch(t.Context())
			if want := tt.env["SECURITY_TOKEN"]; got.SecurityToken != want {
				t.Errorf("token %q, want %q", got.SecurityToken, want)
			}
			if got.AccessKeyID != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("Fetch = %v, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// items is a metadata service.
type items map[string]string

func (m items) Get(_ context.Context, item string) (string, error) {
	switch text, ok := m[item]; {
	case text == "fail":
		return "", errors.New("connection refused")
	case !ok:
		return "", fmt.Errorf("read metadata %s: %w", item, metadata.ErrNotFound)
	default:
		return text, nil
	}
}

func TestECSRole(t *testing.T) {
	const list = "ram/security-credentials/"
	good := `{"AccessKeyId":"STS.1","AccessKeySecret":"s","SecurityToken":"t","Expiration":"2030-01-02T03:04:05Z",` +
		`"LastUpdated":"2029-01-02T03:04:05Z","Code":"Success"}`
	want := Credentials{AccessKeyID: "STS.1", AccessKeySecret: "s", SecurityToken: "t", Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	tests := []struct {
		name    string
		items   items
		role    string
		want    Credentials
		wantErr string
	}{
		{name: "role given", items: items{list + "r": good}, role: "r", want: want},
		{name: "role asked for", items: items{list: "r", list + "r": good}, want: want},
		{name: "several roles", items: items{list: "r\nother", list + "r": good}, want: want},
		{name: "no role", items: items{}, wantErr: "the ECS instance has no RAM role; attach one, or configure an AccessKey"},
		{name: "wrong role", items: items{}, role: "r", wantErr: `the RAM role "r" is not attached to the ECS instance`},
		{name: "service away", items: items{list: "fail"}, wantErr: "find the instance's RAM role: connection refused"},
		{name: "service away later", items: items{list + "r": "fail"}, role: "r",
			wantErr: `get the credentials of RAM role "r": connection refused`},
		{name: "failed", items: items{list + "r": `{"Code":"Failed"}`}, role: "r",
			wantErr: `the credentials of RAM role "r": its code is Failed`},
		{name: "not JSON", items: items{list + "r": `"secret`}, role: "r",
			wantErr: `the credentials of RAM role "r": not the JSON document that was expected`},
		{name: "incomplete", items: items{list + "r": `{"AccessKeyId":"a"}`}, role: "r",
			wantErr: `the credentials of RAM role "r": SecurityToken or Expiration is missing`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ECSRole{Metadata: tt.items, Role: tt.role}.Fetch(t.Context())
			if got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tt.wantErr, text); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseTemporary(f *testing.F) {
	f.Add(`{"AccessKeyId":"STS.1","AccessKeySecret":"TOPSECRET","SecurityToken":"t","Expiration":"2030-01-02T03:04:05Z","Code":"Success"}`)
	f.Add(`{"AccessKeySecret":"TOPSECRET","Expiration":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseTemporary("file", []byte(text))
		if err == nil && (c.SecurityToken == "" || c.Expires.IsZero()) {
			t.Errorf("accepted %q", text)
		}
		if err != nil && strings.Contains(err.Error(), "TOPSECRET") {
			t.Errorf("the error shows a secret: %v", err)
		}
	})
}

func TestCredentialsDoNotPrint(t *testing.T) {
	c := Credentials{AccessKeyID: "LTAI1", AccessKeySecret: "s3cret", SecurityToken: "t0ken"}
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("x", "value", c, "pointer", &c, "nested", struct{ C Credentials }{c})
	encoded, err := json.Marshal(struct{ C Credentials }{c})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s", c, c, c, c), fmt.Sprintf("%v %+v", &c, struct{ C Credentials }{c}),
		string(encoded), log.String(),
	} {
		if strings.Contains(text, "s3cret") || strings.Contains(text, "t0ken") {
			t.Errorf("prints a secret: %s", text)
		}
	}
}
