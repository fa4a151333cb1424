package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/world"
	"alicloud-controllers.dev/services/nodes"
)

// key names a Service.
type key struct{ namespace, name string }

// users is how many requests to the API server are under way at a time.
const users = 32

// situations are run in this order, each in what the one before left.
func situations() []situation {
	return []situation{
		{name: "nodes join", needed: true, run: nodesJoin},
		{name: created, needed: true, run: servicesCreated, settled: groupsComplete},
		{name: "a label on all Services", run: labelled},
		{name: "nothing happens for 30 s", run: idle},
		{name: nodeJoins, run: oneNodeJoins, settled: groupsComplete},
		{name: nodeLeaves, run: nodesLeave(1), settled: groupsComplete},
		{name: "a tenth of the nodes rolls", run: nodesRoll, settled: groupsComplete},
		{name: "pods with an ENI roll", run: podsRoll},
		{name: world.LB + restarts, run: restart(world.LB), settled: groupsComplete},
		{name: world.Node + restarts, run: restart(world.Node), settled: groupsComplete},
		{name: world.Route + restarts, run: restart(world.Route), settled: groupsComplete},
		{name: "gateway restarts", run: restart("cloudgateway"), settled: groupsComplete},
		{name: "one tenant's Service beside another's", run: beside, settled: groupsComplete},
		{name: "all Services are deleted", needed: true, run: allDeleted, settled: cloudEmpty},
		{name: createdAtOnce, run: withoutWaiting, settled: groupsComplete},
		{name: "gateway is killed while Services are created", run: gatewayKilled, settled: groupsComplete},
	}
}

func nodesJoin(ctx context.Context, b *bench, row *Row) error {
	start := time.Now()
	if err := b.addNodes(ctx, b.nodes); err != nil {
		return err
	}
	registered := time.Since(start)
	err := b.allNodes(ctx, func(node *corev1.Node) bool { return !nodes.IsUninitialized(node) })
	if err != nil {
		return err
	}
	row.Note = fmt.Sprintf("registered after %.1f s, initialised after %.1f s", registered.Seconds(), time.Since(start).Seconds())
	return b.nodesReady(ctx)
}

// nodesReady waits until every node has lost its taints and has its route.
func (b *bench) nodesReady(ctx context.Context) error {
	return b.allNodes(ctx, func(node *corev1.Node) bool {
		network, _ := nodes.Condition(node, corev1.NodeNetworkUnavailable)
		return len(node.Spec.Taints) == 0 && network.Status == corev1.ConditionFalse
	})
}

// addNodes adds nodes to the cloud and the cluster.
func (b *bench) addNodes(ctx context.Context, n int) error {
	b.joined += n
	_, err := b.world.AddNodes(ctx, n)
	return err
}

// allNodes waits until all nodes are so.
func (b *bench) allNodes(ctx context.Context, are func(*corev1.Node) bool) error {
	return until(ctx, func(context.Context) error {
		list, err := b.watchedNodes.List(labels.Everything())
		if err != nil {
			return fmt.Errorf("list nodes: %w", err)
		}
		if len(list) != b.joined {
			return fmt.Errorf("%d nodes are there, want %d", len(list), b.joined)
		}
		for _, node := range list {
			if !are(node) {
				return fmt.Errorf("node %s has the taints %v and the conditions %v", node.Name, node.Spec.Taints, node.Status.Conditions)
			}
		}
		return nil
	})
}

func servicesCreated(ctx context.Context, b *bench, _ *Row) error {
	return b.createAndWait(ctx, names(metav1.NamespaceDefault, "bench", b.services))
}

func withoutWaiting(ctx context.Context, b *bench, _ *Row) error {
	err := b.world.Cloud().Limits(ctx, func(doc *openapisim.LimitsDocument) {
		quotas, size := doc.Settings.Quotas, doc.Settings.ServersPerCall
		fast := api.FastSettings()
		fast.Quotas, fast.ServersPerCall = quotas, size
		doc.Settings = &fast
	})
	if err != nil {
		return err
	}
	return b.createAndWait(ctx, names(metav1.NamespaceDefault, "fast", b.services))
}

