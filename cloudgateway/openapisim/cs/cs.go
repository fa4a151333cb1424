// Package cs is the product CS 2015-12-15 of the simulator, Container Service for Kubernetes: what Karpenter and Terraform read of
// clusters, node pools and versions. It is in ROA style. Clusters come from a seed; none can be made, changed or deleted here.
package cs

import (
	"cmp"
	"maps"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Clients look for these codes in errors. That of a component is inferred, as is that they come with HTTP 404, and the words.
const (
	noCluster  = "ErrorClusterNotFound"
	noNodePool = "ErrorNodePoolNotFound"
	noAddon    = "AddonNotFound"
)

// Product returns the product with all its actions. Paths are those of services/cs in SDK v1, v1.63.107 (April 2025), and of
// GetClusterAddonInstance, which it does not have, those of its help page; parameters and members those of the help pages (2026).
func Product() api.Product {
	id, pool := api.Required("ClusterId"), api.Required("NodepoolId")
	return api.Product{Name: "cs", Code: "CS", Version: "2015-12-15", Complete: complete, Actions: []api.Action{
		api.At("GET", "/api/v1/clusters", api.Read("DescribeClustersV1", describeClusters, nil, api.Optional("name"), api.Optional("cluster_id"),
			api.Optional("cluster_type"), api.Optional("cluster_spec"), api.Optional("profile"), api.Optional("region_id"),
			api.Number("page_size", 1, 100), api.Number("page_number", 1, 1<<31-1))),
		api.At("GET", "/clusters/{ClusterId}",
			api.Read("DescribeClusterDetail", api.On(clusterOf, describeCluster), []string{noCluster}, id)),
		api.At("GET", "/clusters/{ClusterId}/addon_instances/{InstanceName}",
			api.Read("GetClusterAddonInstance", api.On(clusterOf, describeAddon), []string{noCluster, noAddon}, id, api.Required("InstanceName"))),
		api.At("GET", "/clusters/{ClusterId}/nodepools",
			api.Read("DescribeClusterNodePools", api.On(clusterOf, describePools), []string{noCluster}, id, api.Optional("NodepoolName"))),
		api.At("GET", "/clusters/{ClusterId}/nodepools/{NodepoolId}",
			api.Read("DescribeClusterNodePoolDetail", api.On2(poolOf, describePool), []string{noCluster, noNodePool}, id, pool)),
		api.At("POST", "/clusters/{ClusterId}/attachscript",
			api.Read("DescribeClusterAttachScripts", api.On(clusterOf, attachScript), []string{noCluster, noNodePool}, id,
				api.Optional("nodepool_id"), api.OneOf("arch", "amd64", "arm64"), api.Flag("format_disk"), api.Flag("keep_instance_name"),
				api.Param{Name: "expired", Kind: api.Int})),
		api.At("GET", "/api/v1/metadata/versions",
			api.Read("DescribeKubernetesVersionMetadata", describeVersions, []string{"InvalidRegionId.NotFound"}, api.Required("Region"),
				api.Param{Name: "ClusterType", Required: true, Enum: []string{"Kubernetes", managed, "ExternalKubernetes", "Ask"}},
				api.Optional("KubernetesVersion"), api.Optional("Profile"), api.Optional("runtime"), api.OneOf("Mode", "supported", "creatable"))),
	}}
}

const managed = "ManagedKubernetes"

// complete fills in what a seed leaves out: a managed cluster of the newest version with one pool.
func complete(whole, brought *state.Cloud) {
	for id, k := range brought.Clusters {
		state.Fill(&k.Name, id)
		state.Fill(&k.Type, managed)
		state.Fill(&k.Profile, "Default")
		state.Fill(&k.Spec, "ack.pro.small")
		state.Fill(&k.Version, newest)
		state.Fill(&k.State, "running")
		state.Fill(&k.Network, "terway-eniip")
		state.Fill(&k.ServiceCidr, "172.21.0.0/20")
		state.Fill(&k.ResourceGroupID, state.DefaultResourceGroup)
		if len(pools(whole, id)) == 0 {
			p := &state.NodePool{ID: "np" + state.Suffix(id), ClusterID: id, Name: "default-nodepool", Default: true, VSwitchIDs: k.VSwitchIDs,
				Created: k.Created}
			whole.NodePools[p.ID] = p
			completePool(p)
		}
	}
	for _, p := range brought.NodePools {
		completePool(p)
	}
}

func completePool(p *state.NodePool) {
	state.Fill(&p.Name, p.ID)
	state.Fill(&p.Type, "ess")
	state.Fill(&p.State, "active")
	state.Fill(&p.Runtime, runtimeName)
	state.Fill(&p.RuntimeVersion, runtimeVersion)
	state.Fill(&p.ImageType, "AliyunLinux3")
	state.Fill(&p.ResourceGroupID, state.DefaultResourceGroup)
}

// pools are those of a cluster, in the order of their ids.
func pools(c *state.Cloud, cluster string) []*state.NodePool {
	var all []*state.NodePool
	for _, id := range slices.Sorted(maps.Keys(c.NodePools)) {
		if c.NodePools[id].ClusterID == cluster {
			all = append(all, c.NodePools[id])
		}
	}
	return all
}

// nodes is the number of instances with a tag, and how many of them run.
func nodes(c *state.Cloud, key, value string) (all, running int) {
	for _, i := range c.Instances {
		if slices.Contains(i.Tags, state.Tag{Key: key, Value: value}) {
			if all++; i.Status == "Running" {
				running++
			}
		}
	}
	return all, running
}

func clusterOf(c *api.Context) (*state.Cluster, *api.Error) {
	return api.Named(c, c.State.Clusters, "ClusterId", func() *api.Error {
		return api.NotFound(noCluster, "cluster (%s) not found in our records", c.Get("ClusterId"))
	})
}

func poolOf(c *api.Context) (*state.Cluster, *state.NodePool, *api.Error) {
	k, err := clusterOf(c)
	if err != nil {
		return nil, nil, err
	}
	p, err := poolNamed(c, k, c.Get("NodepoolId"))
	return k, p, err
}

func poolNamed(c *api.Context, k *state.Cluster, id string) (*state.NodePool, *api.Error) {
	if p := c.State.NodePools[id]; p != nil && p.ClusterID == k.ID {
		return p, nil
	}
	return nil, api.NotFound(noNodePool, "nodepool (%s) not found in cluster (%s)", id, k.ID)
}

// first is the first of a list, or "".
func first(list []string) string { return cmp.Or(append(list, "")...) }
