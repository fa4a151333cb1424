package why

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/nodes"
)

// Reasons of events about what a condition says, too.
const (
	syncFailed   = "SyncLoadBalancerFailed"
	heldByPolicy = "HeldByPolicy"
	nodeFailed   = "SyncNodeFailed"
	routeFailed  = "CreateRouteFailed"
)

// Obstacle is what stands in the way, and what somebody can do about it.
type Obstacle struct{ What, Do string }

// Line is something that is shown beside them.
type Line struct{ Name, Text string }

// Answer is one screen.
type Answer struct {
	Thing Thing
	// Obstacles are in the order in which they are worth to be removed: who doesn't look at all comes before what was
	// found.
	Obstacles []Obstacle
	Lines     []Line
}

// Explain finds what stands in the way.
func Explain(f Facts) Answer {
	a := Answer{Thing: f.Thing}
	if ours := f.object(&a); ours {
		f.processes(&a)
		switch f.Thing.Kind {
		case Service:
			f.service(&a)
		case Node:
			f.node(&a)
		case Route:
			f.route(&a)
		}
		f.events(&a)
		f.queue(&a)
	}
	for _, unread := range f.Unread {
		a.Lines = append(a.Lines, Line{"not read", unread})
	}
	return a
}

// object looks whether there is such a thing, and whether it is the controllers'.
func (f Facts) object(a *Answer) (ours bool) {
	switch {
	case f.Missing && f.Thing.Kind == Service:
		a.add("there is no "+f.Thing.String(), "is the name right, and the namespace (-n)?")
		return false
	case f.Missing:
		a.add("there is no node "+f.Thing.Name+" in the cluster", "its kubelet registers it: look at the kubelet's log on the machine. "+
			"If it was there before, the event DeletedNode says why it went: kubectl get events -A --field-selector involvedObject.name="+
			f.Thing.Name)
		return false
	case f.Thing.Kind == Service && f.Service == nil, f.Thing.Kind != Service && f.Node == nil:
		a.add("it can't be read, so nothing can be said about it", "look at what was not read, below; is the name right, and the namespace (-n)?")
		return false
	case f.Service == nil && nodes.Excluded(f.Node):
		a.add("it is none of ours: it has the label "+nodes.LabelExclude+", or "+nodes.LabelExcludeOld+", or is no instance of the cloud",
			"take the label off, or set it to false")
		return false
	case f.Service == nil:
		return true
	}
	const annotation = "service.beta.kubernetes.io/class"
	class := cmp.Or(f.Service.Annotations[annotation], deref(f.Service.Spec.LoadBalancerClass))
	switch {
	case f.Service.Spec.Type != corev1.ServiceTypeLoadBalancer && len(f.Service.Finalizers) == 0:
		a.add("its type is "+string(f.Service.Spec.Type)+", and only Services of type LoadBalancer have a load balancer", "set spec.type")
		return false
	case class != "" && class != "alibabacloud.com/clb" && class != "alibabacloud.com/nlb":
		a.add("it has the class "+class+", which is another controller's",
			"ask that controller; ours has alibabacloud.com/clb, alibabacloud.com/nlb, and, unless the configuration says otherwise, no class")
		return false
	}
	return true
}

func (a *Answer) add(what, do string) { a.Obstacles = append(a.Obstacles, Obstacle{what, do}) }

func (f Facts) service(a *Answer) {
	svc := f.Service
	var addresses []string
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		addresses = append(addresses, cmp.Or(ingress.Hostname, ingress.IP))
	}
	id := svc.Labels["service.k8s.alibaba/loadbalancer-id"]
	a.Lines = append(a.Lines, Line{"address", cmp.Or(strings.Join(addresses, ", "), "none") + list(" of ", nonEmpty(id))})
	if svc.DeletionTimestamp != nil {
		a.add("its deletion began "+short(f.Now.Sub(svc.DeletionTimestamp.Time))+" ago, and its load balancer is released first",
			"wait for a minute; if CleanLoadBalancerFailed is below, do what it says")
	}
	before := len(a.Obstacles)
	synced := f.condition(a, svc.Status.Conditions, "Synced")
	switch {
	case svc.DeletionTimestamp != nil:
	case synced == nil:
		a.add("lbcontroller has not looked at it yet", "wait for a minute; if it stays so, read the log of lbcontroller")
	case synced.Status != metav1.ConditionTrue:
		a.add("Synced is "+string(synced.Status)+", "+synced.Reason+": "+synced.Message,
			f.next(syncFailed, "docs/troubleshooting.md, Services, has a row for each reason"))
	}
	// Without an address it is only waited for, which is no trouble beside the one that Synced names.
	if ready := f.condition(a, svc.Status.Conditions, "LoadBalancerReady"); ready != nil && ready.Status == metav1.ConditionFalse &&
		len(a.Obstacles) == before {
		a.add("LoadBalancerReady is False, "+ready.Reason+": "+ready.Message, "docs/troubleshooting.md, Services")
	}
	f.endpoints(a)
}

