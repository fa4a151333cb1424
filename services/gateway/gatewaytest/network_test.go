package gatewaytest_test

import (
	"testing"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/proto/rpcerr"
)

func TestInstances(t *testing.T) {
	t.Parallel()
	f := world(t)
	ctx, c := t.Context(), f.Client()
	batch, err := c.Instances.BatchGetInstances(ctx, &ecsv1.BatchGetInstancesRequest{InstanceIds: []string{"i-2", "i-99", "i-1"}})
	if err != nil {
		t.Fatal(err)
	}
	results := batch.GetResults()
	if len(results) != 3 || results[0].GetInstance().GetInstanceId() != "i-2" || results[2].GetInstance().GetInstanceId() != "i-1" ||
		!rpcerr.IsNotFound(rpcerr.FromItem(results[1].GetError())) {
		t.Errorf("BatchGetInstances = %v", results)
	}
	if _, err := c.Instances.GetInstance(ctx, &ecsv1.GetInstanceRequest{InstanceId: "i-99"}); rpcerr.ReasonOf(err) != rpcerr.InstanceNotFound {
		t.Errorf("GetInstance = %v", err)
	}
	list, err := c.Instances.ListInstances(ctx, &ecsv1.ListInstancesRequest{VpcId: "vpc-1", PrivateIps: []string{"192.168.0.7"}})
	if err != nil || len(list.GetInstances()) != 1 || list.GetInstances()[0].GetInstanceId() != "i-7" {
		t.Errorf("ListInstances = %v, %v", list, err)
	}
	enis, err := c.NetworkInterfaces.BatchGetNetworkInterfaces(ctx, &ecsv1.BatchGetNetworkInterfacesRequest{
		VpcId: "vpc-1", IpAddresses: []string{"192.168.1.2", "192.168.9.9"},
	})
	if err != nil || enis.GetResults()[0].GetNetworkInterface().GetNetworkInterfaceId() != "eni-1" ||
		!rpcerr.IsNotFound(rpcerr.FromItem(enis.GetResults()[1].GetError())) {
		t.Errorf("BatchGetNetworkInterfaces = %v, %v", enis, err)
	}
	if _, err := c.NetworkInterfaces.UpdateNetworkInterface(ctx, &ecsv1.UpdateNetworkInterfaceRequest{
		NetworkInterfaceId: "eni-1", SourceDestCheck: new(false),
	}); err != nil {
		t.Fatal(err)
	}
	f.Lock()
	defer f.Unlock()
	if eni := f.NetworkInterfaces["eni-1"]; eni.SourceDestCheck == nil || eni.GetSourceDestCheck() {
		t.Errorf("after the update: %v", eni)
	}
}
