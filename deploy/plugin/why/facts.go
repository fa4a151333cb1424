// Package why says what stands in the way of a Service, a node or a route: out of what Kubernetes and the gateway say,
// without asking anybody.
package why

import (
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Kind is what is asked about.
type Kind string

// The kinds. A route is that of a node, and has its name.
const (
	Service Kind = "service"
	Node    Kind = "node"
	Route   Kind = "route"
)

// Thing is one of them. A Service has a namespace.
type Thing struct {
	Kind            Kind
	Namespace, Name string
}

// Parse reads "service/web", "svc/web", "node/NAME" or "route/NODE". The namespace is that of a Service.
func Parse(text, namespace string) (Thing, error) {
	kind, name, _ := strings.Cut(text, "/")
	kinds := map[string]Kind{
		"service": Service, "services": Service, "svc": Service, "node": Node, "nodes": Node, "no": Node, "route": Route, "routes": Route,
	}
	of, known := kinds[strings.ToLower(kind)]
	switch {
	case !known || name == "" || strings.Contains(name, "/"):
		return Thing{}, fmt.Errorf("%q is no service/NAME, node/NAME or route/NODE", text)
	case of == Service:
		return Thing{Kind: of, Namespace: namespace, Name: name}, nil
	}
	return Thing{Kind: of, Name: name}, nil
}

// Controller is the process that looks after the thing, and its product in the cloud.
func (t Thing) Controller() string {
	return map[Kind]string{Service: "lbcontroller", Node: "nodecontroller", Route: "routecontroller"}[t.Kind]
}

// source is from which component the controller's events come.
func (t Thing) source() string {
	if t.Kind == Service {
		return "service-controller"
	}
	return t.Controller()
}

// String is how the thing is called.
func (t Thing) String() string {
	if t.Kind == Service && t.Namespace != "" {
		return "service " + t.Namespace + "/" + t.Name
	}
	return string(t.Kind) + " " + t.Name
}

// Facts are what is known. What could not be read is nil, and named in Unread.
type Facts struct {
	Thing Thing
	Now   time.Time

	// Service is nil for nodes and routes, Node for Services. If the API server says that there is none, Missing is true.
	Service *corev1.Service
	Node    *corev1.Node
	Missing bool
	// Slices are those of the Service.
	Slices []discoveryv1.EndpointSlice
	// Events are those on the thing, for a node also those about all nodes, for a route those on its node and on route tables.
	Events []corev1.Event
	// Leases and Pods are those of the installation, by the process, and OtherLease.
	Leases map[string]*coordinationv1.Lease
	Pods   map[string][]corev1.Pod
	// Status is what `cloudgateway top -o json` says.
	Status *Status
	// Unread are errors of what was asked.
	Unread []string
}

// Status is the part of common.v1.GetStatusResponse that is shown.
type Status struct {
	Actions []Action `json:"actions"`
}

// Action is one of the cloud's, with who waits for its rate limit.
type Action struct {
	Product     string    `json:"product"`
	Action      string    `json:"action"`
	Waiting     []Waiting `json:"waiting"`
	PausedUntil string    `json:"pausedUntil"`
}

// Waiting are calls of one caller.
type Waiting struct {
	Caller  string `json:"caller"`
	Calls   int    `json:"calls"`
	Longest string `json:"longest"`
}
