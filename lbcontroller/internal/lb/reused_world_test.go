package lb_test

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

const usersLB = "lb-users"

// usersCLB puts a CLB into the cloud that a user has made, with a listener on port 9000 and its vServer group.
func (w *world) usersCLB(id string, tags ...state.Tag) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.LoadBalancers[id] = &state.LoadBalancer{
		ID: id, Name: "mine " + id, Address: "47.9.9." + fmt.Sprint(len(w.cloud.LoadBalancers)), Tags: tags, AddressType: "internet",
		DeleteProtection: "on",
	}
	w.cloud.ServerGroups["rsp-of-"+id] = &state.ServerGroup{LoadBalancerID: id, Name: "mine",
		Servers: []*state.Server{instanceServer("i-users", 9000, 7, "by hand")}}
	w.listen(id, 9000, "rsp-of-"+id, "by hand")
}

// listen adds a TCP listener; the cloud is locked.
func (w *world) listen(id string, port int, group, description string) {
	l := listenerByHand(port, "tcp", group, description)
	l.Attributes["Scheduler"] = "wlc"
	lb := w.cloud.LoadBalancers[id]
	lb.Listeners = append(lb.Listeners, l)
}

// parts lists what is on a CLB: listeners as port->group (description), and groups with their servers.
func (w *world) parts(id string) []string {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	var list []string
	for lb, l := range clbListeners(w.cloud.Cloud) {
		if lb.ID == id {
			list = append(list, fmt.Sprintf("%d->%s (%s)", l.Port, w.cloud.ServerGroups[l.Group()].Name, description(l)))
		}
	}
	for _, g := range w.cloud.ServerGroups {
		if g.LoadBalancerID == id {
			var servers []string
			for _, s := range g.Servers {
				servers = append(servers, serverText(s))
			}
			slices.Sort(servers)
			list = append(list, strings.TrimSpace(g.Name+": "+strings.Join(servers, " ")))
		}
	}
	slices.Sort(list)
	return list
}

const (
	ours          = "k8s/30080/web/default/c-test"
	usersListener = "9000->mine (by hand)"
	usersGroup    = "mine: i-users:9000=7"
	ourListener   = "80->" + ours + " (k8s/80/web/default/c-test)"
)

func naming(id string) func(*corev1.Service) { return annotated(annotation.ID, id) }

var override = annotated(annotation.ForceOverride, "true")

// hasEvents checks that each part is in one of the events since the last look at them.
func (w *world) hasEvents(what string, parts ...string) {
	w.t.Helper()
	events := strings.Join(w.events.take(), "\n")
	for _, part := range parts {
		if !strings.Contains(events, part) {
			w.t.Errorf("events of %s don't have %q:\n%s", what, part, events)
		}
	}
}

// clearStatus clears the status, as the event advises.
func (w *world) clearStatus() {
	w.patch("web", map[string]any{"status": map[string]any{"loadBalancer": nil}}, "status")
	w.settle()
}

func (w *world) writes() []string {
	var names []string
	for _, c := range w.cloud.Writes() {
		names = append(names, c.Method)
	}
	w.cloud.ResetCalls()
	return names
}

// api is another Service.
func api(port int32, changes ...func(*corev1.Service)) *corev1.Service {
	return web(append(changes, func(svc *corev1.Service) {
		svc.Name, svc.UID = "api", "0dd0f3b5-6d4e-4bb4-9b30-0f1f6f4f0001"
		svc.Spec.Ports[0].Port, svc.Spec.Ports[0].NodePort = port, 31080
	})...)
}

const apiGroup = "k8s/31080/api/default/c-test"

func annotate(key string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}}
}
