package lb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

var defaultGroup = annotated(annotation.DefaultServerGroup, "on")

// byDefault lists the servers in the default server group of a CLB; those of the Service have a star.
func (w *world) byDefault(id string) string {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	var servers []string
	for _, s := range w.cloud.LoadBalancers[id].DefaultServers {
		mark := ""
		if s.Description == "k8s/default/web/default/c-test" {
			mark = "*"
		}
		servers = append(servers, fmt.Sprintf("%s=%d%s", s.ServerID, s.Weight, mark))
	}
	slices.Sort(servers)
	return strings.Join(servers, " ")
}

// byHand puts an instance of a user's into the default server group of a CLB.
func (w *world) byHand(id, server string, weight int) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	lb := w.cloud.LoadBalancers[id]
	lb.DefaultServers = append(lb.DefaultServers, instanceServer(server, 0, weight, ""))
}

// TestDefaultGroupOfTwo: two Services fill one default server group, and a node that both want is there once. When one
// of them gives it up, the other puts it back at once, and not with its next check for drift.
func TestDefaultGroupOfTwo(t *testing.T) {
	for name, leave := range map[string]func(w *world){
		"deleted": func(w *world) { w.remove() },
		"deleted after a restart": func(w *world) {
			w.restart()
			w.remove()
		},
		"without the annotation": func(w *world) { w.update(without(annotation.DefaultServerGroup)) },
		"moved": func(w *world) {
			w.usersCLB("lb-next")
			w.update(naming("lb-next"))
			w.clearStatus()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				withRecords(w)
				w.usersCLB(usersLB)
				w.byHand(usersLB, "i-users", 7)
				w.create(web(naming(usersLB), defaultGroup))
				w.create(api(443, naming(usersLB), defaultGroup))
				w.create(named("beside", 1, naming(usersLB)))
				check(t, "servers", "i-1=100* i-2=100* i-users=7", w.byDefault(usersLB))
				w.calls()
				leave(w)
				check(t, "servers of the other one", "i-1=100 i-2=100 i-users=7", w.byDefault(usersLB))
			})
		})
	}
}

// TestDefaultGroupIsNoUsers: a port can't be mapped to it, as to a server group of the user's: its servers have no port.
func TestDefaultGroupIsNoUsers(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(naming(usersLB), annotated(annotation.VGroupPort, "default-server-group:80")))
		check(t, "servers", "", w.byDefault(usersLB))
		check(t, "conditions", []string{"LoadBalancerReady=False Pending", "Synced=False Invalid"}, w.conditions())
	})
}
