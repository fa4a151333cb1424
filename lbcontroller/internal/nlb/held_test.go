package nlb_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// TestGroupInUse: a server group that a listener of somebody else uses loses our servers and stays known as one that is
// there, so that it goes later; one that nobody uses is gone.
func TestGroupInUse(t *testing.T) {
	t.Parallel()
	cloud := gatewaytest.New(t)
	const id = "sgp-1"
	ecs := model.ServerType(nlbv1.ServerType_SERVER_TYPE_ECS)
	server := model.Server{ServerKey: model.ServerKey{Type: ecs, ID: "i-1", Port: 80}, Weight: 100}
	cloud.Lock()
	cloud.NLB.ServerGroups[id] = &nlbv1.ServerGroup{ServerGroupId: id, Servers: []*nlbv1.Server{
		{Type: nlbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-1", Port: 80, Weight: new(int32(100))}, {ServerId: "i-users", Port: 80},
	}}
	cloud.Unlock()
	used := true
	cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
		if method == "nlb.DeleteServerGroup" && used {
			return gatewaytest.Fault{Before: rpcerr.Errorf(rpcerr.ServerGroupInUse, "a listener of nlb-users uses %s", id)}
		}
		return gatewaytest.Fault{}
	})
	product := nlb.Product{Gateway: cloud.Client()}
	action := plan.DeleteGroup{GroupID: id, Servers: []model.Server{server}}
	result, err := product.Call(t.Context(), apply.Work{}, model.Observed{}, action)
	cloud.Lock()
	left := cloud.NLB.ServerGroups[id].GetServers()
	cloud.Unlock()
	if err != nil || !result.Held || len(left) != 1 || left[0].GetServerId() != "i-users" {
		t.Errorf("in use: %+v, %v, and %v are left", result, err, left)
	}
	used = false
	result, err = product.Call(t.Context(), apply.Work{}, model.Observed{}, action)
	cloud.Lock()
	_, isThere := cloud.NLB.ServerGroups[id]
	cloud.Unlock()
	if err != nil || result.Held || isThere {
		t.Errorf("not in use: %+v, %v, it is there: %t", result, err, isThere)
	}
}