// endpoints looks whether there is anything to send traffic to.
func (f Facts) endpoints(a *Answer) {
	if f.Slices == nil {
		return
	}
	ready, all := 0, 0
	for _, slice := range f.Slices {
		for _, e := range slice.Endpoints {
			if all++; e.Conditions.Ready == nil || *e.Conditions.Ready {
				ready++
			}
		}
	}
	a.Lines = append(a.Lines, Line{"endpoints", fmt.Sprintf("%d of %d ready", ready, all)})
	switch {
	case ready > 0:
	case len(f.Service.Spec.Selector) == 0:
		a.add("it has no ready endpoint, and no selector", "somebody has to write its EndpointSlices")
	default:
		var labels []string
		for key, value := range f.Service.Spec.Selector {
			labels = append(labels, key+"="+value)
		}
		slices.Sort(labels)
		selector := strings.Join(labels, ",")
		a.add("no pod that it selects ("+selector+") is ready", "kubectl -n "+f.Thing.Namespace+" get pods -l "+selector)
	}
}

func (f Facts) node(a *Answer) {
	a.Lines = append(a.Lines, Line{"provider ID", cmp.Or(f.Node.Spec.ProviderID, "none")})
	for _, taint := range f.Node.Spec.Taints {
		switch taint.Key {
		case "node.cloudprovider.kubernetes.io/uninitialized":
			f.uninitialized(a)
		case "node.alibabacloud.com/foreign-instance":
			a.add("its instance is of another VPC or cluster", "correct --provider-id and delete the Node, or set nodeVPCIDs")
		case "node.cloudprovider.kubernetes.io/shutdown":
			a.add("its instance is stopped", "start it; the taint goes")
		default:
			continue
		}
		a.Lines = append(a.Lines, Line{"taint", taint.Key})
	}
	for _, name := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeNetworkUnavailable, "MaintenancePlanned"} {
		c := nodeCondition(f.Node, name)
		if c == nil {
			continue
		}
		a.Lines = append(a.Lines, f.line(string(name), string(c.Status), c.Reason, c.Message, c.LastTransitionTime))
		switch bad := c.Status == corev1.ConditionTrue; {
		case name == corev1.NodeReady && !bad:
			a.add("its kubelet doesn't report it ready: "+c.Reason+": "+c.Message, "look at the kubelet's log on the machine")
		case name == corev1.NodeNetworkUnavailable && bad:
			a.add("it has no route: "+c.Message, "kubectl alicloud why route/"+f.Thing.Name)
		case name == "MaintenancePlanned" && bad:
			a.add(c.Message, "move the pods before (docs/operations.md, Maintenance and drains of nodes)")
		}
	}
}

// uninitialized says why, if nodecontroller has said it: of this node, or of all.
func (f Facts) uninitialized(a *Answer) {
	for _, e := range f.warnings() {
		if e.Reason == nodeFailed {
			what, next := split(e)
			a.add("it is not initialised: "+what, cmp.Or(next, "docs/runbook.md, Events, "+nodeFailed))
			return
		}
	}
	a.add("it is not initialised: nodecontroller has not found its instance, or can't change it",
		"wait for a minute; if it stays so, compare spec.providerID with REGION.INSTANCE, and read the log of nodecontroller")
}

