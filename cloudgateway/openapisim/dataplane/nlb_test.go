package dataplane

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// withNLB adds a Network Load Balancer with a listener to the demo.
func withNLB() (*state.Cloud, *state.NLB, *state.NLBListener, *state.NLBServerGroup) {
	c := demo()
	lb := &state.NLB{ID: "nlb-1", Status: "Active", Zones: []*state.NLBZone{
		{Status: "Active", PrivateIP: "192.168.0.1", PublicIP: "127.47.0.8"}, {Status: "Active", PrivateIP: "127.48.0.9"},
	}}
	l := &state.NLBListener{ID: "lsn-1@81", NLBID: "nlb-1", Protocol: "TCP", Port: 81, Status: "Running",
		ServerGroupID: "sgp-1", IdleTimeout: 60}
	g := &state.NLBServerGroup{ID: "sgp-1", Scheduler: "Wrr", Drain: true, DrainTimeout: 10, HealthCheck: state.NLBHealthCheck{
		Type: "HTTP", HealthyThreshold: 2, UnhealthyThreshold: 3, ConnectTimeout: 4, Interval: 5, Domain: "$SERVER_IP", URL: "/ok", Method: "GET",
		HTTPCodes: []string{"http_2xx", "http_3xx"},
	}, Servers: []*state.NLBServer{
		{Type: "Ecs", ServerID: "i-1", ServerIP: "127.0.1.1", Port: 8080, Weight: 7, Status: "Available"},
		{Type: "Eni", ServerID: "eni-1", ServerIP: "127.0.2.1", Port: 8080, Weight: 100, Status: "Adding"},
		{Type: "Ip", ServerID: "127.0.9.9", ServerIP: "127.0.9.9", Port: 8080, Weight: 100, Status: "Available"},
		{Type: "Ip", ServerID: "192.168.9.9", ServerIP: "192.168.9.9", Port: 8080, Weight: 100, Status: "Available"},
		{Type: "Ecs", ServerID: "i-1", ServerIP: "127.0.1.1", Port: 8081, Weight: 100, Status: "Removing"},
	}}
	c.NLBs[lb.ID], c.NLBListeners[l.ID], c.NLBServerGroups[g.ID] = lb, l, g
	return c, lb, l, g
}

// A listener of NLB listens at every address of its load balancer that is on loopback, and forwards to the servers of its group.
func TestDeriveNLB(t *testing.T) {
	t.Parallel()
	c, _, _, _ := withNLB()
	w := derive(c, Ranges{})
	spec := w.byKey[listenerKey{"nlb-1", 81, protoTCP}]
	if spec == nil {
		t.Fatal("there is no listener")
	}
	if spec.established != time.Minute || spec.drain != 10*time.Second {
		t.Errorf("the listener is %+v", spec)
	}
	var targets []string
	for _, target := range spec.pool.targets {
		text := target.id.addr.String()
		if target.down != "" {
			text = "down"
		}
		targets = append(targets, text)
	}
	if diff := cmp.Diff([]string{"127.0.1.1:8080", "127.0.2.1:8080", "127.0.9.9:8080", "down"}, targets); diff != "" {
		t.Error(diff)
	}
	want := checkup{
		kind: "http", interval: 5 * time.Second, timeout: 4 * time.Second, rise: 2, fall: 3, method: "get", uri: "/ok",
		codes: "http_2xx,http_3xx",
	}
	if got := spec.pool.targets[0].probe.how.Value(); got != want {
		t.Errorf("the check is %+v, want %+v", got, want)
	}
}

func TestDeriveNLBSockets(t *testing.T) {
	t.Parallel()
	both := []string{"127.47.0.8:81/tcp", "127.48.0.9:81/tcp"}
	for name, tt := range map[string]struct {
		change func(*state.Cloud, *state.NLB, *state.NLBListener)
		want   []string
	}{
		"running": {func(*state.Cloud, *state.NLB, *state.NLBListener) {}, both},
		"configuring": {func(_ *state.Cloud, lb *state.NLB, l *state.NLBListener) {
			l.Status, lb.Status = "Configuring", "Configuring"
		}, both},
		"stopped": {func(_ *state.Cloud, _ *state.NLB, l *state.NLBListener) { l.Status = "Stopped" }, nil},
		"UDP": {
			func(_ *state.Cloud, _ *state.NLB, l *state.NLBListener) { l.Protocol = "UDP" },
			[]string{"127.47.0.8:81/udp", "127.48.0.9:81/udp"},
		},
		"TLS":          {func(_ *state.Cloud, _ *state.NLB, l *state.NLBListener) { l.Protocol = "TCPSSL" }, nil},
		"shifted":      {func(_ *state.Cloud, lb *state.NLB, _ *state.NLBListener) { lb.Zones[0].Status = "Shifted" }, both[1:]},
		"provisioning": {func(_ *state.Cloud, lb *state.NLB, _ *state.NLBListener) { lb.Status = "Provisioning" }, nil},
		"no group":     {func(c *state.Cloud, _ *state.NLB, _ *state.NLBListener) { clear(c.NLBServerGroups) }, nil},
	} {
		c, lb, l, _ := withNLB()
		tt.change(c, lb, l)
		due := time.Unix(1e9, 0)
		c.NLBJobs["j"], c.NLBRunningJobs = &state.NLBJob{EndsAt: due}, []string{"j"}
		w := derive(c, Ranges{})
		var got []string
		for s := range w.listeners {
			if s.addr.Port() == 81 {
				got = append(got, s.addr.String()+"/"+s.protocol)
			}
		}
		if slices.Sort(got); !slices.Equal(got, tt.want) || !w.due.Equal(due) {
			t.Errorf("%s: %v until %v, want %v", name, got, w.due, tt.want)
		}
	}
}
