package front

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/pipes"
)

// served lets a client have a connection to a server of the front with a handler.
func served(t *testing.T, handler http.HandlerFunc, leaves func() bool) net.Conn {
	t.Helper()
	f := &Front{cfg: Config{Logger: slog.New(slog.DiscardHandler)}}
	server := f.server(handler, func(net.Conn, bool) {}, leaves)
	listener, ended := pipes.Listen(), make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	near, err := listener.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = near.Close()
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return near
}

// TestAnswersThatNobodyReads: a tool has 30 seconds to read an answer, be it the cloud's or a refusal, and be it that it
// reads a little of it. Then it loses its connection, and the call is over.
func TestAnswersThatNobodyReads(t *testing.T) {
	t.Parallel()
	answers := map[string]http.HandlerFunc{
		"the cloud's": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		},
		"a refusal": func(w http.ResponseWriter, _ *http.Request) {
			refuse(http.StatusForbidden, "Forbidden.RAM", strings.Repeat("x", 1<<14)).write(w, "R", false)
		},
	}
	for name, answer := range answers {
		for _, reads := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				over := make(chan time.Duration, 1)
				conn := served(t, func(w http.ResponseWriter, r *http.Request) {
					begun := time.Now()
					answer(w, r)
					over <- time.Since(begun)
				}, func() bool { return false })
				if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: front\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				for range 4 * writing / time.Second {
					<-time.After(time.Second)
					if !reads {
						continue
					}
					_ = conn.SetReadDeadline(time.Now())
					if _, err := conn.Read(make([]byte, 10)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
						break
					}
				}
				select {
				case took := <-over:
					if took != writing {
						t.Errorf("%s, reads %t: the call was over after %s", name, reads, took)
					}
				default:
					t.Fatalf("%s, reads %t: the call goes on after %s", name, reads, 4*writing)
				}
				if _, err := conn.Write([]byte("GET / HTTP/1.1\r\n")); !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("%s, reads %t: the connection is open: %v", name, reads, err)
				}
			})
		}
	}
}

// TestLastAnswers: the answers of a replica that leaves end their connections.
func TestLastAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		leaves := false
		conn := served(t, func(w http.ResponseWriter, _ *http.Request) {
			refuse(http.StatusForbidden, "Forbidden.RAM", "no").write(w, "R", false)
		}, func() bool { return leaves })
		answers := bufio.NewReader(conn)
		for _, leaves = range []bool{false, true} {
			if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: front\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(io.Discard, answer.Body)
			if err = errors.Join(err, answer.Body.Close()); err != nil || answer.Close != leaves {
				t.Errorf("leaves: %t, and the answer ends the connection: %t, %v", leaves, answer.Close, err)
			}
			synctest.Wait()
		}
		if _, err := answers.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("the connection is open: %v", err)
		}
	})
}
