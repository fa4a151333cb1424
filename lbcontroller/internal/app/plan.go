package app

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"

	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/cluster"
	"alicloud-controllers.dev/lbcontroller/internal/config"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// Selection says which Services are looked at: those of a namespace, or one of them; empty for all.
type Selection struct {
	Namespace, Service string
	// Gateways is a manifest: only Services of Gateways are looked at, as if its objects were in the cluster.
	Gateways string
}

// Preview is what the controller would do about the Services of a cluster.
type Preview struct {
	Services []controller.Preview `json:"services"`
	// Orphans are load balancers of the cluster without a Service. They are looked for only among all Services.
	Orphans []controller.Orphan `json:"orphans,omitempty"`
	// Quotas say what all Services together would need.
	Quotas []controller.Quota `json:"quotas,omitempty"`
}

// Plan finds out what a controller with this configuration would change. It writes nothing, neither in the cloud nor in Kubernetes.
func Plan(ctx context.Context, cfg config.Config, which Selection) (Preview, error) {
	var gateways versioned.Interface
	if cfg.GatewayAPI.Enabled {
		var err error
		if gateways, err = gatewayClient(cfg); err != nil {
			return Preview{}, err
		}
	}
	look := func(ctx context.Context, deps replica.Dependencies) (Preview, error) {
		return PreviewAll(ctx, deps.Client, gateways, cfg, Kinds(cfg, deps), which)
	}
	found, err := replica.Preview(ctx, Name, cfg.Config, look)
	if err == nil && which.Service != "" && len(found.Services) == 0 {
		return found, fmt.Errorf("there is no Service %s/%s with a load balancer", which.Namespace, which.Service)
	}
	return found, err
}

// PreviewAll finds out what the kinds would change for the Services of a cluster, and for those that its Gateways ask
// for. Without a client for them only Gateways of the selection are looked at.
func PreviewAll(ctx context.Context, client kubernetes.Interface, gateways versioned.Interface, cfg config.Config,
	kinds []controller.Registration, which Selection) (Preview, error) {
	translator := &gatewayPlan{client: client, gateways: gateways, cfg: cfg, manifest: which.Gateways}
	asked, err := translator.translate(ctx)
	if err != nil {
		return Preview{}, err
	}
	c, err := readCluster(ctx, client, cfg, which.Namespace)
	if err != nil {
		return Preview{}, err
	}
	exists := controller.Existence(client, kinds, sync.OnceValues(func() ([]*corev1.Service, error) {
		list, err := client.CoreV1().Services("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return pointers(list.Items), nil
	}))
	if which.Gateways != "" {
		c.services = nil
	}
	preview := Preview{Services: append([]controller.Preview{}, c.add(asked, which)...)}
	for _, svc := range c.services {
		if which.Service != "" && svc.Name != which.Service {
			continue
		}
		key := svc.Namespace + "/" + svc.Name
		secrets := cluster.ReadSecrets(ctx, client, cfg.TLSSecretNamespaces, svc, translator.claims())
		for _, kind := range controller.PreviewersOf(kinds, svc) {
			found := kind.Preview(ctx, controller.Request{Key: key, Service: svc, Slices: c.slices[key], Nodes: c.nodes,
				Gated: c.gated[key], Secrets: secrets, Exists: exists})
			found.Warnings = append(c.notes[key], found.Warnings...)
			preview.Services = append(preview.Services, found)
		}
		if err := ctx.Err(); err != nil {
			return preview, err
		}
	}
	if which != (Selection{}) {
		return preview, nil
	}
	for _, kind := range kinds {
		preview.Quotas = append(preview.Quotas, kind.Previewer.Quotas()...)
		orphans, err := kind.Previewer.ListOrphans(ctx)
		if err != nil {
			return preview, err
		}
		preview.Orphans = append(preview.Orphans, orphans...)
	}
	return preview, nil
}

// seen is what a plan goes by, by the key of the Service.
type seen struct {
	services []*corev1.Service
	nodes    *backend.Set
	slices   map[string][]*discoveryv1.EndpointSlice
	gated    map[string]readiness.Pods
	notes    map[string][]string
}

// readCluster reads what there is for the Services of a namespace, or of all.
func readCluster(ctx context.Context, client kubernetes.Interface, cfg config.Config, namespace string) (*seen, error) {
	services, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the Services: %w", err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	endpoints, err := client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the EndpointSlices: %w", err)
	}
	c := &seen{services: pointers(services.Items), slices: map[string][]*discoveryv1.EndpointSlice{}, notes: map[string][]string{}}
	if c.gated, err = gatedPods(ctx, client, namespace); err != nil {
		return nil, err
	}
	for _, s := range pointers(endpoints.Items) {
		key := s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
		c.slices[key] = append(c.slices[key], s)
	}
	candidates, take := pointers(nodes.Items), backend.New
	if cfg.ExcludeControlPlaneNodes {
		candidates = backend.WithoutControlPlane(candidates)
	}
	if cfg.DrainNodes {
		take = backend.NewDraining
	}
	c.nodes = take(candidates)
	return c, nil
}

