package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/plugin/why"
)

// why asks for what is known of a thing, and shows what stands in its way. It fails if something does, for scripts.
func (c Command) why(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("kubectl alicloud why", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var namespace string
	flags.StringVar(&namespace, "n", "", "the namespace of a Service")
	flags.StringVar(&namespace, "namespace", "", "the same")
	var things []string
	for len(args) > 0 { // As with kubectl, flags may come after what they are about.
		if err := flags.Parse(args); err != nil {
			return fmt.Errorf("why: %w\n\n%s", err, usage)
		}
		if args = flags.Args(); len(args) > 0 {
			things, args = append(things, args[0]), args[1:]
		}
	}
	if len(things) != 1 {
		return errors.New("why: name one service/NAME, node/NAME or route/NODE")
	}
	thing, err := why.Parse(things[0], namespace)
	if err != nil {
		return fmt.Errorf("why: %w", err)
	}
	answer := why.Explain(c.facts(ctx, thing))
	if err := answer.Write(c.Stdout); err != nil {
		return err
	}
	if len(answer.Obstacles) > 0 {
		return errors.New("why: something stands in the way")
	}
	return nil
}

// facts asks for them. What can't be read is named in the answer, and the rest is shown.
func (c Command) facts(ctx context.Context, thing why.Thing) why.Facts {
	f := why.Facts{Thing: thing}
	read := func(into any, args ...string) (ok bool) {
		text, err := c.get(ctx, append(args, "-o", "json")...)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			f.Unread = append(f.Unread, err.Error())
		}
		return err == nil
	}
	events := func(args ...string) {
		var list corev1.EventList
		if read(&list, append([]string{"get", "events"}, args...)...) {
			f.Events = append(f.Events, list.Items...)
		}
	}
	missing := func() bool { return strings.Contains(f.Unread[len(f.Unread)-1], "(NotFound)") }
	if thing.Kind == why.Service {
		var svc corev1.Service
		in := []string{"get", "service", thing.Name}
		if thing.Namespace != "" {
			in = append(in, "-n", thing.Namespace)
		}
		if read(&svc, in...) {
			f.Service, f.Thing.Namespace = &svc, svc.Namespace
			events("-n", svc.Namespace, "--field-selector", "involvedObject.kind=Service,involvedObject.name="+svc.Name)
			var list discoveryv1.EndpointSliceList
			if read(&list, "get", "endpointslices", "-n", svc.Namespace, "-l", discoveryv1.LabelServiceName+"="+svc.Name) {
				f.Slices = append([]discoveryv1.EndpointSlice{}, list.Items...)
			}
		} else {
			f.Missing = missing()
		}
	} else {
		var node corev1.Node
		if read(&node, "get", "node", thing.Name) {
			f.Node = &node
			events("-A", "--field-selector", "involvedObject.kind=Node,involvedObject.name="+node.Name)
			if thing.Kind == why.Node { // What is about all nodes.
				events("-A", "--field-selector", "involvedObject.kind=Namespace,involvedObject.name="+chart.Namespace)
			}
		} else {
			f.Missing = missing()
		}
	}
	if thing.Kind == why.Route {
		events("-n", c.installed, "--field-selector", "involvedObject.kind=RouteTable")
	}
	if !f.Missing {
		c.installation(ctx, &f, read)
	}
	f.Now = time.Now()
	return f
}

// installation asks for the processes, and the active gateway for its queue.
func (c Command) installation(ctx context.Context, f *why.Facts, read func(into any, args ...string) bool) {
	var leases coordinationv1.LeaseList
	if read(&leases, "get", "leases", "-n", c.installed) {
		f.Leases = map[string]*coordinationv1.Lease{}
		for i := range leases.Items {
			f.Leases[leases.Items[i].Name] = &leases.Items[i]
		}
	}
	if c.installed != chart.Namespace && f.Leases != nil { // There is that of the existing cloud controller manager.
		var other coordinationv1.LeaseList
		if read(&other, "get", "leases", "-n", chart.Namespace, "--field-selector", "metadata.name="+why.OtherLease) && len(other.Items) > 0 {
			f.Leases[why.OtherLease] = &other.Items[0]
		}
	}
	const process = "app.kubernetes.io/name"
	var pods corev1.PodList
	if read(&pods, "get", "pods", "-n", c.installed, "-l", process+" in (cloudgateway,"+f.Thing.Controller()+")") {
		f.Pods = map[string][]corev1.Pod{}
		for _, pod := range pods.Items {
			f.Pods[pod.Labels[process]] = append(f.Pods[pod.Labels[process]], pod)
		}
	}
	var status why.Status
	if read(&status, "exec", "-n", c.installed, c.active(ctx), "--", "cloudgateway", "top", "--config", "/etc/cloudgateway/config.yaml") {
		f.Status = &status
	}
}
