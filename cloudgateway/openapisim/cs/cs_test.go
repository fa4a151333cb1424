package cs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/cs"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// seeded has two clusters: one of which the seed says nothing but its place, and an older one with two pools.
func seeded(t *testing.T) *apitest.Caller {
	t.Helper()
	cloud := state.New(apitest.Region, apitest.Account)
	cloud.VSwitches["vsw-1"] = &state.VSwitch{ID: "vsw-1", ZoneID: "cn-hangzhou-h"}
	cloud.Clusters["c-1"] = &state.Cluster{ID: "c-1", VpcID: "vpc-1", VSwitchIDs: []string{"vsw-1"}, SecurityGroupID: "sg-1",
		Created: time.Date(2026, 1, 1, 20, 0, 0, 0, time.UTC)}
	cloud.Clusters["c-2"] = &state.Cluster{ID: "c-2", Name: "old", Version: "1.30.1-aliyun.1", Network: "Flannel", Profile: "Edge",
		APIServer: "10.0.0.100:6443", ServiceCidr: "10.96.0.0/16"}
	cloud.NodePools["np-a"] = &state.NodePool{ID: "np-a", ClusterID: "c-2", Name: "a", Labels: []state.Tag{{Key: "k", Value: "v"}},
		Taints: []state.Taint{{Key: "gpu", Value: "1", Effect: "NoSchedule"}}}
	cloud.NodePools["np-b"] = &state.NodePool{ID: "np-b", ClusterID: "c-2", Name: "b", Default: true, Runtime: "docker", RuntimeVersion: "19"}
	for id, pool := range map[string]string{"i-1": "np-a", "i-2": "np-a", "i-3": ""} {
		i := &state.Instance{ID: id, Status: "Running", Tags: []state.Tag{{Key: "ack.aliyun.com", Value: "c-2"}}}
		if pool != "" {
			i.Tags = append(i.Tags, state.Tag{Key: "ack.alibabacloud.com/nodepool-id", Value: pool})
		}
		if id == "i-2" {
			i.Status = "Stopped"
		}
		cloud.Instances[id] = i
	}
	cs.Product().Complete(cloud, cloud)
	return apitest.New(t, cs.Product(), cloud)
}

// What the seed leaves out is there; Karpenter reads the network plugin out of the text meta_data.
func TestDescribeClusterDetail(t *testing.T) {
	t.Parallel()
	c := seeded(t)
	got := c.Must("DescribeClusterDetail", "ClusterId", "c-1")
	for name, want := range map[string]any{
		"cluster_id": "c-1", "name": "c-1", "cluster_type": "ManagedKubernetes", "state": "running", "zone_id": "cn-hangzhou-h",
		"vpc_id": "vpc-1", "vswitch_id": "vsw-1", "security_group_id": "sg-1", "resource_group_id": "rg-acfmdefault", "size": 0.0,
		"created": "2026-01-02T04:00:00+08:00", "meta_data": `{"Capabilities":{"Network":"terway-eniip"}}`, "tags": []any{},
		"current_version": "1.34.1-aliyun.1", "master_url": `{"intranet_api_server_endpoint":""}`,
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	old := c.Must("DescribeClusterDetail", "ClusterId", "c-2")
	if old["size"] != 3.0 || old["master_url"] != `{"intranet_api_server_endpoint":"https://10.0.0.100:6443"}` {
		t.Errorf("the other cluster: %v", old)
	}
	if _, code := c.Call("DescribeClusterDetail", "ClusterId", "c-3"); code != "ErrorClusterNotFound" {
		t.Errorf("no cluster: %q", code)
	}
}

// Karpenter asks for one network component after the other, and takes the first that there is.
func TestGetClusterAddonInstance(t *testing.T) {
	t.Parallel()
	c := seeded(t)
	for _, tt := range []struct{ cluster, name, code string }{
		{"c-1", "terway-eniip", ""}, {"c-1", "terway", "AddonNotFound"}, {"c-1", "kube-flannel-ds", "AddonNotFound"},
		{"c-2", "terway-eniip", "AddonNotFound"}, {"c-2", "kube-flannel-ds", ""}, {"c-3", "terway-eniip", "ErrorClusterNotFound"},
	} {
		got, code := c.Call("GetClusterAddonInstance", "ClusterId", tt.cluster, "InstanceName", tt.name)
		if code != tt.code || code == "" && (got["name"] != tt.name || got["state"] != "active" || got["config"] != "{}") {
			t.Errorf("%s of %s: %v %q, want %q", tt.name, tt.cluster, got, code, tt.code)
		}
	}
}

func TestDescribeClustersV1(t *testing.T) {
	t.Parallel()
	c := seeded(t)
	for _, tt := range []struct {
		params []string
		want   string
	}{
		{nil, "c-1 c-2"},
		{[]string{"name", "old"}, "c-2"},
		{[]string{"cluster_id", "c-1"}, "c-1"},
		{[]string{"cluster_type", "Kubernetes"}, ""},
		{[]string{"cluster_spec", "ack.pro.small"}, "c-1 c-2"},
		{[]string{"profile", "Edge"}, "c-2"},
		{[]string{"region_id", "cn-beijing"}, ""},
		{[]string{"page_size", "1", "page_number", "2"}, "c-2"},
	} {
		answer := c.Must("DescribeClustersV1", tt.params...)
		if got := strings.Join(apitest.List(answer, "cluster_id", "clusters"), " "); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.params, got, tt.want)
		}
	}
}

