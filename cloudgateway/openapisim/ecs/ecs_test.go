package ecs_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/ecs"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func newCloud() *state.Cloud {
	c := state.New(apitest.Region, apitest.Account)
	c.VSwitches["vsw-1"] = &state.VSwitch{ID: "vsw-1", VpcID: "vpc-1", ZoneID: "z-a"}
	add := func(n int, zone, status string, tags ...state.Tag) {
		id := "i-" + strconv.Itoa(n)
		ip := fmt.Sprintf("192.168.0.%d", n)
		c.Instances[id] = &state.Instance{
			ID: id, Name: "name-" + id, HostName: id, ZoneID: zone, InstanceType: "ecs.g7.xlarge", Status: status, ChargeType: "PostPaid",
			SpotStrategy: "NoSpot", VpcID: "vpc-1", VSwitchID: "vsw-1", PrivateIPs: []string{ip}, Tags: tags,
		}
		c.Interfaces["eni-"+id] = &state.NetworkInterface{
			ID: "eni-" + id, Type: "Primary", Status: "InUse", InstanceID: id, VpcID: "vpc-1", VSwitchID: "vsw-1", ZoneID: zone,
			PrimaryIP: ip, PrivateIPs: []string{ip}, SourceDestCheck: true, Tags: tags,
		}
	}
	add(1, "z-a", "Running", state.Tag{Key: "k", Value: "v"})
	add(2, "z-a", "Stopped", state.Tag{Key: "k", Value: "w"})
	add(3, "z-b", "Running")
	c.Interfaces["eni-pod"] = &state.NetworkInterface{
		ID: "eni-pod", Type: "Secondary", Status: "InUse", InstanceID: "i-1", VpcID: "vpc-1", VSwitchID: "vsw-1", PrimaryIP: "192.168.0.100",
		PrivateIPs: []string{"192.168.0.100", "192.168.0.101"}, Ipv6Addresses: []string{"2408::1"},
	}
	c.Instances["i-1"].EipID = "eip-1"
	c.Instances["i-3"].PublicIPs = []string{"47.1.1.3"}
	c.Eips["eip-1"] = &state.Eip{ID: "eip-1", Address: "121.40.0.1", Bandwidth: "5", Status: "InUse", InstanceID: "i-1",
		InstanceType: "EcsInstance"}
	return c
}