func (f Facts) route(a *Answer) {
	ranges := f.Node.Spec.PodCIDRs
	a.Lines = append(a.Lines, Line{"pod ranges", cmp.Or(strings.Join(ranges, ", "), "none")})
	if len(ranges) == 0 {
		a.add("the node has no range of pods, so there is no route to make",
			"kube-controller-manager needs --allocate-node-cidrs=true and --cluster-cidr (docs/install.md)")
	}
	if f.Node.Spec.ProviderID == "" {
		a.add("the node has no provider ID, so no instance is known for the route", "kubectl alicloud why node/"+f.Thing.Name)
	}
	c := nodeCondition(f.Node, corev1.NodeNetworkUnavailable)
	if c == nil {
		a.add("routecontroller has not looked at the node yet: there is no condition NetworkUnavailable",
			"wait for a minute; in mode terway there are no routes to make")
		return
	}
	a.Lines = append(a.Lines, f.line(string(c.Type), string(c.Status), c.Reason, c.Message, c.LastTransitionTime))
	if c.Status != corev1.ConditionFalse {
		f.unavailable(a, c)
	}
}

// unavailable says why there is no route: the condition has a text of Kubernetes, and the cause is in an event on the
// node, or on the route table.
func (f Facts) unavailable(a *Answer, c *corev1.NodeCondition) {
	what, do := c.Message, "docs/troubleshooting.md, Routes"
	live := f.warnings()
	for _, reason := range []string{"SyncRouteFailed", "RouteTableNotManaged", routeFailed} { // The last one counts most.
		if i := slices.IndexFunc(live, func(e corev1.Event) bool { return e.Reason == reason }); i >= 0 {
			text, next := split(live[i])
			what, do = text, cmp.Or(next, "docs/runbook.md, Events, "+reason)
		}
	}
	a.add("NetworkUnavailable is "+string(c.Status)+", "+c.Reason+": "+what, do)
}

// condition shows a condition and returns it, or nil.
func (f Facts) condition(a *Answer, all []metav1.Condition, name string) *metav1.Condition {
	for i := range all {
		if c := &all[i]; c.Type == name {
			a.Lines = append(a.Lines, f.line(name, string(c.Status), c.Reason, c.Message, c.LastTransitionTime))
			return c
		}
	}
	a.Lines = append(a.Lines, Line{name, "not there"})
	return nil
}

func (f Facts) line(name, status, reason, message string, since metav1.Time) Line {
	text := status + list(", ", nonEmpty(reason))
	if !since.IsZero() {
		text += " for " + short(f.Now.Sub(since.Time))
	}
	return Line{name, text + list(": ", nonEmpty(message))}
}

// warnings are those of the controller that are not over, the newest of each reason.
func (f Facts) warnings() (live []corev1.Event) {
	all := slices.Clone(f.Events)
	slices.Reverse(all) // Of those in one second the API server has the older ones first.
	slices.SortStableFunc(all, func(x, y corev1.Event) int { return last(y).Compare(last(x)) })
	shown := map[string]bool{}
	resolved := map[string]string{} // what was said to be over, by the object
	for _, e := range all {
		about := e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name
		switch key := about + " " + e.Reason; {
		case e.Source.Component != f.Thing.source():
		case e.Reason == "Resolved":
			resolved[about] += e.Message
		case e.Reason == "InitializedNode":
			resolved[about] += nodeFailed
		case e.Type != corev1.EventTypeWarning || strings.Contains(resolved[about], e.Reason) || shown[key] || f.over(e):
		default:
			shown[key] = true
			live = append(live, e)
		}
	}
	return live
}

// over reports whether a failure is older than the success that its condition names. Not every one is followed by an
// event that says so.
func (f Facts) over(e corev1.Event) bool {
	var since time.Time
	switch {
	case f.Service != nil && (e.Reason == syncFailed || e.Reason == heldByPolicy):
		for _, c := range f.Service.Status.Conditions {
			if c.Type == "Synced" && c.Status == metav1.ConditionTrue {
				since = c.LastTransitionTime.Time
			}
		}
	case f.Node != nil && e.Reason == routeFailed:
		if c := nodeCondition(f.Node, corev1.NodeNetworkUnavailable); c != nil && c.Status == corev1.ConditionFalse {
			since = c.LastTransitionTime.Time
		}
	}
	return !last(e).After(since)
}

