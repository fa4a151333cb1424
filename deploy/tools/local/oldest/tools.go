//go:build tools

// Package oldest pins the API server of the oldest Kubernetes that is supported.
package oldest

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