// add puts the Services of Gateways in place of those that are there. A Gateway of which none can be made is refused.
func (c *seen) add(list []asked, which Selection) (refused []controller.Preview) {
	for _, a := range list {
		switch {
		case which.Namespace != "" && which.Namespace != a.gateway.Namespace:
		case a.service == nil && which.Service != "":
		case a.service == nil:
			refused = append(refused, controller.Preview{Namespace: a.gateway.Namespace, Service: "Gateway " + a.gateway.Name,
				Refused: a.notes})
		default:
			key := a.service.Namespace + "/" + a.service.Name
			isSame := func(s *corev1.Service) bool { return s.Namespace+"/"+s.Name == key }
			c.services = append(slices.DeleteFunc(c.services, isSame), a.service)
			c.slices[key], c.notes[key] = a.slices, a.notes
		}
	}
	slices.SortFunc(c.services, func(a, b *corev1.Service) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return refused
}

// gatedPods are the pods that wait for load balancers before they are ready, by the key of the Service.
func gatedPods(ctx context.Context, client kubernetes.Interface, namespace string) (map[string]readiness.Pods, error) {
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the pods: %w", err)
	}
	gated := map[string]readiness.Pods{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		for _, key := range readiness.Services(pod) {
			if gated[key] == nil {
				gated[key] = readiness.Pods{}
			}
			_, service, _ := strings.Cut(key, "/")
			gated[key][pod.Name] = readiness.Of(pod, service)
		}
	}
	return gated, nil
}

func pointers[T any](list []T) []*T {
	result := make([]*T, len(list))
	for i := range list {
		result[i] = &list[i]
	}
	return result
}

// WriteText prints the preview for people: what would change, and a summary.
func (p Preview) WriteText(w io.Writer) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SERVICE\tLOAD BALANCER\tRESULT\tDETAIL")
	var unchanged, changing, refusedCount, failed, actions, withheld int
	for _, s := range p.Services {
		name, id := s.Namespace+"/"+s.Service, cmp.Or(s.LoadBalancer, "-")
		row := func(result, detail string) { fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", name, id, result, detail) }
		for _, a := range s.Actions {
			row("change", a)
		}
		for _, h := range s.Withheld {
			row("WITHHELD", h)
		}
		for _, r := range s.Refused {
			row("REFUSED", r)
		}
		for _, warning := range s.Warnings {
			row("warning", warning)
		}
		actions, withheld = actions+len(s.Actions), withheld+len(s.Withheld)
		switch {
		case s.Error != "":
			row("FAILED", s.Error)
			failed++
		case len(s.Refused) > 0:
			refusedCount++
		case len(s.Actions)+len(s.Withheld) > 0:
			changing++
		default:
			row("unchanged", "")
			unchanged++
		}
	}
	for _, o := range p.Orphans {
		next := "release it by hand if nobody needs it"
		if o.Kept != "" {
			next = "but " + o.Kept
		}
		fmt.Fprintf(table, "-\t%s\tORPHAN\t%s: no Service has the mark %s; %s\n",
			o.LoadBalancer, strings.Join(strings.Fields(o.Thing+" "+o.Name+" "+o.Address), " "), o.Mark, next)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&text,
		"\n%d Services: %d unchanged, %d would change, %d are refused something, %d could not be compared. %d changes in "+
			"the cloud. %d load balancers without a Service.\n",
		len(p.Services), unchanged, changing, refusedCount, failed, actions, len(p.Orphans))
	for _, q := range p.Quotas {
		switch {
		case q.Needed > q.Limit:
			fmt.Fprintf(&text, "QUOTA %s %s: this would need %d of %d; ask the cloud for more, and set quotas in the configuration.\n",
				q.Kind, q.Name, q.Needed, q.Limit)
		case q.Needed > 0:
			fmt.Fprintf(&text, "quota %s %s: this would need %d of %d.\n", q.Kind, q.Name, q.Needed, q.Limit)
		}
	}
	if withheld > 0 {
		fmt.Fprintf(&text, "%d changes are withheld by the policy: they would be made with policy sync.\n", withheld)
	}
	_, err := io.WriteString(w, text.String())
	return err
}
