package slb

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDescribeLoadBalancers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		params params
		want   []string
	}{
		{"by id", params{"LoadBalancerId": "lb-1,lb-old"}, []string{"lb-1", "lb-old"}},
		{"by unknown id", params{"LoadBalancerId": "lb-x"}, nil},
		{"by name", params{"LoadBalancerName": "name-of-lb-1,name-of-lb-vpc"}, []string{"lb-1", "lb-vpc"}},
		{"by tag", params{"Tag.1.Key": "owner", "Tag.1.Value": "one"}, []string{"lb-1"}},
		{"by tag key", params{"Tag.1.Key": "owner"}, []string{"lb-1"}},
		{"by two tags", params{"Tag.1.Key": "owner", "Tag.1.Value": "one", "Tag.2.Key": "other"}, nil},
		{"by tags as JSON", params{"Tags": `[{"TagKey":"owner","TagValue":"one"}]`}, []string{"lb-1"}},
		{"by another value", params{"Tags": `[{"TagKey":"owner","TagValue":"two"}]`}, nil},
		{"by address", params{"Address": "47.0.0.2"}, []string{"lb-old"}},
		{"by address type", params{"AddressType": intranet}, []string{"lb-vpc"}},
		{"by VPC and vSwitch", params{"VpcId": "vpc-1", "VSwitchId": "vsw-1", "NetworkType": "vpc"}, []string{"lb-vpc"}},
		{"by pay type", params{"PayType": prePay}, []string{"lb-prepaid"}},
		{"by status", params{"LoadBalancerStatus": locked}, []string{"lb-locked"}},
		{"by server", params{"ServerId": "i-2"}, []string{"lb-1"}},
		{"by server address", params{"ServerIntranetAddress": "10.0.0.1"}, []string{"lb-1"}},
		{"by unknown server address", params{"ServerIntranetAddress": "10.9.9.9"}, nil},
		{"by two filters", params{"ServerId": "i-2", "AddressType": intranet}, nil},
		{"first page", params{"PageNumber": "1", "PageSize": "2"}, []string{"lb-1", "lb-locked"}},
		{"last page", params{"PageNumber": "3", "PageSize": "2"}, []string{"lb-vpc"}},
		{"page beyond the end", params{"PageNumber": "2147483647", "PageSize": "100"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := newCloud(t).call("DescribeLoadBalancers", tt.params).texts("LoadBalancers.LoadBalancer", "LoadBalancerId")
			if diff := cmp.Diff(append([]string{}, tt.want...), got); diff != "" {
				t.Errorf("load balancers (-want +got):\n%s", diff)
			}
		})
	}
	ids := ""
	for i := range 11 {
		ids += fmt.Sprintf("lb-%d,", i)
	}
	testCodes(t, "DescribeLoadBalancers", []codeTest{
		{"eleven ids", params{"LoadBalancerId": ids}, "InvalidParameter"},
		{"eleven names", params{"LoadBalancerName": ids}, "InvalidParameter"},
		{"tags that are no JSON", params{"Tags": "x"}, "InvalidTag"},
		{"tags without key", params{"Tags": `[{"TagValue":"v"}]`}, "InvalidTag"},
		{"tag without key", params{"Tag.1.Value": "v"}, "InvalidTag"},
	})
	testCodes(t, "DescribeLoadBalancerAttribute", []codeTest{{"unknown", params{"LoadBalancerId": "lb-x"}, "InvalidLoadBalancerId.NotFound"}})
}

func TestChargeTypesInLists(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.call("ModifyLoadBalancerInternetSpec", params{"LoadBalancerId": "lb-old", "InternetChargeType": payByBandwidth, "Bandwidth": "5"})
	list := c.call("DescribeLoadBalancers", params{"LoadBalancerId": "lb-1,lb-old"})
	if diff := cmp.Diff([]string{"4", "3"}, list.texts("LoadBalancers.LoadBalancer", "InternetChargeType")); diff != "" {
		t.Errorf("InternetChargeType (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{payByTraffic, payByBandwidth}, list.texts("LoadBalancers.LoadBalancer",
		"InternetChargeTypeAlias")); diff != "" {
		t.Errorf("InternetChargeTypeAlias (-want +got):\n%s", diff)
	}
}

func TestRegions(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	if got := c.call("DescribeRegions", params{}).texts("Regions.Region", "RegionId"); !slices.Equal(got, []string{"cn-hangzhou"}) {
		t.Errorf("regions: %v", got)
	}
	want := []string{"cn-hangzhou-a", "cn-hangzhou-b", "cn-hangzhou-h", "cn-hangzhou-i"}
	if diff := cmp.Diff(want, c.call("DescribeZones", params{}).texts("Zones.Zone", "ZoneId")); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
	got := c.call("DescribeAvailableResource", params{"AddressIPVersion": "ipv6"})
	if n := len(got.list("AvailableResources.AvailableResource")); n != 12 {
		t.Errorf("got %d pairs of zones, want 12", n)
	}
	if kinds := got.texts("AvailableResources.AvailableResource.0.SupportResources.SupportResource",
		"AddressType"); !slices.Equal(kinds, []string{"classic_internet"}) {
		t.Errorf("IPv6 is on offer for %v, want classic_internet", kinds)
	}
}
