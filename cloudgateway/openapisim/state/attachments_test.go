package state

import "testing"

// Counting on gives what counting anew gives, and a change is judged by what it leaves.
func TestAttachments(t *testing.T) {
	t.Parallel()
	c := New("cn-hangzhou", "1")
	c.LoadBalancers["lb-1"] = &LoadBalancer{ID: "lb-1", DefaultServers: []*Server{{ServerID: "i-1"}}}
	one, two := &Server{ServerID: "i-1", Port: 80}, &Server{ServerID: "i-2", Port: 80}
	g := &ServerGroup{ID: "rsp-1", LoadBalancerID: "lb-1", Servers: []*Server{one}}
	c.AddGroup(g)
	expect := func(joining, leaving []*Server, id string, wantTimes, wantBackends int) {
		t.Helper()
		if times, backends := c.Attached("lb-1", joining, leaving); times[id] != wantTimes || backends != wantBackends {
			t.Errorf("%s is attached %d times among %d backends, want %d among %d", id, times[id], backends, wantTimes, wantBackends)
		}
		if err := c.CheckCounts(); err != nil {
			t.Error(err)
		}
	}
	expect([]*Server{two}, nil, "i-2", 1, 2)
	expect([]*Server{{ServerID: "i-1", Port: 81}}, nil, "i-1", 3, 1)
	expect([]*Server{two}, []*Server{one}, "i-1", 1, 2) // the default group still has i-1

	g.Servers = []*Server{two}
	c.Attach("lb-1", []*Server{two}, []*Server{one})
	expect(nil, nil, "i-1", 0, 2)
	c.RemoveGroup(g)
	expect([]*Server{two}, nil, "i-2", 1, 2)
	g.LoadBalancerID = "lb-2"
	c.AddGroup(g)
	expect(nil, nil, "i-2", 0, 1)
	for found := range c.Groups("lb-2") {
		if found != g {
			t.Errorf("lb-2 has the group %s", found.ID)
		}
	}
}
