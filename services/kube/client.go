// Package kube is what the processes need of Kubernetes beyond client-go: a client, small caches, events and leader election.
package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"alicloud-controllers.dev/services/config"
)

// Rates high enough never to be waited for; the API server guards itself with priority and fairness.
const (
	defaultQPS   = 1000
	defaultBurst = 2000
)

// Config says which cluster to work for.
type Config struct {
	// Kubeconfig is a file; if empty, the process talks to the cluster that it runs in.
	Kubeconfig string `json:"kubeconfig"`
	// QPS is how many calls a second may go to the API server in the long run. Default: 1000.
	QPS float32 `json:"qps"`
	// Burst is how many calls may go to the API server at once. Default: 2000.
	Burst int `json:"burst"`
}

// Validate notes what is wrong, under key.
func (c Config) Validate(p *config.Problems, key string) {
	if c.QPS < 0 {
		p.Addf(key+".qps", "%g is below zero", c.QPS)
	}
	if c.Burst < 0 {
		p.Addf(key+".burst", "%d is below zero", c.Burst)
	}
}

// NewClient makes a client that calls itself userAgent.
func NewClient(cfg Config, userAgent string) (kubernetes.Interface, error) {
	rc, err := RESTConfig(cfg, userAgent)
	if err != nil {
		return nil, err
	}
	rc.ContentType = runtime.ContentTypeProtobuf
	rc.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make the Kubernetes client: %w", err)
	}
	return client, nil
}

// RESTConfig is for clients of custom resources.
func RESTConfig(cfg Config, userAgent string) (*rest.Config, error) {
	rc, err := restConfig(cfg.Kubeconfig)
	if err != nil {
		return nil, err
	}
	rc.QPS, rc.Burst = cfg.QPS, cfg.Burst
	if rc.QPS == 0 {
		rc.QPS = defaultQPS
	}
	if rc.Burst == 0 {
		rc.Burst = defaultBurst
	}
	rc.UserAgent = userAgent
	return rc, nil
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		rc, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("kubernetes.kubeconfig is empty and this is not a pod: %w", err)
		}
		return rc, nil
	}
	rc, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubernetes.kubeconfig: %w", err)
	}
	return rc, nil
}
