package front

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"alicloud-controllers.dev/proto/tlstest"

	"alicloud-controllers.dev/cloudgateway/internal/pipes"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// TestClosedForAnother: of a request that comes while its connection is closed for another one, nothing is done: its nonce stays good, and
// the tool can send it once more.
func TestClosedForAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tlstest.Issue(t, dir, "server")
	listener := pipes.Listen()
	guard, err := rpc.NewGuard(listener, rpc.TLSConfig{CertFile: filepath.Join(dir, "server.crt"), KeyFile: filepath.Join(dir, "server.key")},
		nil, 0, limits(), nil, func(string, string) {}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	var dialling sync.WaitGroup
	dialling.Go(func() {
		if near, err := listener.Dial(t.Context(), "", ""); err == nil {
			_ = near.Close()
		}
	})
	conn, err := guard.Accept()
	if err != nil {
		t.Fatal(err)
	}
	dialling.Wait()
	_ = conn.(*tls.Conn).NetConn().Close() // As the one that has been idle for longest.
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("got %v", err)
		}
	}()
	s := &session{Front: &Front{}, guard: guard}
	request := httptest.NewRequestWithContext(context.WithValue(t.Context(), connectionKey{}, conn), http.MethodGet, "/", nil)
	s.ServeHTTP(httptest.NewRecorder(), request)
}
