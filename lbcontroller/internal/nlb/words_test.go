package nlb

import (
	"testing"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// TestHealthOf: the cloud names the servers that aren't healthy, and an address only where the server has one.
func TestHealthOf(t *testing.T) {
	t.Parallel()
	server, other := model.ServerKey{ID: "i-1", Port: 30080}, model.ServerKey{ID: "i-1", Port: 30443}
	pod, neighbour := model.ServerKey{ID: "eni-1", IP: "10.0.0.1", Port: 8080}, model.ServerKey{ID: "eni-1", IP: "10.0.0.2", Port: 8080}
	says := func(status string, s model.ServerKey) []*nlbv1.ServerHealth {
		return []*nlbv1.ServerHealth{{ServerId: s.ID, ServerIp: s.IP, Port: s.Port, Status: status}}
	}
	for name, tt := range map[string]struct {
		server model.ServerKey
		ill    []*nlbv1.ServerHealth
		want   readiness.Health
	}{
		"nobody is named":       {server, nil, readiness.Good},
		"another port":          {server, says("Unhealthy", other), readiness.Good},
		"its checks fail":       {server, says("Unhealthy", server), readiness.Bad},
		"it was just added":     {server, says("Initial", server), readiness.Unknown},
		"nothing is checked":    {server, says("Unavailable", server), readiness.Unknown},
		"another address":       {pod, says("Unhealthy", neighbour), readiness.Good},
		"its address":           {pod, says("Unhealthy", pod), readiness.Bad},
		"no address is named":   {pod, says("Unhealthy", model.ServerKey{ID: "eni-1", Port: 8080}), readiness.Bad},
		"an instance's address": {server, says("Unhealthy", model.ServerKey{ID: "i-1", IP: "192.168.0.1", Port: 30080}), readiness.Bad},
	} {
		if got := healthOf(tt.server, tt.ill); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// TestUsesGroups: an NLB that has a security group can leave it.
func TestUsesGroups(t *testing.T) {
	t.Parallel()
	there := model.Observed{Instance: Balancer{LoadBalancer: &nlbv1.LoadBalancer{SecurityGroupIds: []string{"sg-2"}}}}
	for list, want := range map[string]bool{"sg-1": false, "sg-2": true} {
		if has, keeps := (Product{}).Uses(there, list); has != want || keeps {
			t.Errorf("%s is used %t and kept %t, want %t and false", list, has, keeps, want)
		}
	}
}