// gatewayKilled kills the gateway when half of the Services have a load balancer, and the others are being created.
func gatewayKilled(ctx context.Context, b *bench, row *Row) error {
	keys := names(metav1.NamespaceDefault, "killed", percent(b.services, 10)) //nolint:mnd // A tenth.
	group, creating := errgroup.WithContext(ctx)
	group.Go(func() error { return b.create(creating, keys) })
	before, err := b.untilCreated(creating, (len(keys)+1)/2) //nolint:mnd // A half.
	killed := time.Now()
	if err == nil {
		err = b.restart(ctx, "cloudgateway", b.world.Process("cloudgateway").Kill)
	}
	if err = errors.Join(err, group.Wait()); err != nil {
		return err
	}
	err = until(ctx, func(context.Context) error { return b.addressed(keys) })
	row.Note = fmt.Sprintf("killed after %d calls; all addresses %.1f s after that", before, time.Since(killed).Seconds())
	return err
}

// untilCreated waits until the cloud has created so many load balancers in the current situation, and counts its calls until then.
func (b *bench) untilCreated(ctx context.Context, n int) (calls int, err error) {
	const glance = 10 * time.Millisecond // A cloud without waiting times creates all of a small run in less than a second.
	for since, created := b.next, 0; ; {
		more, next, err := b.world.Cloud().Calls(ctx, since)
		if err != nil {
			return calls, err
		}
		since, calls = next, calls+len(more)
		for _, call := range more {
			if call.Action == "CreateLoadBalancer" && call.Code == "" {
				created++
			}
		}
		if created >= n {
			return calls, nil
		}
		if err := wait(ctx, glance); err != nil {
			return calls, err
		}
	}
}

func names(namespace, prefix string, n int) []key {
	keys := make([]key, n)
	for i := range keys {
		keys[i] = key{namespace, fmt.Sprintf("%s-%05d", prefix, i)}
	}
	return keys
}

// create creates Services with one TCP port.
func (b *bench) create(ctx context.Context, keys []key) error {
	b.made = append(b.made, keys...)
	return each(ctx, keys, func(ctx context.Context, k key) error {
		_, err := b.world.Client().CoreV1().Services(k.namespace).Create(ctx, b.service(k), metav1.CreateOptions{})
		return err
	})
}

func (b *bench) service(k key) *corev1.Service {
	const port, target = 80, 8080
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: k.name, Namespace: k.namespace},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: b.kind.class(), Selector: map[string]string{"app": k.name},
			Ports: []corev1.ServicePort{{Port: port, TargetPort: intstr.FromInt32(target)}},
		},
	}
}

