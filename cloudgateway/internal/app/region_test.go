package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// leaveOutRegion has the file without a region, and another metadata service.
func (w *world) leaveOutRegion(metadata string) {
	w.t.Helper()
	text, err := os.ReadFile(w.file)
	if err != nil {
		w.t.Fatal(err)
	}
	w.write("gateway.yaml", strings.Replace(string(text), "region: cn-hangzhou", "metadataEndpoint: "+metadata, 1))
}

// TestRegionOfTheInstance: a gateway without a configured region takes that of the metadata service, and reports it to its callers.
func TestRegionOfTheInstance(t *testing.T) {
	w := newWorld(t)
	w.leaveOutRegion("http://" + w.serve("metadata"))
	w.start()
	client := w.dial("writer")
	if err := create(t.Context(), client); err != nil {
		t.Error(err)
	}
	answer, err := client.Capabilities.GetCapabilities(t.Context(), &commonv1.GetCapabilitiesRequest{})
	if err != nil || answer.GetRegionId() != "cn-hangzhou" {
		t.Errorf("the gateway works in %q, %v", answer.GetRegionId(), err)
	}
}

// TestFirstCredentials: a gateway whose credentials take a while serves when it has them. The first caller is not refused.
func TestFirstCredentials(t *testing.T) {
	w := newWorld(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	ask := sync.OnceFunc(func() { close(asked) })
	slow := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		ask()
		<-answer
		w.sim.Handler("metadata").ServeHTTP(out, r)
	}))
	defer slow.Close()
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	role := regexp.MustCompile("(?m)^credentials:.*$").ReplaceAllString(string(text), "credentials: {ecsRAMRole: {}}")
	w.write("gateway.yaml", role+"metadataEndpoint: "+slow.URL+"\n")
	w.start()
	<-asked
	conn, err := gateway.Dial(gateway.Config{
		Address: w.addr, CAFile: filepath.Join(w.dir, "tls.crt"), ServerName: "cloudgateway", TokenFile: w.write("token", "writer"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Ready(t.Context()); err == nil {
		t.Error("it serves without having credentials")
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	close(answer)
	if err := create(t.Context(), w.dial("writer")); err != nil {
		t.Error(err)
	}
}

// TestNoRegion: where there is no metadata service, or something else in its place, the error names the setting and what to write.
func TestNoRegion(t *testing.T) {
	for name, elsewhere := range map[string]http.Handler{
		"nothing": http.NotFoundHandler(),
		"a page":  http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(out, "<html>") }),
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(elsewhere)
			defer server.Close()
			w := newWorld(t)
			w.leaveOutRegion(server.URL)
			cfg, _, err := config.Load(w.file, "", func(string) string { return "" })
			if err != nil {
				t.Fatal(err)
			}
			log, err := logging.New(cfg.Logging, &w.log)
			if err != nil {
				t.Fatal(err)
			}
			_, starting := New(t.Context(), cfg, log)
			_, examining := Examine(t.Context(), cfg, nil, nil, log)
			for _, err := range []error{starting, examining} {
				if err == nil || !strings.HasPrefix(err.Error(), "region: ") || !strings.Contains(err.Error(), "cn-hangzhou") {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}
