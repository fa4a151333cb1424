package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/nodecontroller/internal/serving"
)

const (
	// approvalWorkers look at requests at once; the gateway reads their instances together.
	approvalWorkers = 20
	// approvalRetry is when to look again at a request whose node is not an initialised instance yet, and approvalPatience
	// for how long if nothing says that it will be one.
	approvalRetry, approvalPatience = 10 * time.Second, 10 * time.Minute
)

// errNotYet says that the cloud can be asked about a request once its node is initialised.
var errNotYet = errors.New("the node is not initialised yet")

// newApproval watches requests.
func (c *Controller) newApproval() (*approval, error) {
	a := &approval{factory: informers.NewSharedInformerFactoryWithOptions(c.cfg.Client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("spec.signerName", certificatesv1.KubeletServingSignerName).String()
		}))}
	var err error
	if a.queue, err = c.runner("nodeserving", c.approve, approvalWorkers, 0); err != nil {
		return nil, err
	}
	informer := a.factory.Certificates().V1().CertificateSigningRequests()
	a.requests = informer.Lister()
	add := func(object any) {
		if csr, ok := object.(*certificatesv1.CertificateSigningRequest); ok && c.leading.Load() && pending(csr) {
			a.queue.Add(csr.Name, reconcile.Node)
		}
	}
	if err := a.listing.Watch(informer.Informer()); err != nil {
		return nil, fmt.Errorf("watch certificate signing requests: %w", err)
	}
	registration, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add,
		UpdateFunc: func(_, after any) { add(after) }})
	if err != nil {
		return nil, fmt.Errorf("watch certificate signing requests: %w", err)
	}
	a.synced = registration.HasSynced
	if c.cfg.Registerer != nil {
		c.cfg.Registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "nodecontroller_unapproved_serving_nodes",
			Help: "Nodes whose kubelet has waited for its serving certificate for more than 10 minutes: kubectl logs and exec fail " +
				"there. Only with approveServingCertificates.",
		}, func() float64 {
			all, err := a.requests.List(labels.Everything())
			if err != nil { // A cache gives none.
				return 0
			}
			isNode := func(name string) bool { _, err := c.nodes.Get(name); return err == nil }
			return float64(waiting(all, isNode, time.Now()))
		}))
	}
	return a, nil
}

// approve approves one request if the cloud confirms what it asks for. Any other is left to people.
func (c *Controller) approve(ctx context.Context, name string) error {
	csr, err := c.approval.requests.Get(name)
	if apierrors.IsNotFound(err) || err == nil && !pending(csr) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get certificate signing request %s: %w", name, err)
	}
	request, err := serving.Parse(csr)
	if err != nil {
		return c.unapproved(csr, request, err)
	}
	node, id, err := c.applicant(request)
	if err != nil {
		if errors.Is(err, errNotYet) || time.Since(csr.CreationTimestamp.Time) < approvalPatience {
			return reconcile.After(err, approvalRetry)
		}
		return c.unapproved(csr, request, err)
	}
	instance, err := c.instanceOf(ctx, node, id)
	if err != nil {
		return err
	}
	if err := c.belongs(ctx, node, instance); isForeign(err) {
		return c.unapproved(csr, request, err)
	} else if err != nil {
		return err
	}
	if err := request.Confirm(node, instance); err != nil {
		return c.unapproved(csr, request, err)
	}
	approved := csr.DeepCopy()
	approved.Status.Conditions = append(approved.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "ConfirmedByCloud", LastUpdateTime: metav1.Now(),
		Message: "The names and addresses are those of instance " + instance.GetInstanceId(),
	})
	_, err = c.cfg.Client.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, name, approved, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // Gone, or decided on meanwhile, or a new event comes.
		return nil
	}
	if err != nil {
		return fmt.Errorf("approve certificate signing request %s: %w", name, err)
	}
	c.log.Info("serving certificate approved", "request", name, "node", node.Name, "instance", instance.GetInstanceId())
	return nil
}

// applicant gives the node that asks, and the instance that it says it is. An instance is that of one Node at most, and a name that is
// asked for is not that of another one: host names are not unique. Else a node could pose as another.
func (c *Controller) applicant(request serving.Request) (*corev1.Node, nodes.ID, error) {
	node, err := c.nodes.Get(request.Node)
	if err != nil {
		return nil, nodes.ID{}, fmt.Errorf("node %s: %w", request.Node, err)
	}
	id, ours := c.ours(node)
	if nodes.IsUninitialized(node) && !nodes.Foreign(node) && (ours || node.Spec.ProviderID == "" && !nodes.Excluded(node)) {
		return nil, id, errNotYet // It may take long, and says nothing about the request.
	}
	if !ours || nodes.IsUninitialized(node) || nodes.InstanceAbsent(node) || nodes.Foreign(node) {
		return nil, id, errors.New("the node is not an initialised instance of this region")
	}
	all, err := c.nodes.List(labels.Everything())
	if err != nil {
		return nil, id, fmt.Errorf("list nodes: %w", err)
	}
	for _, other := range all {
		if other.Name == node.Name {
			continue
		}
		if same, _ := nodes.ParseProviderID(other.Spec.ProviderID); same == id {
			return nil, id, fmt.Errorf("node %s is instance %s, too", other.Name, id.InstanceID)
		}
		if slices.ContainsFunc(request.DNSNames, func(name string) bool { return strings.EqualFold(name, other.Name) }) {
			return nil, id, fmt.Errorf("it asks for the name of node %s", other.Name)
		}
	}
	return node, id, nil
}

// unapproved says on the node why its request is left to people.
func (c *Controller) unapproved(csr *certificatesv1.CertificateSigningRequest, request serving.Request, why error) error {
	if request.Node != "" {
		c.warn(request.Node, eventUnapproved, fmt.Sprintf("The serving certificate that the kubelet asks for is not approved: %v. "+
			"kubectl get csr shows the request; kubectl certificate approve or deny decides", why))
	}
	return reconcile.Terminal(fmt.Errorf("certificate signing request %s is left to people: %w", csr.Name, why))
}
