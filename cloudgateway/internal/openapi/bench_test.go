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

// BenchmarkDo measures what a call costs beyond the cloud's own time: a read with a small answer, one with a full page
// of instances, and a change of a large vServer group, whose answer is as large and not needed.
func BenchmarkDo(b *testing.B) {
	servers := "[" +
		strings.Repeat(
			`{"ServerId":"i-bp1a2b3c4d5e6f7g8h9i","Type":"ecs","Port":"30000","Weight":"100","Description":"k8s/80/web/c-1"},`, 40) + "{}]"
	read := Call{Product: ECS, Action: "DescribeInstances"}
	change := Call{Product: SLB, Action: "AddVServerGroupBackendServers", Params: map[string]string{"BackendServers": servers}, Mutating: true}
	for _, tt := range []struct {
		call   Call
		size   int
		needed bool
	}{{read, 1, true}, {read, 300, true}, {change, 300, false}} {
		b.Run(fmt.Sprintf("%s/%dKiB", tt.call.Action, tt.size), func(b *testing.B) {
			body := `{"RequestId":"R","Items":["` + strings.Repeat(strings.Repeat("x", 61)+`","`, 16*tt.size) + `"]}`
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Acs-Request-Id", "R")
				if _, err := io.WriteString(w, body); err != nil {
					b.Error(err)
				}
			}))
			defer server.Close()
			host := strings.TrimPrefix(server.URL, "http://")
			client := New(Config{
				Region: "cn-test", Scheme: "HTTP", Endpoints: map[Product]string{ECS: host, SLB: host},
				Credentials: &fakeCredentials{keys: one(testKey)}, Budget: &fakeBudget{}, Logger: slog.New(slog.DiscardHandler),
			})
			defer client.Close()
			b.ReportAllocs()
			for b.Loop() {
				var out any
				if tt.needed {
					out = &struct{ Items []string }{}
				}
				if _, err := client.Do(b.Context(), tt.call, out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func one[T any](item T) []T { return []T{item} }
