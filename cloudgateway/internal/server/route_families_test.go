package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/writetest"
)

// TestRoutesOfBothFamilies go into one call, which names the family where it is IPv6.
func TestRoutesOfBothFamilies(t *testing.T) {
	w := newWorld(t)
	destinations := []string{"10.0.0.0/24", "fd00:0:0:1::/64"}
	var entries []*vpcv1.RouteEntry
	for _, destination := range destinations {
		entries = append(entries, &vpcv1.RouteEntry{RouteTableId: testTable, DestinationCidr: destination, NextHopId: instanceID(0)})
	}
	held := func() []string {
		t.Helper()
		listed, err := w.Routes.ListRouteEntries(t.Context(), &vpcv1.ListRouteEntriesRequest{RouteTableId: testTable, Type: "Custom"})
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, e := range listed.GetRouteEntries() {
			list = append(list, e.GetDestinationCidr())
		}
		return list
	}
	created, err := w.Routes.BatchCreateRouteEntries(t.Context(), &vpcv1.BatchCreateRouteEntriesRequest{VpcId: testVPC, RouteEntries: entries})
	if err := writetest.FirstFailure(err, created.GetResults()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(destinations, held()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	writes := w.calls(false)
	if len(writes) != 1 {
		t.Fatalf("%d writes, want one", len(writes))
	}
	v4, found := writes[0].Params["RouteEntries.1.IpVersion"]
	if v6 := writes[0].Params["RouteEntries.2.IpVersion"]; v6 != "6" || found {
		t.Errorf("IP versions %q and %q, want none for IPv4 and 6 for IPv6", v4, v6)
	}
	deleted, err := w.Routes.BatchDeleteRouteEntries(t.Context(), &vpcv1.BatchDeleteRouteEntriesRequest{VpcId: testVPC, RouteEntries: entries})
	if err := writetest.FirstFailure(err, deleted.GetResults()); err != nil {
		t.Fatal(err)
	}
	if left := held(); len(left) != 0 {
		t.Errorf("entries left: %v", left)
	}
}