// split has what an event says in one line, and apart from it what its controller says to do next.
func split(e corev1.Event) (what, next string) {
	for _, mark := range []string{"\nnext: ", "; next: "} {
		if before, after, found := strings.Cut(e.Message, mark); found {
			return strings.ReplaceAll(before, "\n", "; "), after
		}
	}
	return strings.ReplaceAll(e.Message, "\n", "; "), ""
}

// next is what the newest warning of a reason says to do next; without one it is what is given.
func (f Facts) next(reason, otherwise string) string {
	for _, e := range f.warnings() {
		if _, next := split(e); next != "" && e.Reason == reason {
			return next
		}
	}
	return otherwise
}

// events shows the warnings, and adds what no condition has said.
func (f Facts) events(a *Answer) {
	const most = 5
	live := f.warnings()
	for _, e := range live[:min(len(live), most)] {
		of := ""
		switch e.InvolvedObject.Kind {
		case "RouteTable":
			of = " on route table " + e.InvolvedObject.Name
		case "Namespace":
			of = " on the cluster"
		}
		what, next := split(e)
		a.Lines = append(a.Lines, Line{"event", fmt.Sprintf("%s%s, %s ago%s: %s", e.Reason, of, short(f.Now.Sub(last(e))), times(e), what)})
		if !slices.ContainsFunc(a.Obstacles, func(o Obstacle) bool {
			return strings.Contains(o.What, what) || e.Reason == syncFailed && strings.HasPrefix(o.What, "Synced is ")
		}) {
			a.add(e.Reason+of+": "+what, cmp.Or(next, "docs/runbook.md, Events, "+e.Reason))
		}
	}
}

// queue shows who waits at the gateway for the rate limits of the product.
func (f Facts) queue(a *Answer) {
	if f.Status == nil {
		return
	}
	products := map[Kind][]string{Service: {"slb", "nlb", "cas", "vpc", "ecs"}, Node: {"ecs"}, Route: {"vpc"}}[f.Thing.Kind]
	var stands bool
	var texts []string
	for _, action := range f.Status.Actions {
		if !slices.Contains(products, action.Product) {
			continue
		}
		paused := action.PausedUntil != ""
		if until, err := time.Parse(time.RFC3339, action.PausedUntil); err == nil {
			paused = until.After(f.Now)
		}
		if paused {
			stands = true
			texts = append(texts, action.Product+" "+action.Action+" is refused by the cloud and waits until "+action.PausedUntil)
		}
		for _, w := range action.Waiting {
			stands = stands || strings.HasSuffix(w.Caller, ":"+f.Thing.Controller())
			longest := w.Longest
			if d, err := time.ParseDuration(longest); err == nil {
				longest = short(d)
			}
			texts = append(texts, fmt.Sprintf("%s %s: %d of %s for %s", action.Product, action.Action, w.Calls, w.Caller, longest))
		}
	}
	a.Lines = append(a.Lines, Line{"gateway", cmp.Or(strings.Join(texts, "; "), "no call waits for the rate limits")})
	if stands {
		a.add("the cloud's rate limits are used up: "+strings.Join(texts, "; "),
			"wait; kubectl alicloud top shows by whom (docs/operations.md, The rate limits in use)")
	}
}

// Write writes the screen.
func (a Answer) Write(w io.Writer) error {
	var text strings.Builder
	if len(a.Obstacles) == 0 {
		fmt.Fprintf(&text, "%s: nothing stands in the way\n", a.Thing)
	} else {
		fmt.Fprintf(&text, "%s: this stands in the way\n", a.Thing)
	}
	for i, o := range a.Obstacles {
		fmt.Fprintf(&text, "\n%3d. %s\n     > %s\n", i+1, o.What, o.Do)
	}
	text.WriteString("\n")
	width := 0
	for _, line := range a.Lines {
		width = max(width, len(line.Name))
	}
	for _, line := range a.Lines {
		fmt.Fprintf(&text, "  %-*s  %s\n", width, line.Name, line.Text)
	}
	_, err := io.WriteString(w, text.String())
	return err
}
