package console

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Everything is found by what people know of it.
func TestSearch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		search                       string
		balancers, routes, instances string
	}{
		{"", "lb-1 lb-2", "10.0.1.0/24 10.0.2.0/24 100.64.0.0/10", "i-1 i-2 "},
		{"lb-2", "lb-2", "", ""},
		{"WEB", "lb-1", "", ""},
		{"47.96", "lb-1", "", ""},
		{"ack.aliyun", "lb-1", "", ""},
		{"rsp-3", "lb-1", "", ""},
		{"i-1", "lb-1", "10.0.1.0/24", "i-1"},
		{"i-2", "lb-1", "10.0.2.0/24", "i-1 i-2"}, // a default server, and a part of eni-2
		{"192.168.0.22", "lb-1", "", "i-1"},
		{"eni-free", "", "", ""},
		{"121.40", "", "", "i-1"},
		{"vtb-1", "", "10.0.1.0/24 10.0.2.0/24 100.64.0.0/10", ""},
		{"of node", "", "10.0.1.0/24", ""},
		{"nothing", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.search, func(t *testing.T) {
			t.Parallel()
			f, q := small(), query{Search: strings.ToLower(tt.search)}
			var balancers, routes, instances []string
			for _, b := range viewBalancers(f.cloud, f.health, q).Items {
				balancers = append(balancers, b.ID)
			}
			for _, table := range viewRoutes(f.cloud, q).Tables {
				for _, e := range table.Entries {
					routes = append(routes, e.Cidr)
				}
			}
			for _, i := range viewInstances(f.cloud, q).Items {
				instances = append(instances, i.ID)
			}
			got := [3]string{strings.Join(balancers, " "), strings.Join(routes, " "), strings.Join(instances, " ")}
			if diff := cmp.Diff([3]string{tt.balancers, tt.routes, tt.instances}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Of large load balancers a part is shown, and of one alone more.
func TestLargeBalancers(t *testing.T) {
	t.Parallel()
	c := state.New("r", "a")
	for n := range 2 {
		lb := &state.LoadBalancer{ID: "lb-" + strconv.Itoa(n)}
		c.LoadBalancers[lb.ID] = lb
		for port := range 60 {
			group := &state.ServerGroup{ID: lb.ID + "-g" + strconv.Itoa(port), LoadBalancerID: lb.ID}
			for range 300 {
				group.Servers = append(group.Servers, &state.Server{ServerID: "i", Weight: 100})
			}
			c.ServerGroups[group.ID] = group
			if port < 55 {
				lb.Listeners = append(lb.Listeners, &state.Listener{
					Port: 1 + port, Protocol: "tcp", Status: "running", Attributes: map[string]string{"VServerGroupId": group.ID},
				})
			}
		}
	}
	shape := func(search string) (listeners, rows int, note, more, health string) {
		b := viewBalancers(c, words(), query{Search: search}).Items[0]
		l := b.Listeners[0]
		return len(b.Listeners), len(l.Rows), l.Rows[len(l.Rows)-1].Note, b.More, b.Health.Text
	}
	listeners, rows, note, more, health := shape("")
	if listeners != listenersInList+1 || rows != serversInList+1 || note != "and 294 more" ||
		more != "and 49 more listeners, 4 more groups without a listener" || health != "1800 of 1800 healthy" {
		t.Error("in a list:", listeners, rows, note, more, health)
	}
	listeners, rows, note, more, health = shape("lb-1")
	if listeners != listenersAlone+1 || rows != serversAlone+1 || note != "and 100 more" ||
		more != "and 5 more listeners, 4 more groups without a listener" || health != "15000 of 15000 healthy" {
		t.Error("alone:", listeners, rows, note, more, health)
	}
}
