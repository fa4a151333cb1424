package nlb_test

import (
	"slices"
	"testing"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// TestGroupInUse: a server group that a listener of somebody else uses loses our servers and stays known as one that is
// there, so that it goes later; one that nobody uses is gone.
func TestGroupInUse(t *testing.T) {
	t.Parallel()
	cloud := inprocess.New(t, "vpc-test", network())
	const id = "sgp-1"
	ecs := model.ServerType(nlbv1.ServerType_SERVER_TYPE_ECS)
	server := model.Server{ServerKey: model.ServerKey{Type: ecs, ID: "i-1", Port: 80}, Weight: 100}
	cloud.Add(&state.Cloud{
		NLBs:         map[string]*state.NLB{"nlb-users": {VpcID: "vpc-test"}},
		NLBListeners: map[string]*state.NLBListener{"lsn-users": {NLBID: "nlb-users", Port: 80, Protocol: "TCP", ServerGroupID: id}},
		NLBServerGroups: map[string]*state.NLBServerGroup{id: {VpcID: "vpc-test", Servers: []*state.NLBServer{
			{Type: "Ecs", ServerID: "i-1", Port: 80, Weight: 100}, {Type: "Ecs", ServerID: "i-users", Port: 80},
		}}},
	})
	product := nlb.Product{Gateway: cloud.Client()}
	action := plan.DeleteGroup{GroupID: id, Servers: []model.Server{server}}
	result, err := product.Call(t.Context(), apply.Work{}, model.Observed{}, action)
	var left []*state.NLBServer
	cloud.Look(func(c *state.Cloud) { left = slices.Clone(c.NLBServerGroups[id].Servers) })
	if err != nil || !result.Held || len(left) != 1 || left[0].ServerID != "i-users" {
		t.Errorf("in use: %+v, %v, and %v are left", result, err, left)
	}
	isThere := true
	cloud.Change(func(c *state.Cloud) { clear(c.NLBListeners) })
	result, err = product.Call(t.Context(), apply.Work{}, model.Observed{}, action)
	cloud.Look(func(c *state.Cloud) { _, isThere = c.NLBServerGroups[id] })
	if err != nil || result.Held || isThere {
		t.Errorf("not in use: %+v, %v, it is there: %t", result, err, isThere)
	}
}