func TestDescribeInstances(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		params []string
		want   string // ids, or an error code
	}{
		{"all", nil, "i-1 i-2 i-3"},
		{"ids", []string{"InstanceIds", `["i-3","i-1","i-none","i-1"]`}, "i-1 i-3"},
		{"no ids", []string{"InstanceIds", `[]`}, ""},
		{"ids are no list", []string{"InstanceIds", `{"a":1}`}, "InvalidParameter"},
		{"ids are no JSON", []string{"InstanceIds", `i-1`}, "InvalidParameter"},
		{"too many ids", []string{"InstanceIds", `["` + strings.Repeat(`i-1","`, 100) + `i-1"]`}, "InvalidParameter"},
		{"private addresses", []string{"PrivateIpAddresses", `["192.168.0.2","192.168.0.3"]`, "VpcId", "vpc-1"}, "i-2 i-3"},
		{"private addresses elsewhere", []string{"PrivateIpAddresses", `["192.168.0.2"]`, "VpcId", "vpc-2"}, ""},
		{"public address", []string{"PublicIpAddresses", `["47.1.1.3"]`}, "i-3"},
		{"elastic address", []string{"EipAddresses", `["121.40.0.1"]`}, "i-1"},
		{"zone", []string{"ZoneId", "z-b"}, "i-3"},
		{"name", []string{"InstanceName", "name-i-2"}, "i-2"},
		{"status", []string{"Status", "Stopped"}, "i-2"},
		{"unknown status", []string{"Status", "Lost"}, "InvalidStatus.NotFound"},
		{"network", []string{"InstanceNetworkType", "vpc"}, "i-1 i-2 i-3"},
		{"unknown network", []string{"InstanceNetworkType", "token-ring"}, "InvalidNetworkType.NotFound"},
		{"tag key", []string{"Tag.1.Key", "k"}, "i-1 i-2"},
		{"tag", []string{"Tag.1.Key", "k", "Tag.1.Value", "w"}, "i-2"},
		{"tag in lower case", []string{"Tag.1.key", "k", "Tag.1.value", "w"}, "i-2"},
		{"tags are joined by and", []string{"Tag.1.Key", "k", "Tag.2.Key", "other"}, ""},
		{"page", []string{"PageNumber", "2", "PageSize", "2"}, "i-3"},
		{"page too large", []string{"PageSize", "101"}, "InvalidParameter"},
		{"page 0", []string{"PageNumber", "0"}, "InvalidParameter"},
		{"strange token", []string{"NextToken", "x"}, "InvalidParameter"},
		{"dry run", []string{"DryRun", "true"}, "DryRunOperation"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer, code := apitest.New(t, ecs.Product(), newCloud()).Call("DescribeInstances", tt.params...)
			got := code
			if code == "" {
				got = strings.Join(apitest.List(answer, "InstanceId", "Instances", "Instance"), " ")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The shape of an answer, as clients of the cloud read it.
func TestInstanceShape(t *testing.T) {
	t.Parallel()
	answer := apitest.New(t, ecs.Product(), newCloud()).Must("DescribeInstances", "InstanceIds", `["i-1"]`)
	instances := answer["Instances"].(map[string]any)["Instance"].([]any)
	got := map[string]any{}
	for _, name := range []string{
		"InstanceId", "HostName", "RegionId", "ZoneId", "Status", "InstanceNetworkType", "VpcAttributes", "PublicIpAddress", "InnerIpAddress",
		"EipAddress", "NetworkInterfaces", "Tags", "OperationLocks", "SecurityGroupIds", "CreationTime", "ExpiredTime", "InstanceTypeFamily",
		"Cpu", "CPU",
	} {
		got[name] = instances[0].(map[string]any)[name]
	}
	list := func(items ...any) []any { return append([]any{}, items...) }
	want := map[string]any{
		"InstanceId": "i-1", "HostName": "i-1", "RegionId": "cn-hangzhou", "ZoneId": "z-a", "Status": "Running", "InstanceNetworkType": "vpc",
		"VpcAttributes": map[string]any{
			"VpcId": "vpc-1", "VSwitchId": "vsw-1", "NatIpAddress": "", "PrivateIpAddress": map[string]any{"IpAddress": list("192.168.0.1")},
		},
		"PublicIpAddress": map[string]any{"IpAddress": list()}, "InnerIpAddress": map[string]any{"IpAddress": list()},
		"EipAddress": map[string]any{
			"AllocationId": "eip-1", "IpAddress": "121.40.0.1", "InternetChargeType": "PayByTraffic", "IsSupportUnassociate": true, "Bandwidth": 5.0,
		},
		"NetworkInterfaces": map[string]any{"NetworkInterface": list(
			map[string]any{
				"NetworkInterfaceId": "eni-i-1", "Type": "Primary", "MacAddress": "", "PrimaryIpAddress": "192.168.0.1",
				"PrivateIpSets": map[string]any{"PrivateIpSet": list(map[string]any{"PrivateIpAddress": "192.168.0.1", "Primary": true})},
				"Ipv6Sets":      map[string]any{"Ipv6Set": list()},
			},
			map[string]any{
				"NetworkInterfaceId": "eni-pod", "Type": "Secondary", "MacAddress": "", "PrimaryIpAddress": "192.168.0.100",
				"PrivateIpSets": map[string]any{"PrivateIpSet": list(
					map[string]any{"PrivateIpAddress": "192.168.0.100", "Primary": true},
					map[string]any{"PrivateIpAddress": "192.168.0.101", "Primary": false},
				)},
				"Ipv6Sets": map[string]any{"Ipv6Set": list(map[string]any{"Ipv6Address": "2408::1"})},
			},
		)},
		"Tags":           map[string]any{"Tag": list(map[string]any{"TagKey": "k", "TagValue": "v"})},
		"OperationLocks": map[string]any{"LockReason": list()}, "SecurityGroupIds": map[string]any{"SecurityGroupId": list()},
		"CreationTime": "2026-01-01T00:00Z", "ExpiredTime": "2099-12-31T15:59Z", "InstanceTypeFamily": "ecs.g7", "Cpu": 4.0, "CPU": 4.0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("instance (-want +got):\n%s", diff)
	}
}

// Pages with tokens name everything once, also while instances come and go.
func TestInstanceTokens(t *testing.T) {
	t.Parallel()
	cloud := newCloud()
	for n := range 34 {
		id := fmt.Sprintf("i-x%02d", n)
		cloud.Instances[id] = &state.Instance{ID: id, Status: "Running"}
	}
	c := apitest.New(t, ecs.Product(), cloud)
	var ids []string
	var sizes []int
	token := ""
	for range 10 {
		answer := c.Must("DescribeInstances", "MaxResults", "1", "NextToken", token) // less than 10 counts as 10
		page := apitest.List(answer, "InstanceId", "Instances", "Instance")
		ids, sizes = append(ids, page...), append(sizes, len(page))
		token = answer["NextToken"].(string)
		delete(cloud.Instances, "i-1") // of the first page
		if token == "" {
			break
		}
	}
	if len(ids) != 37 || !cmp.Equal(sizes, []int{10, 10, 10, 7}) {
		t.Errorf("%d ids in pages of %v", len(ids), sizes)
	}
	if answer := c.Must("DescribeInstances", "MaxResults", "500"); answer["NextToken"] != "" || answer["PageSize"] != 100.0 {
		t.Errorf("all at once: %v, %v", answer["NextToken"], answer["PageSize"])
	}
}

func TestDescribeInstanceStatus(t *testing.T) {
	t.Parallel()
	c := apitest.New(t, ecs.Product(), newCloud())
	answer := c.Must("DescribeInstanceStatus", "InstanceId.1", "i-2", "InstanceId.2", "i-none")
	if got := apitest.List(answer, "Status", "InstanceStatuses", "InstanceStatus"); !cmp.Equal(got, []string{"Stopped"}) {
		t.Errorf("statuses %v", got)
	}
	if answer := c.Must("DescribeInstanceStatus", "ZoneId", "z-b"); answer["TotalCount"] != 1.0 {
		t.Errorf("in a zone: %v", answer)
	}
	var many []string
	for n := range 101 {
		many = append(many, "InstanceId."+strconv.Itoa(n+1), "i-"+strconv.Itoa(n))
	}
	if _, code := c.Call("DescribeInstanceStatus", many...); code != "InvalidParameter.TooManyInstanceIds" {
		t.Errorf("101 ids: %q", code)
	}
}

func TestDescribeNetworkInterfaces(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		params []string
		want   string
	}{
		{"all", nil, "eni-i-1 eni-i-2 eni-i-3 eni-pod"},
		{"ids", []string{"NetworkInterfaceId.1", "eni-i-3", "NetworkInterfaceId.2", "eni-none"}, "eni-i-3"},
		{"address", []string{"PrivateIpAddress.1", "192.168.0.101", "PrivateIpAddress.2", "192.168.0.2", "VpcId", "vpc-1",
			"Status", "InUse"}, "eni-i-2 eni-pod"},
		{"IPv6", []string{"Ipv6Address.1", "2408::1"}, "eni-pod"},
		{"instance", []string{"InstanceId", "i-1"}, "eni-i-1 eni-pod"},
		{"type", []string{"Type", "Secondary"}, "eni-pod"},
		{"unknown type", []string{"Type", "Third"}, "InvalidParameter"},
		{"status", []string{"Status", "Available"}, ""},
		{"tag", []string{"Tag.1.Key", "k", "Tag.1.Value", "v"}, "eni-i-1"},
		{"token pages are at least 10", []string{"MaxResults", "3"}, "eni-i-1 eni-i-2 eni-i-3 eni-pod"},
		{"token pages", []string{"MaxResults", "10"}, "eni-i-1 eni-i-2 eni-i-3 eni-pod"},
		{"strange token", []string{"NextToken", "x"}, "InvalidParameter"},
		{"page", []string{"PageNumber", "2", "PageSize", "3"}, "eni-pod"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer, code := apitest.New(t, ecs.Product(), newCloud()).Call("DescribeNetworkInterfaces", tt.params...)
			got := code
			if code == "" {
				got = strings.Join(apitest.List(answer, "NetworkInterfaceId", "NetworkInterfaceSets", "NetworkInterfaceSet"), " ")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestModifyNetworkInterfaceAttribute(t *testing.T) {
	t.Parallel()
	cloud := newCloud()
	cloud.Interfaces["eni-i-2"].Status = "Detaching"
	c := apitest.New(t, ecs.Product(), cloud)
	tests := []struct{ id, value, want string }{
		{"eni-i-1", "false", ""}, {"eni-i-1", "no", "InvalidParameter"}, {"eni-i-2", "false", "InvalidOperation.InvalidEniState"},
		{"eni-none", "false", "InvalidEniId.NotFound"}, {"", "false", "MissingParameter"},
	}
	for _, tt := range tests {
		if _, code := c.Call("ModifyNetworkInterfaceAttribute", "NetworkInterfaceId", tt.id, "SourceDestCheck", tt.value); code != tt.want {
			t.Errorf("%s=%s: %q, want %q", tt.id, tt.value, code, tt.want)
		}
	}
	if cloud.Interfaces["eni-i-1"].SourceDestCheck || !cloud.Interfaces["eni-i-2"].SourceDestCheck {
		t.Error("the wrong interface was changed")
	}
	c.Must("ModifyNetworkInterfaceAttribute", "NetworkInterfaceId", "eni-i-1", "SourceDestCheck", "True", "DeleteOnRelease", "false")
	if !cloud.Interfaces["eni-i-1"].SourceDestCheck {
		t.Error("not switched on again")
	}
	cloud.Interfaces["eni-i-1"].ResourceGroupID = "rg-1"
	cloud.Interfaces["eni-i-1"].Ipv4Prefixes = []string{"192.168.1.0/28"}
	cloud.Interfaces["eni-i-1"].Ipv6Prefixes = []string{"2408:1::/80"}
	answer := c.Must("DescribeNetworkInterfaces", "ResourceGroupId", "rg-1")
	eni := answer["NetworkInterfaceSets"].(map[string]any)["NetworkInterfaceSet"].([]any)[0].(map[string]any)
	list := func(item any) []any { return []any{item} }
	want := []any{
		false, "rg-1", map[string]any{"Ipv4PrefixSet": list(map[string]any{"Ipv4Prefix": "192.168.1.0/28"})},
		map[string]any{"Ipv6PrefixSet": list(map[string]any{"Ipv6Prefix": "2408:1::/80"})},
	}
	got := []any{eni["DeleteOnRelease"], eni["ResourceGroupId"], eni["Ipv4PrefixSets"], eni["Ipv6PrefixSets"]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("interface (-want +got):\n%s", diff)
	}
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	cloud := newCloud()
	server := func(id string) *state.Server { return &state.Server{ServerID: id, Port: 80} }
	cloud.ServerGroups["rsp-1"] = &state.ServerGroup{ID: "rsp-1", Servers: []*state.Server{server("i-1"), server("i-2"), server("eni-pod")}}
	cloud.LoadBalancers["lb-1"] = &state.LoadBalancer{ID: "lb-1", DefaultServers: []*state.Server{server("i-1"), server("i-3")}}
	c := apitest.New(t, ecs.Product(), cloud)
	steps := []struct{ action, id, extra, want string }{
		{"StartInstance", "i-1", "", "IncorrectInstanceStatus"},
		{"DeleteInstance", "i-1", "", "IncorrectInstanceStatus"},
		{"StopInstance", "i-1", "DryRun", "DryRunOperation"},
		{"RebootInstance", "i-1", "DryRun", "DryRunOperation"},
		{"StopInstance", "i-1", "", ""},
		{"StopInstance", "i-1", "DryRun", "IncorrectInstanceStatus"},
		{"RebootInstance", "i-1", "DryRun", "IncorrectInstanceStatus"},
		{"StopInstance", "i-1", "", "IncorrectInstanceStatus"},
		{"StartInstance", "i-1", "DryRun", "DryRunOperation"},
		{"DeleteInstance", "i-1", "DryRun", "DryRunOperation"},
		{"StartInstance", "i-1", "", ""},
		{"DeleteInstance", "i-1", "Force", ""},
		{"DeleteInstance", "i-1", "", "InvalidInstanceId.NotFound"},
		{"StopInstance", "i-1", "", "InvalidInstanceId.NotFound"},
		{"StartInstance", "i-1", "", "InvalidInstanceId.NotFound"},
	}
	for i, s := range steps {
		params := []string{"InstanceId", s.id}
		if s.extra != "" {
			params = append(params, s.extra, "true")
		}
		if _, code := c.Call(s.action, params...); code != s.want {
			t.Errorf("step %d %s: %q, want %q", i, s.action, code, s.want)
		}
	}
	if len(cloud.Instances) != 2 || len(cloud.Interfaces) != 2 {
		t.Errorf("left: %v, %v", cloud.Instances, cloud.Interfaces)
	}
	if eip := cloud.Eips["eip-1"]; eip.Status != "Available" || eip.InstanceID != "" {
		t.Errorf("eip %+v", eip)
	}
	if servers := cloud.ServerGroups["rsp-1"].Servers; len(servers) != 1 || servers[0].ServerID != "i-2" {
		t.Errorf("group %v", servers)
	}
	if servers := cloud.LoadBalancers["lb-1"].DefaultServers; len(servers) != 1 || servers[0].ServerID != "i-3" {
		t.Errorf("default group %v", servers)
	}
}

// Changes of an instance take a while, and nothing else can be done to it in between.
func TestLifecycleTakesTime(t *testing.T) {
	t.Parallel()
	c := apitest.New(t, ecs.Product(), newCloud())
	c.Settings.InstanceStart, c.Settings.InstanceStop, c.Settings.InstanceDelete = 5*time.Second, 3*time.Second, 2*time.Second
	status := func() string {
		answer := c.Must("DescribeInstances", "InstanceIds", `["i-1"]`)
		return strings.Join(apitest.List(answer, "Status", "Instances", "Instance"), " ") + " " +
			strings.Join(apitest.List(answer, "StoppedMode", "Instances", "Instance"), " ")
	}
	c.Cloud.Interfaces["eni-pod"].KeepOnRelease = true
	steps := []struct {
		action, extra, value, want string
		now                        string
		pass                       time.Duration
		then                       string
	}{
		{"StopInstance", "StoppedMode", "StopCharging", "", "Stopping StopCharging", 2 * time.Second, "Stopping StopCharging"},
		{"StopInstance", "", "", "IncorrectInstanceStatus", "Stopping StopCharging", time.Second, "Stopped StopCharging"},
		{"StartInstance", "", "", "", "Starting Not-applicable", 4 * time.Second, "Starting Not-applicable"},
		{"StartInstance", "", "", "IncorrectInstanceStatus", "Starting Not-applicable", time.Second, "Running Not-applicable"},
		{"ModifyInstanceAttribute", "DeletionProtection", "true", "", "Running Not-applicable", 0, "Running Not-applicable"},
		{"DeleteInstance", "Force", "true", "InvalidOperation.DeletionProtection", "Running Not-applicable", 0, "Running Not-applicable"},
		{"ModifyInstanceAttribute", "DeletionProtection", "false", "", "Running Not-applicable", 0, "Running Not-applicable"},
		{"DeleteInstance", "Force", "true", "", "Stopping Not-applicable", time.Second, "Stopping Not-applicable"},
		{"DeleteInstance", "Force", "true", "IncorrectInstanceStatus", "Stopping Not-applicable", time.Second, " "},
		{"ModifyInstanceAttribute", "Description", "d", "InvalidInstanceId.NotFound", " ", 0, " "},
	}
	for i, s := range steps {
		if _, code := c.Call(s.action, "InstanceId", "i-1", s.extra, s.value); code != s.want {
			t.Errorf("step %d %s: %q, want %q", i, s.action, code, s.want)
		}
		if got := status(); got != s.now {
			t.Errorf("step %d %s: the instance is %q, want %q", i, s.action, got, s.now)
		}
		c.Pass(s.pass)
		if got := status(); got != s.then {
			t.Errorf("step %d %s: %s later the instance is %q, want %q", i, s.action, s.pass, got, s.then)
		}
	}
	if eni := c.Cloud.Interfaces["eni-pod"]; eni == nil || eni.InstanceID != "" || eni.Status != "Available" {
		t.Errorf("an interface that outlives its instance is %+v", eni)
	}
}

func TestModifyInstanceAttribute(t *testing.T) {
	t.Parallel()
	c := apitest.New(t, ecs.Product(), newCloud())
	c.Cloud.Instances["i-1"].ResourceGroupID = "rg-1"
	c.Must("ModifyInstanceAttribute", "InstanceId", "i-1", "InstanceName", "web", "Description", "of the shop", "DeletionProtection", "true")
	answer := c.Must("DescribeInstances", "ResourceGroupId", "rg-1")
	instance := answer["Instances"].(map[string]any)["Instance"].([]any)[0].(map[string]any)
	got := []any{instance["InstanceName"], instance["Description"], instance["DeletionProtection"], instance["ResourceGroupId"]}
	if diff := cmp.Diff([]any{"web", "of the shop", true, "rg-1"}, got); diff != "" {
		t.Errorf("instance (-want +got):\n%s", diff)
	}
}

func TestRegionsAndZones(t *testing.T) {
	t.Parallel()
	cloud := newCloud()
	cloud.VSwitches["vsw-nowhere"] = &state.VSwitch{ID: "vsw-nowhere"}
	c := apitest.New(t, ecs.Product(), cloud)
	if got := apitest.List(c.Must("DescribeRegions"), "RegionId", "Regions", "Region"); !cmp.Equal(got, []string{"cn-hangzhou"}) {
		t.Errorf("regions %v", got)
	}
	if got := apitest.List(c.Must("DescribeZones"), "ZoneId", "Zones", "Zone"); !cmp.Equal(got,
		[]string{"cn-hangzhou-a", "cn-hangzhou-b", "z-a", "z-b"}) {
		t.Errorf("zones %v", got)
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	cloud := newCloud()
	c := apitest.New(t, ecs.Product(), cloud)
	steps := []struct {
		action string
		params []string
		want   string
	}{
		{"TagResources", []string{"ResourceType", "instance", "ResourceId.1", "i-1", "ResourceId.2", "i-3", "Tag.1.Key", "k",
			"Tag.1.Value", "new"}, ""},
		{"TagResources", []string{"ResourceType", "eni", "ResourceId.1", "eni-pod", "Tag.1.Key", "a"}, ""},
		{"TagResources", []string{"ResourceType", "volume", "ResourceId.1", "d-1", "Tag.1.Key", "a"}, "InvalidResourceType.NotFound"},
		{"TagResources", []string{"ResourceType", "instance", "ResourceId.1", "i-1", "ResourceId.2", "i-none", "Tag.1.Key",
			"a"}, "InvalidResourceId.NotFound"},
		{"TagResources", []string{"ResourceType", "instance", "ResourceId.1", "i-1", "Tag.1.Key", "acs:x"}, "InvalidTagKey.Malformed"},
		{"TagResources", []string{"ResourceType", "instance", "ResourceId.1", "i-1", "Tag.1.Key", "a", "Tag.1.Value",
			"http://x"}, "InvalidTagValue.Malformed"},
		{"TagResources", []string{"ResourceType", "instance", "ResourceId.1", "i-1", "Tag.1.Key", "a", "Tag.2.Key", "a"}, "Duplicate.TagKey"},
		{"TagResources", []string{"ResourceType", "instance", "ResourceId.1", "i-1"}, "MissingParameter.Tags"},
		{"UntagResources", []string{"ResourceType", "instance", "ResourceId.1", "i-2", "TagKey.1", "k", "TagKey.2", "none"}, ""},
		{"ListTagResources", []string{"ResourceType", "instance"}, "BothEmpty.TagsAndResources"},
		{"ListTagResources", []string{"ResourceType", "instance", "Tag.1.Key", "k", "NextToken", "x"}, "Invalid.NextToken"},
	}
	for i, s := range steps {
		if _, code := c.Call(s.action, s.params...); code != s.want {
			t.Errorf("step %d %s: %q, want %q", i, s.action, code, s.want)
		}
	}
	answer := c.Must("ListTagResources", "ResourceType", "instance", "Tag.1.Key", "k")
	want := []any{
		map[string]any{"ResourceType": "instance", "ResourceId": "i-1", "TagKey": "k", "TagValue": "new"},
		map[string]any{"ResourceType": "instance", "ResourceId": "i-3", "TagKey": "k", "TagValue": "new"},
	}
	if diff := cmp.Diff(want, answer["TagResources"].(map[string]any)["TagResource"]); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	c.Must("UntagResources", "ResourceType", "instance", "ResourceId.1", "i-1", "All", "true")
	if answer := c.Must("ListTagResources", "ResourceType", "instance", "ResourceId.1", "i-1", "ResourceId.2",
		"i-2"); len(apitest.List(answer, "TagKey", "TagResources", "TagResource")) != 0 {
		t.Errorf("left: %v", answer)
	}
	var many []string
	for n := range 21 {
		many = append(many, fmt.Sprintf("Tag.%d.Key", n+1), fmt.Sprintf("k%d", n))
	}
	base := []string{"ResourceType", "instance", "ResourceId.1", "i-1"}
	if _, code := c.Call("TagResources", append(base, many...)...); code != "NumberExceed.Tags" {
		t.Errorf("21 tags: %q", code)
	}
	c.Must("TagResources", append(base, many[:40]...)...)
	if _, code := c.Call("TagResources", append(base, "Tag.1.Key", "one-more")...); code != "QuotaExceed.Tags" {
		t.Errorf("21st tag: %q", code)
	}
}

// The existing controllers ask for 100 at once; a cloud that takes fewer or more is a matter of settings.
func TestIDsPerCall(t *testing.T) {
	t.Parallel()
	c := apitest.New(t, ecs.Product(), newCloud())
	c.Settings.IDsPerCall = 1
	for _, tt := range []struct {
		action   string
		one, two []string
		code     string
	}{
		{"DescribeInstances", []string{"InstanceIds", `["i-1"]`}, []string{"InstanceIds", `["i-1","i-2"]`}, "InvalidParameter"},
		{"DescribeInstances", []string{"PrivateIpAddresses", `["x"]`}, []string{"PrivateIpAddresses", `["x","y"]`}, "InvalidParameter"},
		{"DescribeInstanceStatus", []string{"InstanceId.1", "x"}, []string{"InstanceId.1", "x", "InstanceId.2", "y"},
			"InvalidParameter.TooManyInstanceIds"},
		{"DescribeNetworkInterfaces", []string{"PrivateIpAddress.1", "x"}, []string{"PrivateIpAddress.1", "x",
			"PrivateIpAddress.2", "y"}, "InvalidParameter"},
		{"DescribeSecurityGroups", []string{"SecurityGroupIds", `["x"]`}, []string{"SecurityGroupIds", `["x","y"]`}, "InvalidParameter"},
	} {
		if _, code := c.Call(tt.action, tt.one...); code != "" {
			t.Errorf("%s %v: %q", tt.action, tt.one, code)
		}
		if _, code := c.Call(tt.action, tt.two...); code != tt.code {
			t.Errorf("%s %v: %q, want %s", tt.action, tt.two, code, tt.code)
		}
	}
}
