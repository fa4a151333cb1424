package eni

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
)

// network is a VPC with a vSwitch, and one instance.
func network() *state.Cloud {
	seed := state.New("cn-hangzhou", "")
	seed.Vpcs["vpc-test"] = &state.Vpc{CidrBlock: "10.0.0.0/8"}
	seed.VSwitches["vsw-1"] = &state.VSwitch{VpcID: "vpc-test", ZoneID: "cn-hangzhou-h", CidrBlock: "10.0.0.0/15"}
	seed.Instances["i-1"] = &state.Instance{VpcID: "vpc-test", VSwitchID: "vsw-1", ZoneID: "cn-hangzhou-h", Status: "Running",
		PrivateIPs: []string{"10.1.0.1"}}
	return seed
}

func put(cloud *inprocess.Cloud, id, ip string) {
	cloud.Add(&state.Cloud{Interfaces: map[string]*state.NetworkInterface{id: {Type: "Secondary", Status: "InUse", InstanceID: "i-1",
		VpcID: "vpc-test", VSwitchID: "vsw-1", ZoneID: "cn-hangzhou-h", PrimaryIP: ip, PrivateIPs: []string{ip}}}})
}

func TestFind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := inprocess.New(t, "vpc-test", network())
		put(f, "eni-1", "10.0.0.1")
		put(f, "eni-2", "10.0.0.2")
		var known Known
		r := &Resolver{Client: f.Client()} // The VPC comes from the gateway.
		find := func(ips ...string) (map[string]string, []string, int) {
			t.Helper()
			answer, err := r.Find(t.Context(), &known, ips, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(calm)
			asked := len(f.CallsOf("BatchGetNetworkInterfaces"))
			f.ResetCalls()
			return answer.IDs, answer.Missing, asked
		}
		check := func(what string, wantIDs map[string]string, wantUnfindd []string, wantAsked int, gotIDs map[string]string,
			gotUnfindd []string, gotAsked int) {
			t.Helper()
			if diff := cmp.Diff([]any{wantIDs, wantUnfindd, wantAsked}, []any{gotIDs, gotUnfindd, gotAsked}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		got, missing, asked := find("10.0.0.1", "10.0.0.9")
		check("first", map[string]string{"10.0.0.1": "eni-1"}, []string{"10.0.0.9"}, 1, got, missing, asked)
		got, missing, asked = find("10.0.0.1")
		check("remembered", map[string]string{"10.0.0.1": "eni-1"}, nil, 0, got, missing, asked)
		got, missing, asked = find("10.0.0.2")
		check("another", map[string]string{"10.0.0.2": "eni-2"}, nil, 1, got, missing, asked)
		put(f, "eni-1", "10.0.0.7")
		put(f, "eni-3", "10.0.0.1")
		got, missing, asked = find("10.0.0.1", "10.0.0.2")
		check("an address that left is looked up anew", map[string]string{"10.0.0.1": "eni-3", "10.0.0.2": "eni-2"}, nil, 1, got, missing, asked)
		<-time.After(keepFor)
		_, _, asked = find("10.0.0.1", "10.0.0.2")
		check("believed for a while only", nil, nil, 1, nil, nil, asked)
		_, _, asked = find()
		check("nodes only", nil, nil, 0, nil, nil, asked)
	})
}

func TestFindFails(t *testing.T) {
	t.Parallel()
	f := inprocess.New(t, "vpc-test", network())
	r := &Resolver{Client: f.Client(), VPCID: "vpc-test"}
	f.Fail("BatchGetNetworkInterfaces", 1, &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable})
	if _, err := r.Find(t.Context(), &Known{}, []string{"10.0.0.1"}, nil, nil); err == nil {
		t.Error("a failed lookup is no error")
	}
	r = &Resolver{Client: inprocess.New(t, "", network()).Client()}
	if _, err := r.Find(t.Context(), &Known{}, []string{"10.0.0.1"}, nil, nil); err == nil {
		t.Error("an unknown VPC is no error")
	}
}

// TestMissingWaitsForTheNextLookup: an address that no interface carries, and whose time comes just after others were
// looked up, is worth another look when there may be one, not at once and again and again until then. A look itself takes
// the gateway some milliseconds.
func TestMissingWaitsForTheNextLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := inprocess.New(t, "vpc-test", network())
		put(f, "eni-1", "10.0.0.1")
		var known Known
		r := &Resolver{Client: f.Client(), VPCID: "vpc-test"}
		find := func(what string, wantAgain time.Duration, wantAsked int, ips ...string) {
			t.Helper()
			answer, err := r.Find(t.Context(), &known, ips, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			asked := len(f.CallsOf("BatchGetNetworkInterfaces"))
			f.ResetCalls()
			if diff := cmp.Diff([]any{wantAgain, wantAsked}, []any{answer.Again.Round(time.Second), asked}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		find("first", firstRetry, 1, "10.0.0.9")
		<-time.After(firstRetry - time.Second)
		find("another pod comes", 2*firstGap, 1, "10.0.0.1", "10.0.0.9")
		<-time.After(2 * time.Second)
		find("its time has come, but that of a lookup hasn't", 2*firstGap-2*time.Second, 0, "10.0.0.1", "10.0.0.9")
		<-time.After(2*firstGap - 2*time.Second)
		find("then", 2*firstRetry, 1, "10.0.0.1", "10.0.0.9")
	})
}
