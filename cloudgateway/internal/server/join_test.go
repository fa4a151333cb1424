package server

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/writetest"
)

// TestReadsOfAThousandJoiningNodes counts what 999 nodes that join at once cost: the nodecontroller reads their
// instances and network interfaces together, and the routecontroller reads the table and creates a hundred routes at a
// time.
func TestReadsOfAThousandJoiningNodes(t *testing.T) {
	const nodes, together = 999, 100
	w := newWorld(t, func(c *openapisim.Config) { c.Seed = seed(nodes) })
	settings := w.sim.Settings()
	settings.Quotas.RouteEntries = nodes
	w.sim.SetSettings(settings)
	instances := &ecsv1.BatchGetInstancesRequest{}
	for i := range nodes {
		instances.InstanceIds = append(instances.InstanceIds, instanceID(i))
	}
	found, err := w.Instances.BatchGetInstances(t.Context(), instances)
	if err := writetest.FirstFailure(err, found.GetResults()); err != nil {
		t.Fatal(err)
	}
	interfaces := &ecsv1.BatchGetNetworkInterfacesRequest{}
	for _, result := range found.GetResults() {
		interfaces.NetworkInterfaceIds = append(interfaces.NetworkInterfaceIds, result.GetInstance().GetPrimaryNetworkInterfaceId())
	}
	read, err := w.NetworkInterfaces.BatchGetNetworkInterfaces(t.Context(), interfaces)
	if err := writetest.FirstFailure(err, read.GetResults()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Routes.ListRouteEntries(t.Context(), &vpcv1.ListRouteEntriesRequest{RouteTableId: testTable}); err != nil {
		t.Fatal(err)
	}
	for first := 0; first < nodes; first += together {
		request := &vpcv1.BatchCreateRouteEntriesRequest{VpcId: testVPC}
		for i := first; i < min(first+together, nodes); i++ {
			request.RouteEntries = append(request.RouteEntries, &vpcv1.RouteEntry{
				RouteTableId: testTable, DestinationCidr: fmt.Sprintf("10.%d.%d.0/24", i/256, i%256), NextHopId: instanceID(i),
			})
		}
		created, err := w.Routes.BatchCreateRouteEntries(t.Context(), request)
		if err := writetest.FirstFailure(err, created.GetResults()); err != nil {
			t.Fatal(err)
		}
	}
	calls := map[string]int{}
	for _, action := range w.actions(true) {
		calls[action]++
	}
	want := map[string]int{
		"DescribeInstances": 10, "DescribeNetworkInterfaces": 10, "CreateRouteEntries": 20,
		// One for the table, and two or three for each hundred to see that they are in force: one about some of the first fifty, and the table.
		"DescribeRouteEntryList": 28, "DescribeRouteTableList": 1,
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestThousandRoutesInTwoTables gives 1 000 nodes a route in each of two tables, as the routecontroller does, in a cloud that works three
// seconds on each write and takes no other of the VPC meanwhile. Writes are as few as can be, none is refused, all is read back in few
// reads, and the first nodes have both of their routes long before the last.
func TestThousandRoutesInTwoTables(t *testing.T) {
	const nodes, together, second = 1000, 100, "vtb-own"
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *openapisim.Config) {
			settings := api.DefaultSettings()
			settings.Quotas.RouteEntries = nodes
			c.Settings, c.Seed = &settings, seed(nodes)
			c.Seed.RouteTables[second] = &state.RouteTable{VpcID: testVPC, Type: "Custom"}
		})
		start := time.Now()
		firsts := make(chan time.Duration, 2)
		var all errgroup.Group
		for _, table := range []string{testTable, second} {
			all.Go(func() error {
				if _, err := w.Routes.ListRouteEntries(t.Context(), &vpcv1.ListRouteEntriesRequest{RouteTableId: table}); err != nil {
					return err
				}
				for first := 0; first < nodes; first += together {
					request := &vpcv1.BatchCreateRouteEntriesRequest{VpcId: testVPC}
					for i := first; i < first+together; i++ {
						request.RouteEntries = append(request.RouteEntries, &vpcv1.RouteEntry{
							RouteTableId: table, DestinationCidr: fmt.Sprintf("10.%d.%d.0/24", i/256, i%256), NextHopId: instanceID(i),
						})
					}
					created, err := w.Routes.BatchCreateRouteEntries(t.Context(), request)
					if err := writetest.FirstFailure(err, created.GetResults()); err != nil {
						return err
					}
					if first == 0 {
						firsts <- time.Since(start)
					}
				}
				return nil
			})
		}
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
		calls := map[string]int{}
		for _, call := range w.calls(true) {
			if calls[call.Action]++; call.Code != "" {
				t.Errorf("%s was refused: %s", call.Action, call.Code)
			}
		}
		first := max(<-firsts, <-firsts)
		t.Logf("%v; the first %d nodes after %s, all after %s", calls, together, first, time.Since(start))
		if calls["CreateRouteEntries"] != 2*nodes/50 || calls["DescribeRouteEntryList"] > 60 {
			t.Errorf("calls %v, want 20 writes for each table and at most 60 reads in all", calls)
		}
		if first > 20*time.Second {
			t.Errorf("the first nodes have their routes after %s", first)
		}
	})
}
