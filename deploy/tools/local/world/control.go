package world

import (
	"context"
	"crypto/tls"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"alicloud-controllers.dev/deploy/tools/local/pki"
	"alicloud-controllers.dev/deploy/tools/local/proc"
)

const (
	podCIDR      = "10.0.0.0/10" // 16 384 nodes of 254 pods
	podCIDR6     = "fd00:10::/48"
	serviceCIDR  = "172.21.0.0/20"
	serviceCIDR6 = "fd00:20::/112"
	issuer       = "https://kubernetes.default.svc"
)

// kwokStages say what the fake kubelets do.
//
//go:embed kwok.yaml
var kwokStages []byte

// controlPlane describes etcd, the API server, the controllers of Kubernetes and the fake kubelets.
func (w *World) controlPlane(ca *pki.Authority) ([]proc.Spec, error) {
	serving, err := ca.Serving("kube-apiserver", "kubernetes.default.svc")
	if err != nil {
		return nil, err
	}
	saPrivate, saPublic, err := ca.SigningKey("service-account")
	if err != nil {
		return nil, err
	}
	tokens := w.path("secrets", "tokens.csv")
	if err := os.WriteFile(tokens, []byte(w.adminToken+`,admin,admin,"system:masters"`+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write token file: %w", err)
	}
	stages := w.path("config", "kwok.yaml")
	if err := os.WriteFile(stages, kwokStages, 0o600); err != nil {
		return nil, fmt.Errorf("write kwok stages: %w", err)
	}
	a := w.addresses
	return []proc.Spec{
		{
			Name: "etcd", Path: w.cfg.Kubernetes.Etcd,
			Args: []string{
				"--data-dir=" + w.path("etcd"), "--unsafe-no-fsync", "--name=world", "--log-level=warn",
				"--listen-client-urls=http://" + a["etcd"], "--advertise-client-urls=http://" + a["etcd"],
				"--listen-peer-urls=http://" + a["etcd-peer"], "--initial-advertise-peer-urls=http://" + a["etcd-peer"],
				"--initial-cluster=world=http://" + a["etcd-peer"],
			},
			Ready: w.answers("http://"+a["etcd"]+"/health", ""),
		},
		{
			Name: "kube-apiserver", Path: w.cfg.Kubernetes.APIServer,
			Args: []string{
				"--etcd-servers=http://" + a["etcd"], "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
				"--secure-port=" + port(a["kube-apiserver"]), "--endpoint-reconciler-type=none",
				"--tls-cert-file=" + serving.CertFile, "--tls-private-key-file=" + serving.KeyFile,
				"--service-account-issuer=" + issuer, "--service-account-key-file=" + saPublic,
				"--service-account-signing-key-file=" + saPrivate, "--token-auth-file=" + tokens,
				"--authorization-mode=Node,RBAC", "--service-cluster-ip-range=" + strings.Join(w.serviceCIDRs(), ","),
				"--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000",
				"--shutdown-delay-duration=0s", "--profiling=false",
			},
			Ready:       w.answers("https://"+a["kube-apiserver"]+"/readyz", w.adminToken),
			StopTimeout: 2 * time.Minute, // It lets requests end that are under way, which may take a minute.
		},
		{
			Name: "kube-controllers", Path: w.cfg.Kubernetes.Controllers,
			Args: []string{
				"--kubeconfig=" + w.Kubeconfig(), "--address=" + a["kube-controllers"],
				"--cluster-cidr=" + strings.Join(w.podCIDRs(), ","), "--root-ca-file=" + ca.File(),
				"--fake-nodes=" + fakeNode + "=fake", "--fake-node-stages=" + stages,
			},
			Ready: w.answers("http://"+a["kube-controllers"]+"/healthz", ""),
		},
	}, nil
}

// podCIDRs are the ranges of the pods, one for each family.
func (w *World) podCIDRs() []string {
	if w.cfg.DualStack {
		return []string{podCIDR, podCIDR6}
	}
	return []string{podCIDR}
}

// serviceCIDRs are the ranges of the addresses of Services. Those that don't ask for both families have the first.
func (w *World) serviceCIDRs() []string {
	if w.cfg.DualStack {
		return []string{serviceCIDR, serviceCIDR6}
	}
	return []string{serviceCIDR}
}

// answers reports nil when url answers 200. Certificates are not checked: the question is whether the process is up.
func (w *World) answers(url, token string) func(context.Context) error {
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // See above.
		DisableKeepAlives: true,
	}}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("ask %s: %w", url, err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := client.Do(req)
		if err != nil {
			return fmt.Errorf("ask %s: %w", url, err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
			return fmt.Errorf("ask %s: %s: %s", url, resp.Status, text)
		}
		return nil
	}
}

// path is a path in the world's directory.
func (w *World) path(elem ...string) string {
	return filepath.Join(append([]string{w.cfg.Dir}, elem...)...)
}