// each does something for every Service, some at a time.
func each(ctx context.Context, keys []key, do func(context.Context, key) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(users)
	for _, k := range keys {
		group.Go(func() error {
			if err := do(ctx, k); err != nil {
				return fmt.Errorf("on %s/%s: %w", k.namespace, k.name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (b *bench) createAndWait(ctx context.Context, keys []key) error {
	if err := b.create(ctx, keys); err != nil {
		return err
	}
	return until(ctx, func(context.Context) error { return b.addressed(keys) })
}

// addressed checks that Services have an address.
func (b *bench) addressed(keys []key) error {
	missing := 0
	for _, k := range keys {
		s, err := b.watchedServices.Services(k.namespace).Get(k.name)
		if apierrors.IsNotFound(err) || err == nil && len(s.Status.LoadBalancer.Ingress) == 0 {
			missing++
		} else if err != nil {
			return fmt.Errorf("get Service %s/%s: %w", k.namespace, k.name, err)
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d Services have no address", missing, len(keys))
	}
	return nil
}

func labelled(ctx context.Context, b *bench, _ *Row) error {
	patch := []byte(`{"metadata":{"labels":{"team":"blue"}}}`)
	return each(ctx, b.made, func(ctx context.Context, k key) error {
		_, err := b.world.Client().CoreV1().Services(k.namespace).Patch(ctx, k.name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

func oneNodeJoins(ctx context.Context, b *bench, _ *Row) error {
	if err := b.addNodes(ctx, 1); err != nil {
		return err
	}
	return b.nodesReady(ctx)
}

// idle shows what the processes cost while nothing is changed, for half a minute with the time that is waited after each situation.
func idle(ctx context.Context, _ *bench, _ *Row) error {
	const long = 30 * time.Second
	return wait(ctx, long-quiet)
}

// nodesLeave removes the oldest nodes with their instances: a roll replaces those that were there.
func nodesLeave(n int) func(context.Context, *bench, *Row) error {
	return func(ctx context.Context, b *bench, _ *Row) error {
		nodes, err := b.watchedNodes.List(labels.Everything())
		if err != nil {
			return fmt.Errorf("list nodes: %w", err)
		}
		slices.SortFunc(nodes, func(a, b *corev1.Node) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
		b.joined -= n
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(users)
		for _, node := range nodes[:n] {
			group.Go(func() error { return b.world.RemoveNode(ctx, node.Name) })
		}
		return group.Wait()
	}
}

func nodesRoll(ctx context.Context, b *bench, row *Row) error {
	n := percent(b.nodes, 10) //nolint:mnd // A tenth.
	if err := b.addNodes(ctx, n); err != nil {
		return err
	}
	if err := b.nodesReady(ctx); err != nil {
		return err
	}
	return nodesLeave(n)(ctx, b, row)
}

// restart stops a process as a rollout does, starts it again, and measures how long a new Service then takes to get its address.
func restart(process string) func(context.Context, *bench, *Row) error {
	return func(ctx context.Context, b *bench, row *Row) error {
		if err := b.restart(ctx, process, b.world.Process(process).Stop); err != nil {
			return err
		}
		up := time.Now()
		fresh := []key{{metav1.NamespaceDefault, "after-restart-of-" + process}}
		err := b.createAndWait(ctx, fresh)
		row.Fresh = time.Since(up).Seconds()
		row.Note = fmt.Sprintf("a new Service has its address after %.1f s", row.Fresh)
		return err
	}
}

// bulk is how many Services a tenant creates at once.
const bulk = 500

// beside lets one tenant create many Services, and right afterwards another one a single Service.
func beside(ctx context.Context, b *bench, row *Row) error {
	for _, tenant := range []string{"tenant-a", "tenant-b"} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}
		if _, err := b.world.Client().CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create namespace: %w", err)
		}
	}
	many := names("tenant-a", "bulk", min(bulk, b.services))
	if err := b.create(ctx, many); err != nil {
		return err
	}
	asked := time.Now()
	if err := b.createAndWait(ctx, names("tenant-b", "single", 1)); err != nil {
		return err
	}
	row.Fresh = time.Since(asked).Seconds()
	row.Note = fmt.Sprintf("the single Service has its address after %.1f s", row.Fresh)
	return until(ctx, func(context.Context) error { return b.addressed(many) })
}

func allDeleted(ctx context.Context, b *bench, _ *Row) error {
	keys := append([]key{}, b.made...)
	err := each(ctx, keys, func(ctx context.Context, k key) error {
		return b.world.Client().CoreV1().Services(k.namespace).Delete(ctx, k.name, metav1.DeleteOptions{})
	})
	if err != nil {
		return err
	}
	b.forget(keys)
	return until(ctx, func(context.Context) error {
		list, err := b.watchedServices.List(labels.Everything())
		if err != nil {
			return fmt.Errorf("list Services: %w", err)
		}
		left := 0
		for _, s := range list {
			if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
				left++
			}
		}
		if left > 0 {
			return fmt.Errorf("%d Services are left", left)
		}
		return nil
	})
}

const (
	rolling = "rolling"
	// rolloutTime is how long a rollout of all pods takes, in so many steps.
	rolloutTime, rolloutSteps = 30 * time.Second, 30
	// podsFirstOctet is the third one of the first pods: nodes have those below, and those from 128 on are another vSwitch's.
	podsFirstOctet = 64
	// podsPerOctet leaves out the first and last addresses of an octet.
	podsPerOctet = 250
)

// podsRoll lets a Service's pods, each with an ENI, be replaced by others in half a minute, as a Deployment does. Its EndpointSlices are
// written by hand: the pods themselves are not what is measured.
func podsRoll(ctx context.Context, b *bench, row *Row) error {
	if b.pods == 0 {
		row.Note = "skipped, there are no pods"
		return nil
	}
	addresses, err := b.interfaces(ctx, 2*b.pods) //nolint:mnd // Old pods and new ones.
	if err != nil {
		return err
	}
	k := key{metav1.NamespaceDefault, rolling}
	s := b.service(k)
	s.Spec.Selector = nil
	s.Annotations = map[string]string{"service.beta.kubernetes.io/backend-type": "eni"}
	if err := b.slices(ctx, addresses[:b.pods]); err != nil {
		return err
	}
	if _, err := b.world.Client().CoreV1().Services(k.namespace).Create(ctx, s, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create Service: %w", err)
	}
	if err := until(ctx, func(context.Context) error { return b.addressed([]key{k}) }); err != nil {
		return err
	}
	if err := until(ctx, b.registered(addresses[:b.pods])); err != nil {
		return err
	}
	created, err := b.settle(ctx, nil)
	if err != nil {
		return err
	}
	start := time.Now()
	for step := 1; step <= rolloutSteps; step++ {
		if err := wait(ctx, rolloutTime/rolloutSteps); err != nil {
			return err
		}
		done := b.pods * step / rolloutSteps
		if err := b.slices(ctx, addresses[done:done+b.pods]); err != nil {
			return err
		}
	}
	if err := until(ctx, b.registered(addresses[b.pods:])); err != nil {
		return err
	}
	row.Note = fmt.Sprintf("rollout %.1f s; before it, %d calls created the Service", time.Since(start).Seconds(), len(created))
	if err := b.world.Client().CoreV1().Services(k.namespace).Delete(ctx, k.name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete Service: %w", err)
	}
	return until(ctx, func(ctx context.Context) error {
		_, err := b.world.Client().CoreV1().Services(k.namespace).Get(ctx, k.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the Service is not gone: %w", err)
	})
}

// interfaces adds ENIs to the cloud, for a pod each, and returns their addresses.
func (b *bench) interfaces(ctx context.Context, n int) ([]string, error) {
	cloud, err := b.world.Cloud().State(ctx)
	if err != nil {
		return nil, err
	}
	vswitch := cloud.VSwitches[world.VSwitchIDs()[0]]
	var first, second int
	if _, err := fmt.Sscanf(vswitch.CidrBlock, "%d.%d.", &first, &second); err != nil {
		return nil, fmt.Errorf("vSwitch %s: unexpected block %q", vswitch.ID, vswitch.CidrBlock)
	}
	const firstHost = 2
	addresses := make([]string, n)
	resources := &state.Cloud{Interfaces: map[string]*state.NetworkInterface{}}
	for i := range addresses {
		addresses[i] = fmt.Sprintf("%d.%d.%d.%d", first, second, podsFirstOctet+i/podsPerOctet, firstHost+i%podsPerOctet)
		id := fmt.Sprintf("eni-pod%05d", i)
		resources.Interfaces[id] = &state.NetworkInterface{
			ID: id, Type: "Secondary", Status: "InUse", VpcID: world.VpcID, VSwitchID: vswitch.ID, ZoneID: vswitch.ZoneID,
			PrimaryIP: addresses[i], PrivateIPs: []string{addresses[i]},
		}
	}
	return addresses, b.world.Cloud().Seed(ctx, resources)
}

// slices writes the endpoints of the rolling Service, at most 100 to a slice, as Kubernetes does.
func (b *bench) slices(ctx context.Context, addresses []string) error {
	const perSlice, port = 100, 8080
	api := b.world.Client().DiscoveryV1().EndpointSlices(metav1.NamespaceDefault)
	for i := 0; i*perSlice < len(addresses); i++ {
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%03d", rolling, i), Namespace: metav1.NamespaceDefault,
				Labels: map[string]string{discoveryv1.LabelServiceName: rolling},
			},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(port)), Protocol: new(corev1.ProtocolTCP)}},
		}
		for _, address := range addresses[i*perSlice : min(len(addresses), (i+1)*perSlice)] {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			})
		}
		_, err := api.Update(ctx, slice, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			_, err = api.Create(ctx, slice, metav1.CreateOptions{})
		}
		if err != nil {
			return fmt.Errorf("write EndpointSlice: %w", err)
		}
	}
	return nil
}

// registered checks that exactly these addresses are in the server group of the pods.
func (b *bench) registered(addresses []string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := wait(ctx, time.Second); err != nil { // The whole state is read.
			return err
		}
		cloud, err := b.world.Cloud().State(ctx)
		if err != nil {
			return err
		}
		want := map[string]bool{}
		for _, address := range addresses {
			want[address] = true
		}
		got := 0
		_, groups := b.kind.holds(cloud)
		for _, servers := range groups {
			for _, server := range servers {
				if !server.pod {
					break
				}
				if !want[server.ip] {
					return fmt.Errorf("%s is still a server", server.ip)
				}
				got++
			}
		}
		if got != len(want) {
			return fmt.Errorf("%d of %d pods are servers", got, len(want))
		}
		return nil
	}
}
