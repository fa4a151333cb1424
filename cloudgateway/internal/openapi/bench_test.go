package openapi

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkDo measures what a call costs beyond the cloud's own time, with a small answer and with a full page of instances, which is read or,
// as that to a change of a large vServer group, is not needed.
func BenchmarkDo(b *testing.B) {
	for _, tt := range []struct {
		size   int
		needed bool
	}{{1, true}, {300, true}, {300, false}} {
		b.Run(fmt.Sprintf("%dKiB/needed=%t", tt.size, tt.needed), func(b *testing.B) {
			body := `{"RequestId":"R","Items":["` + strings.Repeat(strings.Repeat("x", 61)+`","`, 16*tt.size) + `"]}`
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Acs-Request-Id", "R")
				if _, err := io.WriteString(w, body); err != nil {
					b.Error(err)
				}
			}))
			defer server.Close()
			host := strings.TrimPrefix(server.URL, "http://")
			client, err := New(Config{
				Region: "cn-test", Scheme: "HTTP", Endpoints: map[Product]string{ECS: host},
				Credentials: &fakeCredentials{keys: one(testKey)}, Budget: &fakeBudget{}, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				b.Fatal(err)
			}
			defer client.Close()
			for b.Loop() {
				var out any
				if tt.needed {
					out = &struct{ Items []string }{}
				}
				if _, err := client.Do(b.Context(), Call{Product: ECS, Action: "DescribeInstances"}, out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func one[T any](item T) []T { return []T{item} }
