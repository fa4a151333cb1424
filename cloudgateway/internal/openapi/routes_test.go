package openapi

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/cs"
)

// TestRoutesOfTheSDK: method, path and name of every route are the SDK's, and reads that it has are missing for a reason only. What is
// younger than it is that of the pages.
func TestRoutesOfTheSDK(t *testing.T) {
	t.Parallel()
	left := strings.Fields("DescribeExternalAgent DescribeTemplates DescribeTemplateAttribute GetKubernetesTrigger") // secrets, no cluster
	theirs := map[string]requests.AcsRequest{
		"DescribeClusterDetail": cs.CreateDescribeClusterDetailRequest(), "DescribeClustersV1": cs.CreateDescribeClustersV1Request(),
		"DescribeKubernetesVersionMetadata":  cs.CreateDescribeKubernetesVersionMetadataRequest(),
		"GetUpgradeStatus":                   cs.CreateGetUpgradeStatusRequest(),
		"DescribeAddons":                     cs.CreateDescribeAddonsRequest(),
		"DescribeClusterAttachScripts":       cs.CreateDescribeClusterAttachScriptsRequest(),
		"DescribeClusterAddonsUpgradeStatus": cs.CreateDescribeClusterAddonsUpgradeStatusRequest(),
		"DescribeClusterAddonsVersion":       cs.CreateDescribeClusterAddonsVersionRequest(),
		"DescribeClusterLogs":                cs.CreateDescribeClusterLogsRequest(),
		"DescribeClusterNodePools":           cs.CreateDescribeClusterNodePoolsRequest(),
		"DescribeClusterNodePoolDetail":      cs.CreateDescribeClusterNodePoolDetailRequest(),
		"DescribeClusterNodes":               cs.CreateDescribeClusterNodesRequest(),
		"DescribeClusterResources":           cs.CreateDescribeClusterResourcesRequest(),
		"DescribeClusterUserKubeconfig":      cs.CreateDescribeClusterUserKubeconfigRequest(),
		"DescribeUserQuota":                  cs.CreateDescribeUserQuotaRequest(),
		"ListTagResources":                   cs.CreateListTagResourcesRequest(),
		"DescribeTaskInfo":                   cs.CreateDescribeTaskInfoRequest(),
	}
	younger := map[string]string{ // "Container Service for Kubernetes: GetClusterAddonInstance" (November 2024)
		"GetClusterAddonInstance": "GET /clusters/{}/addon_instances/{}",
	}
	for action := range younger {
		if !slices.ContainsFunc(routes(), func(r route) bool { return r.action == action }) {
			t.Errorf("%s is not passed on", action)
		}
	}
	for _, r := range routes() {
		if want, ok := younger[r.action]; ok {
			if r.method+" "+r.path != want {
				t.Errorf("%s is %s %s, the page has %s", r.action, r.method, r.path, want)
			}
			continue
		}
		request, ok := theirs[r.action]
		if !ok {
			t.Errorf("%s is not compared", r.action)
			continue
		}
		pattern := regexp.MustCompile(`\[[A-Za-z_]+\]`).ReplaceAllString(strings.Split(request.BuildQueries(), "?")[0], "{}")
		if request.GetMethod() != r.method || pattern != r.path {
			t.Errorf("%s is %s %s, the SDK has %s %s", r.action, r.method, r.path, request.GetMethod(), pattern)
		}
		if got, ok := ActionOf(r.method, strings.ReplaceAll(r.path, "{}", "x-1")); !ok || got != r.action {
			t.Errorf("%s %s is %s, %t, want %s", r.method, r.path, got, ok, r.action)
		}
	}
	for _, action := range left {
		if slices.ContainsFunc(routes(), func(r route) bool { return r.action == action }) {
			t.Errorf("%s is passed on", action)
		}
	}
	for _, closed := range [][2]string{
		{"DELETE", "/clusters/c-1"}, {"POST", "/clusters"}, {"PUT", "/clusters/c-1"}, {"POST", "/clusters/c-1/attach"}, {"POST", "/clusters/c-1"},
		{"GET", "/clusters/c-1/attachscript"}, {"HEAD", "/clusters/c-1"}, {"get", "/clusters/c-1"},
		{"GET", "/clusters"}, {"GET", "/triggers/c-1"}, {"GET", "/clusters/c-1/addon_instances/terway-eniip/resources"},
		{"POST", "/clusters/c-1/addon_instances/terway-eniip"},
	} {
		if action, ok := ActionOf(closed[0], closed[1]); ok {
			t.Errorf("%s %s is passed on as %s", closed[0], closed[1], action)
		}
	}
}
