package kube_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/kube"
)

func TestNewClient(t *testing.T) {
	t.Parallel()
	agent := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent <- r.UserAgent()
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
	kubeconfig.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	kubeconfig.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		t.Fatal(err)
	}
	client, err := kube.NewClient(kube.Config{Kubeconfig: path}, "lbcontroller/test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Discovery().ServerVersion(); err == nil {
		t.Error("a 404 is no error")
	}
	if got := <-agent; got != "lbcontroller/test" {
		t.Errorf("user agent = %q", got)
	}
}

func TestNewClientErrors(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	if _, err := kube.NewClient(kube.Config{Kubeconfig: none}, "x"); err == nil || !strings.HasPrefix(err.Error(), "kubernetes.kubeconfig: ") {
		t.Errorf("a missing kubeconfig gives %v", err)
	}
	if os.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		if _, err := kube.NewClient(kube.Config{}, "x"); err == nil || !strings.Contains(err.Error(), "this is not a pod") {
			t.Errorf("outside of a pod: %v", err)
		}
	}
	var p config.Problems
	kube.Config{QPS: -1, Burst: -1}.Validate(&p, "kubernetes")
	want := "kubernetes.qps: -1 is below zero\nkubernetes.burst: -1 is below zero"
	if err := p.Err(); err == nil || err.Error() != want {
		t.Errorf("Validate = %v, want %s", err, want)
	}
}
