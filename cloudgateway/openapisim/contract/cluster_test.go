package contract

// askedClusters asks for a cluster and a pool that there are not, to learn which codes that gives. It only reads.
func askedClusters(c *cloud) {
	listed := c.must("cs", "DescribeClustersV1", "page_size", "1")
	c.must("cs", "DescribeKubernetesVersionMetadata", "Region", c.region, "ClusterType", "ManagedKubernetes")
	const none = "c0000000000000000000000000000000"
	for _, action := range []string{"DescribeClusterDetail", "DescribeClusterNodePools", "DescribeClusterAttachScripts"} {
		c.ask(nil, "cs", action, "ClusterId", none)
	}
	c.ask(nil, "cs", "GetClusterAddonInstance", "ClusterId", none, "InstanceName", "terway-eniip")
	if id := listed.get("clusters.0.cluster_id"); id != "" { // an account may have none
		c.ask(nil, "cs", "DescribeClusterNodePoolDetail", "ClusterId", id, "NodepoolId", "np-none")
	}
}

// cluster reads a cluster that is there.
func cluster(c *cloud) {
	id := c.must("cs", "DescribeClustersV1").get("clusters.0.cluster_id")
	c.want(c.must("cs", "DescribeClusterDetail", "ClusterId", id), "cluster_id", id)
	var network string // Of the components that carry a cluster's pods, as Karpenter's provider asks for them, one is there.
	for _, name := range []string{"terway-eniip", "terway-controlplane", "terway-eni", "kube-flannel-ds"} {
		if got, code := c.call("cs", "GetClusterAddonInstance", "ClusterId", id, "InstanceName", name); code == "" {
			network = name
			c.want(got, "name", name)
		}
	}
	if network == "" {
		c.t.Error("no network component")
	}
	pool := c.must("cs", "DescribeClusterNodePools", "ClusterId", id).get("nodepools.0.nodepool_info.nodepool_id")
	c.want(c.must("cs", "DescribeClusterNodePoolDetail", "ClusterId", id, "NodepoolId", pool), "nodepool_info.nodepool_id", pool)
	if script := c.must("cs", "DescribeClusterAttachScripts", "ClusterId", id, "nodepool_id", pool).get(""); script == "" {
		c.t.Error("no script")
	}
}
