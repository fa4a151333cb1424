package e2e

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/status"
)

// planted is a secret that the cloud and what stands before it put into their answers, as if the gateway had sent it to them.
const planted = "PLANTEDsecurityToken5f3a"

// evidence is what a world let others see: pages, and the answers that callers got.
type evidence struct {
	mu    sync.Mutex
	texts map[string]string
}

func (e *evidence) add(what, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.texts[what] += text + "\n"
}

// saw keeps an error that a caller got, with all details of its status.
func (e *evidence) saw(what string, err error) {
	if err != nil {
		e.add("the error of "+what, fmt.Sprintf("%v\n%+v\n%v\n%v", err, err, status.Convert(err).Proto(), status.Convert(err).Details()))
	}
}

// collect adds what the running processes show on their pages.
func (w testWorld) collect(t *testing.T) {
	t.Helper()
	for _, name := range w.Ours() {
		if !w.Process(name).Running() {
			continue
		}
		base, pages := w.AdminURL(name), []string{"/metrics", "/readyz", "/version", "/debug/pprof/cmdline"}
		if name == "openapisim" {
			base, pages = w.Cloud().URL(), []string{"/admin/calls", "/admin/faults", "/admin/limits", "/console"}
		}
		for _, page := range pages {
			text, err := fetch(t.Context(), base+page)
			for begun := time.Now(); err != nil && time.Since(begun) < patience; <-time.After(pollInterval) {
				text, err = fetch(t.Context(), base+page) // One that has just been started again doesn't listen yet.
			}
			if err != nil {
				t.Errorf("read page of %s: %v", name, err)
				break
			}
			w.seen.add("the page "+page+" of "+name, text)
		}
	}
}

// fetch reads a page, whatever its status: one that is refused can say too much as well.
func fetch(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode == http.StatusNotFound || len(text) == 0) {
		err = fmt.Errorf("%s: %s, %d bytes", url, resp.Status, len(text))
	}
	return string(text), err
}

// checkSecrets fails when a log, a page or an answer has a secret, a token or a signature, and when a log has the report of a data
// race or a panic.
func (w testWorld) checkSecrets(t *testing.T) {
	t.Helper()
	texts := maps.Clone(w.seen.texts)
	for _, name := range w.Ours() {
		log, err := os.ReadFile(w.Process(name).LogFile())
		if err != nil {
			t.Errorf("read log: %v", err)
		}
		texts["the log of "+name] = string(log)
		search(t, "the log of "+name, string(log), map[string]string{"a data race": "WARNING: DATA RACE", "a panic": "panic:"})
	}
	secrets := w.secrets(t)
	for where, text := range texts {
		search(t, where, strings.ReplaceAll(text, "=REDACTED", ""), secrets)
	}
}

// secrets are what must not be seen, by what it is.
func (w testWorld) secrets(t *testing.T) map[string]string {
	t.Helper()
	secrets := map[string]string{
		"the AccessKeySecret": w.AccessKeySecret(), "a signature": "Signature=", "a signature in JSON": `"Signature":`,
		"a security token": "SecurityToken=", "a JSON web token": "eyJhbGciOi", "a private key": "PRIVATE KEY-----",
		"a token that the cloud quoted": planted,
	}
	tokens, err := filepath.Glob(filepath.Join(w.Dir(), "secrets", "*.token"))
	if err != nil || len(tokens) == 0 {
		t.Fatalf("find tokens: %v, %d found", err, len(tokens))
	}
	for _, file := range tokens {
		token, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("read token: %v", err)
		}
		secrets["the token "+filepath.Base(file)] = string(token)
	}
	return secrets
}

func search(t *testing.T, where, text string, wanted map[string]string) {
	t.Helper()
	for what, needle := range wanted {
		if at := strings.Index(text, needle); at >= 0 {
			t.Errorf("%s has %s:\n%s", where, what, text[max(0, at-200):min(len(text), at+2000)])
		}
	}
}
