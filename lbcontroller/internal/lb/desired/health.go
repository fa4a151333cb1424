package desired

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
)

const (
	// proxyPort is where kube-proxy says whether it works and its node stays (KEP-3836).
	proxyPort = 10256
	// proxyPath is the path there, and on the port that a Service with externalTrafficPolicy Local has.
	proxyPath = "/healthz"
)

// nodeCheck is the port by which nodes are asked for their health, 0 if kube-proxy is not asked, and what says so, for people.
func (v View) nodeCheck(byDefault bool) (port int32, name string) {
	on, name := byDefault, "nodeHealthChecks of the configuration"
	if v.Values.Origin(annotation.NodeHealthCheck) == annotation.Written { // Its removal leaves the choice to the configuration.
		on, name = v.Values.On(annotation.NodeHealthCheck), "annotation "+v.Values.Name(annotation.NodeHealthCheck)
	}
	switch {
	case !on || v.Mode == backend.Pods:
		return 0, name
	case v.Mode == backend.Local:
		return v.Service.Spec.HealthCheckNodePort, name
	}
	return proxyPort, name
}

// OrdinaryCheck is what a kind of load balancers has for health checks of servers themselves: the port that stands for theirs,
// and the switch.
type OrdinaryCheck struct{ Port, Flag string }

// NodeHealth are the settings of health checks that ask kube-proxy on the nodes, or the ordinary ones, if the Service had the first.
func (v View) NodeHealth(byDefault bool, ordinary OrdinaryCheck) []annotation.Field {
	var fields []annotation.Field
	port, name := v.nodeCheck(byDefault)
	add := func(key, value string) {
		fields = append(fields, annotation.Field{Key: key, Name: name, Value: value, Chosen: true})
	}
	switch {
	case port > 0:
		add(annotation.NodeHealthCheck, "on") // So that it is known when it goes.
		add(annotation.HealthCheckFlag, "on")
		add(annotation.HealthCheckType, "http")
		add(annotation.HealthCheckConnectPort, strconv.Itoa(int(port)))
		add(annotation.HealthCheckURI, proxyPath)
	case v.Values.Has(annotation.NodeHealthCheck): // It says off, or it was there.
		add(annotation.HealthCheckFlag, ordinary.Flag)
		add(annotation.HealthCheckType, "tcp")
		add(annotation.HealthCheckConnectPort, ordinary.Port)
	}
	return fields
}

// withoutNodes reports that nodes can't be asked for their health.
func (b *Builder) withoutNodes() {
	if b.Values.Origin(annotation.NodeHealthCheck) != annotation.Written || !b.Values.On(annotation.NodeHealthCheck) {
		return
	}
	switch {
	case b.View.Mode == backend.Pods:
		b.NoEffect("annotation %s has no effect: pods are the backends, and are asked themselves", b.Values.Name(annotation.NodeHealthCheck))
	case b.View.Mode == backend.Local && b.View.Service.Spec.HealthCheckNodePort == 0:
		b.NoEffect("annotation %s has no effect: the Service has no spec.healthCheckNodePort, which the API server gives to one with "+
			"spec.externalTrafficPolicy %s", b.Values.Name(annotation.NodeHealthCheck), corev1.ServiceExternalTrafficPolicyLocal)
	}
}
