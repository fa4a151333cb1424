// Package cluster tests the chart on real nodes: kubelets with containerd and kube-proxy, a control plane, CoreDNS, and the simulated
// cloud as a pod, all in namespaces of their own on one machine. It needs root and Linux; make e2e-cluster runs it.
package cluster