// The nodes of a pool are the instances with its tag.
func TestNodePools(t *testing.T) {
	t.Parallel()
	c := seeded(t)
	pools := c.Must("DescribeClusterNodePools", "ClusterId", "c-2")["nodepools"].([]any)
	first := pools[0].(map[string]any)
	status := first["status"].(map[string]any)
	if len(pools) != 2 || status["total_nodes"] != 2.0 || status["healthy_nodes"] != 1.0 || status["offline_nodes"] != 1.0 {
		t.Errorf("%d pools, the first %v", len(pools), first)
	}
	config := first["kubernetes_config"].(map[string]any)
	if got := fmt.Sprint(config["labels"], config["taints"], config["runtime"]); got !=
		"[map[key:k value:v]] [map[effect:NoSchedule key:gpu value:1]]containerd" {
		t.Errorf("the nodes' configuration: %s", got)
	}
	named := c.Must("DescribeClusterNodePools", "ClusterId", "c-2", "NodepoolName", "b")["nodepools"].([]any)
	alone := c.Must("DescribeClusterNodePoolDetail", "ClusterId", "c-2", "NodepoolId", "np-b")
	if diff := cmp.Diff(named, []any{alone}); diff != "" {
		t.Errorf("a pool by its name and by its id:\n%s", diff)
	}
	made := c.Must("DescribeClusterNodePools", "ClusterId", "c-1")["nodepools"].([]any)
	if info := made[0].(map[string]any)["nodepool_info"].(map[string]any); len(made) != 1 || info["is_default"] != true {
		t.Errorf("a cluster without pools has %v", made)
	}
	for _, tt := range [][]string{
		{"DescribeClusterNodePools", "c-3", "", "ErrorClusterNotFound"},
		{"DescribeClusterNodePoolDetail", "c-3", "np-a", "ErrorClusterNotFound"},
		{"DescribeClusterNodePoolDetail", "c-2", "np-x", "ErrorNodePoolNotFound"},
		{"DescribeClusterNodePoolDetail", "c-1", "np-a", "ErrorNodePoolNotFound"}, // another cluster's
	} {
		if _, code := c.Call(tt[0], "ClusterId", tt[1], "NodepoolId", tt[2]); code != tt[3] {
			t.Errorf("%v: %q", tt, code)
		}
	}
}

// The answer is the command itself. CloudPilot's Karpenter replaces "--runtime X --runtime-version Y" in it.
func TestDescribeClusterAttachScripts(t *testing.T) {
	t.Parallel()
	c := seeded(t)
	script := func(params ...string) string {
		text, _ := c.Must("DescribeClusterAttachScripts", append(params, "ClusterId", "c-2")...)[""].(string)
		return text
	}
	for _, want := range []string{
		"curl http://aliacs-k8s-cn-hangzhou.oss-cn-hangzhou.aliyuncs.com/public/pkg/run/attach/" +
			"1.30.1-aliyun.1/amd64/attach_node.sh | bash -s -- --token ",
		" --endpoint 10.0.0.100:6443 --cluster-dns 10.96.0.10 --region cn-hangzhou --cluster-id c-2 " +
			"--nodepool-id np-b --runtime docker --runtime-version 19",
	} {
		if got := script(); !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	got := script("nodepool_id", "np-a", "arch", "arm64", "keep_instance_name", "true", "format_disk", "true", "expired", "1825228800")
	for _, want := range []string{"/arm64/", "--nodepool-id np-a", "--keep-instance-name", "--auto-format-disk"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	for params, want := range map[[2]string]string{
		{"c-3", ""}: "ErrorClusterNotFound", {"c-2", "np-x"}: "ErrorNodePoolNotFound",
	} {
		if _, code := c.Call("DescribeClusterAttachScripts", "ClusterId", params[0], "nodepool_id", params[1]); code != want {
			t.Errorf("%v: %q, want %q", params, code, want)
		}
	}
}

func TestDescribeKubernetesVersionMetadata(t *testing.T) {
	t.Parallel()
	c := seeded(t)
	for _, tt := range []struct {
		params []string
		want   string
	}{
		{nil, "1.34.1-aliyun.1 true, 1.33.3-aliyun.1 true"},
		{[]string{"Mode", "supported"}, "1.34.1-aliyun.1 true, 1.33.3-aliyun.1 true, 1.30.1-aliyun.1 false"},
		{[]string{"KubernetesVersion", "1.30.1-aliyun.1"}, "1.30.1-aliyun.1 false"},
		{[]string{"KubernetesVersion", "1.99.0"}, ""},
	} {
		answer := c.Must("DescribeKubernetesVersionMetadata", append(tt.params, "Region", apitest.Region, "ClusterType", "ManagedKubernetes")...)
		var got []string
		for _, v := range answer[""].([]any) {
			version := v.(map[string]any)
			got = append(got, fmt.Sprint(version["version"], " ", version["creatable"]))
			if ids := apitest.List(version, "image_type", "images"); strings.Join(ids, " ") != "AliyunLinux3 AliyunLinux3Arm64" {
				t.Errorf("images %v", ids)
			}
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%v: %v, want %s", tt.params, got, tt.want)
		}
	}
	if _, code := c.Call("DescribeKubernetesVersionMetadata", "Region", "cn-x", "ClusterType", "Ask"); code != "InvalidRegionId.NotFound" {
		t.Errorf("another region: %q", code)
	}
}
