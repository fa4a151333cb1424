package ecs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/ecs"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Every documented filter of instances filters; one that was ignored would match everything.
func TestInstanceFilters(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		params []string
		want   string
	}{
		{"IPv6 address", []string{"Ipv6Address.1", "2408::1"}, "i-1"},
		{"other IPv6 address", []string{"Ipv6Address.1", "2408::2"}, ""},
		{"image", []string{"ImageId", "m-1"}, "i-2"},
		{"key pair", []string{"KeyPairName", "key"}, "i-2"},
		{"family", []string{"InstanceTypeFamily", "ecs.c7"}, "i-2"},
		{"charged by bandwidth", []string{"InternetChargeType", "PayByBandwidth"}, "i-2"},
		{"unknown charge type", []string{"InternetChargeType", "PayByElephant"}, "InvalidInternetChargeType.ValueNotSupported"},
		{"I/O optimized", []string{"IoOptimized", "true"}, "i-1 i-2 i-3"},
		{"not I/O optimized", []string{"IoOptimized", "false"}, ""},
		{"locked", []string{"LockReason", "security"}, ""},
		{"to be released", []string{"LockReason", "Recycling"}, "i-3"},
		{"unknown lock", []string{"LockReason", "lost key"}, "InvalidLockReason.NotFound"},
		{"cluster", []string{"HpcClusterId", "hpc-1"}, "InvalidHpcClusterId.NotFound"},
		{"tokens", []string{"HttpTokens", "required"}, "i-2"},
		{"no metadata", []string{"HttpEndpoint", "disabled"}, ""},
		{"hops", []string{"HttpPutResponseHopLimit", "2"}, "i-2"},
		{"RDMA address", []string{"RdmaIpAddresses", `["10.0.0.1"]`}, ""},
		{"resource group", []string{"ResourceGroupId", "rg-1"}, "i-2"},
		{"created later", []string{"Filter.1.Key", "CreationStartTime", "Filter.1.Value", "2026-01-01T08:00Z"}, "i-2"},
		{"created before", []string{"Filter.2.Key", "CreationEndTime", "Filter.2.Value", "2026-01-01T08:00:00Z"}, "i-1 i-3"},
		{"expired before", []string{"Filter.1.Key", "ExpiredEndTime", "Filter.1.Value", "2030-01-01T00:00Z"}, ""},
		{"expires after", []string{"Filter.1.Key", "ExpiredStartTime", "Filter.1.Value", "2030-01-01T00:00Z"}, "i-1 i-2 i-3"},
		{"unknown key", []string{"Filter.1.Key", "Mood", "Filter.1.Value", "x"}, "InvalidFilterKey.NotFound"},
		{"no time", []string{"Filter.1.Key", "CreationEndTime", "Filter.1.Value", "noon"}, "InvalidFilterValue"},
		{"name", []string{"InstanceName", "name-i-*"}, "i-1 i-2 i-3"},
		{"end of a name", []string{"InstanceName", "*-2"}, "i-2"},
		{"middle of a name", []string{"InstanceName", "n*e-*3"}, "i-3"},
		{"not in the middle", []string{"InstanceName", "n*x*3"}, ""},
		{"no overlap", []string{"InstanceName", "name-i-2*2"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cloud := newCloud()
			i := cloud.Instances["i-2"]
			i.ImageID, i.KeyPairName, i.InstanceType, i.InternetChargeType, i.ResourceGroupID = "m-1", "key", "ecs.c7.large",
				"PayByBandwidth", "rg-1"
			i.Created = time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
			i.Attributes = map[string]string{"HttpEndpoint": "enabled", "HttpTokens": "required", "HttpPutResponseHopLimit": "2"}
			cloud.Instances["i-3"].LockReasons = []string{"Recycling"}
			answer, got := apitest.New(t, ecs.Product(), cloud).Call("DescribeInstances", tt.params...)
			if got == "" {
				got = strings.Join(apitest.List(answer, "InstanceId", "Instances", "Instance"), " ")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Who asks for no page gets a token as long as there is more, in the answers of all actions that know tokens, so that a client
// that follows them sees everything; a numbered page has none.
func TestFirstPageHasAToken(t *testing.T) {
	t.Parallel()
	for action, list := range map[string][3]string{
		"DescribeInstances":         {"InstanceId", "Instances", "Instance"},
		"DescribeNetworkInterfaces": {"NetworkInterfaceId", "NetworkInterfaceSets", "NetworkInterfaceSet"},
		"DescribeSecurityGroups":    {"SecurityGroupId", "SecurityGroups", "SecurityGroup"},
	} {
		cloud := state.New(apitest.Region, apitest.Account)
		for n := range 25 {
			id := fmt.Sprintf("%02d", n)
			cloud.Instances["i-"+id] = &state.Instance{ID: "i-" + id, Status: "Running"}
			cloud.Interfaces["eni-"+id] = &state.NetworkInterface{ID: "eni-" + id}
			cloud.SecurityGroups["sg-"+id] = &state.SecurityGroup{ID: "sg-" + id}
		}
		c := apitest.New(t, ecs.Product(), cloud)
		seen := map[string]bool{}
		answer := c.Must(action)
		if answer["TotalCount"] != 25.0 {
			t.Errorf("%s counts %v", action, answer["TotalCount"])
		}
		for range 3 {
			for _, id := range apitest.List(answer, list[0], list[1], list[2]) {
				seen[id] = true
			}
			token := answer["NextToken"].(string)
			if token == "" {
				break
			}
			answer = c.Must(action, "NextToken", token)
		}
		if len(seen) != 25 || answer["NextToken"] != "" {
			t.Errorf("%s: a client that follows tokens sees %d of 25", action, len(seen))
		}
		if answer := c.Must(action, "PageSize", "20"); answer["NextToken"] != "" {
			t.Errorf("%s: a numbered page has the token %v", action, answer["NextToken"])
		}
	}
}
