package openapi

import (
	"slices"
	"strings"
)

// route is an action of a product with paths.
type route struct{ method, path, action string }

// routes are the actions of CS that others may call: what reads, and the script by which a node joins. Method, path and
// name are those of services/cs in the SDK (alibaba-cloud-sdk-go v1.63.107), and of the page of GetClusterAddonInstance (November
// 2024), which is younger. The cloud goes by method and path, so permissions do, too; the name that a tool gives counts for nothing.
func routes() []route {
	return []route{
		{"GET", "/api/v1/clusters", "DescribeClustersV1"},
		{"GET", "/api/v1/metadata/versions", "DescribeKubernetesVersionMetadata"},
		{"GET", "/api/v2/clusters/{}/upgrade/status", "GetUpgradeStatus"},
		{"GET", "/clusters/components/metadata", "DescribeAddons"},
		{"GET", "/clusters/{}", "DescribeClusterDetail"},
		{"GET", "/clusters/{}/addon_instances/{}", "GetClusterAddonInstance"},
		{"POST", "/clusters/{}/attachscript", "DescribeClusterAttachScripts"},
		{"GET", "/clusters/{}/components/upgradestatus", "DescribeClusterAddonsUpgradeStatus"},
		{"GET", "/clusters/{}/components/version", "DescribeClusterAddonsVersion"},
		{"GET", "/clusters/{}/logs", "DescribeClusterLogs"},
		{"GET", "/clusters/{}/nodepools", "DescribeClusterNodePools"},
		{"GET", "/clusters/{}/nodepools/{}", "DescribeClusterNodePoolDetail"},
		{"GET", "/clusters/{}/nodes", "DescribeClusterNodes"},
		{"GET", "/clusters/{}/resources", "DescribeClusterResources"},
		{"GET", "/k8s/{}/user_config", "DescribeClusterUserKubeconfig"},
		{"GET", "/quota", "DescribeUserQuota"},
		{"GET", "/tags", "ListTagResources"},
		{"GET", "/tasks/{}", "DescribeTaskInfo"},
	}
}

// ActionOf finds the action of CS of a method and a path. The first row that fits counts: what is named by all its words comes before
// what has an id in their place.
func ActionOf(method, path string) (string, bool) {
	parts := strings.Split(path, "/")
	for _, r := range routes() {
		words := strings.Split(r.path, "/")
		if r.method == method && slices.EqualFunc(words, parts, func(word, part string) bool { return word == "{}" || word == part }) {
			return r.action, true
		}
	}
	return "", false
}
