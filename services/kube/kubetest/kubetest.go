// Package kubetest is a cluster in memory for the tests of controllers, and what they ask of it.
package kubetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

// Cluster is a cluster in a bubble of its own time (testing/synctest).
type Cluster struct {
	Client *fake.Clientset
	Events *Recorder

	t testing.TB

	mu     sync.Mutex
	decide func() gatewaytest.Fault
}

// nodes are the nodes of the tracker, which a test changes without a request.
var nodes = corev1.SchemeGroupVersion.WithResource("nodes") //nolint:gochecknoglobals // A constant.

// New makes an empty cluster.
func New(t testing.TB) *Cluster {
	// The management of fields by the other clientset takes most of the time of a test, and nothing is applied here.
	c := &Cluster{Client: fake.NewSimpleClientset(), Events: &Recorder{}, t: t}
	c.Client.PrependReactor("*", "*", c.react)
	return c
}

// Pass lets time go by, until all that it set off is done.
func (c *Cluster) Pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// CreateNode adds a node.
func (c *Cluster) CreateNode(n *corev1.Node) {
	c.t.Helper()
	if err := c.Client.Tracker().Create(nodes, n.DeepCopy(), ""); err != nil {
		c.t.Fatal(err)
	}
}

// UpdateNode changes a node.
func (c *Cluster) UpdateNode(name string, edit func(*corev1.Node)) {
	c.t.Helper()
	n := c.Node(name)
	edit(n)
	if err := c.Client.Tracker().Update(nodes, n, ""); err != nil {
		c.t.Fatal(err)
	}
}

// DeleteNode takes a node away.
func (c *Cluster) DeleteNode(name string) {
	c.t.Helper()
	if err := c.Client.Tracker().Delete(nodes, "", name); err != nil {
		c.t.Fatal(err)
	}
}

// Node gives a node as it is now.
func (c *Cluster) Node(name string) *corev1.Node {
	c.t.Helper()
	n, err := c.Client.CoreV1().Nodes().Get(c.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// NodeNames lists the nodes that exist.
func (c *Cluster) NodeNames() []string {
	c.t.Helper()
	list, err := c.Client.CoreV1().Nodes().List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// Heartbeats lets the kubelets of all nodes report their status once, spread over d, as they do every five minutes
// though nothing has changed.
func (c *Cluster) Heartbeats(d time.Duration) {
	c.t.Helper()
	const steps = 50
	names := c.NodeNames()
	for i := range steps {
		for _, name := range names[len(names)*i/steps : len(names)*(i+1)/steps] {
			object, err := c.Client.Tracker().Get(nodes, "", name)
			if err != nil {
				c.t.Fatal(err)
			}
			node := object.(*corev1.Node) //nolint:forcetypeassert // A failure of the test.
			// What informers drop is not worth its copies.
			node.Status.Images, node.ManagedFields = nil, nil
			for j := range node.Status.Conditions {
				node.Status.Conditions[j].LastHeartbeatTime = metav1.Now()
			}
			if err := c.Client.Tracker().Update(nodes, node, ""); err != nil {
				c.t.Fatal(err)
			}
		}
		c.Pass(d / steps)
	}
}

// WantReadsOnly checks that neither the API server nor the cloud was asked to change anything.
func (c *Cluster) WantReadsOnly(cloud *gatewaytest.Connection) {
	c.t.Helper()
	for _, action := range c.Client.Actions() {
		if verb := action.GetVerb(); !slices.Contains([]string{"get", "list", "watch"}, verb) {
			c.t.Errorf("%s %s", verb, action.GetResource().Resource)
		}
	}
	if got := cloud.Writes(); len(got) != 0 {
		c.t.Errorf("cloud writes %v", got)
	}
}

// Patches lists the patches of objects: "node-1" or "node-1 status".
func (c *Cluster) Patches() []string {
	var list []string
	for _, action := range c.Client.Actions() {
		if patch, ok := action.(kubetesting.PatchAction); ok {
			list = append(list, strings.TrimSpace(patch.GetName()+" "+patch.GetSubresource()))
		}
	}
	return list
}

// Listed lists what was listed and watched, as "verb resource".
func (c *Cluster) Listed() []string {
	var list []string
	for _, action := range c.Client.Actions() {
		if verb := action.GetVerb(); verb == "list" || verb == "watch" {
			list = append(list, verb+" "+action.GetResource().Resource)
		}
	}
	return list
}

// Recorder implements record.EventRecorder. It keeps events as "object reason: message"; the zero value is empty.
type Recorder struct {
	mu   sync.Mutex
	list []string
	// namespaces are those of the objects, in the order of list.
	namespaces []string
}

// Namespaces gives those of the objects that got events with a text.
func (r *Recorder) Namespaces(text string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []string
	for i, event := range r.list {
		if strings.Contains(event, text) {
			found = append(found, r.namespaces[i])
		}
	}
	return found
}

// Event implements record.EventRecorder.
func (r *Recorder) Event(object runtime.Object, _, reason, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, namespace := "?", ""
	if ref, ok := object.(*corev1.ObjectReference); ok {
		name, namespace = ref.Name, ref.Namespace
	}
	r.namespaces = append(r.namespaces, namespace)
	r.list = append(r.list, name+" "+reason+": "+message)
}

// Eventf implements record.EventRecorder.
func (r *Recorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (r *Recorder) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	r.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// Matching gives the events that contain a text.
func (r *Recorder) Matching(text string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.list), func(e string) bool { return !strings.Contains(e, text) })
}
