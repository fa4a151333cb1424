package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestFrontServesProducts: what a tool calls by the name of a product comes to that product, by its version and with the names that a
// role has, and the answer back as it is.
func TestFrontServesProducts(t *testing.T) {
	w := newWorld(t, func(c *state.Cloud) {
		c.Clusters["c-1"] = &state.Cluster{APIServer: "10.0.0.100:6443"}
	})
	var mu sync.Mutex
	var came []string // to a product that the simulator does not have
	other := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		mu.Lock()
		came = append(came, q.Get("Version")+" "+q.Get("Action")+" "+q.Get("AccessKeyId"))
		mu.Unlock()
		fmt.Fprintf(out, `{"RequestId":"R-1","Action":%q}`, q.Get("Action"))
	}))
	t.Cleanup(other.Close)
	rest := strings.TrimPrefix(other.URL, "http://")
	text := strings.Replace(string(must(os.ReadFile(w.file))), "endpoints: {", fmt.Sprintf(
		"endpoints: {ram: %q, cs: %q, ess: %[3]q, alb: %[3]q, alidns: %[3]q, pvtz: %[3]q, nas: %[3]q, kms: %[3]q, ",
		w.serve("ram"), w.serve("cs"), rest), 1)
	w.write("keys.yaml", fmt.Sprintf("keys: [{id: tool, secret: %s, user: %q}]\n", toolSecret, toolUser))
	w.file = w.write("fronted.yaml", text+fmt.Sprintf("front: {listen: 127.0.0.1:0, keysFile: %s/keys.yaml, wait: 3s}\n", w.dir))
	w.toolMay = map[string]bool{"cs:Describe*": true, "cs:DescribeClusterAttachScripts": true, "cs:GetClusterAddonInstance": true,
		"ram:Get*": true, "ess:*": true, "alb:List*": true, "alidns:*": true, "pvtz:*": true, "nas:DescribeFileSystems": true,
		"kms:GetSecretValue": true}
	address := w.openFront(w.start())
	at := func(product string) *tool {
		c := newTool(t, address, "tool", toolSecret)
		c.host = "cloudgateway-" + product + ".kube-system.svc:7444"
		return c
	}

	varies := regexp.MustCompile(requestIDs.String() + `|--token [0-9a-f.]+`)
	direct := newTool(t, "http://"+w.host("cs"), openapisim.DefaultAccessKeyID, openapisim.DefaultAccessKeySecret)
	for _, tt := range []struct {
		method, path, name, body string
		status                   int
	}{
		{"GET", "/clusters/c-1", "cs:DescribeClusterDetail", "", 200},
		{"GET", "/clusters/c-2", "cs:DescribeClusterDetail", "", 404},
		{"GET", "/clusters/c-1/addon_instances/terway-eniip", "cs:GetClusterAddonInstance", "", 200}, // Karpenter begins with these.
		{"GET", "/clusters/c-1/addon_instances/terway", "cs:GetClusterAddonInstance", "", 404},
		{"POST", "/clusters/c-1/attachscript", "cs:DescribeClusterAttachScripts", `{"arch":"arm64"}`, 200},
	} {
		direct.host = w.host("cs")
		got, want := at("cs").path(t, tt.method, tt.path, tt.name, tt.body), direct.path(t, tt.method, tt.path, tt.name, tt.body)
		if got.Status != tt.status || got.Status != want.Status || got.Type != want.Type ||
			varies.ReplaceAllString(got.Body, "") != varies.ReplaceAllString(want.Body, "") {
			t.Errorf("%s:\n got %d %s %s\nwant %d %s %s", tt.path, got.Status, got.Type, got.Body, want.Status, want.Type, want.Body)
		}
	}
	if got := at("cs").path(t, "GET", "/clusters/c-1/nodepools", "cs:DescribeClusterNodePools", ""); got.Code != "Forbidden.RAM" {
		t.Errorf("node pools, which have user data, by a pattern: %+v", got)
	}
	got := at("ram").call(t, "ram:GetRole", map[string]string{"RoleName": "node"})
	if got.Status != 200 || !strings.Contains(got.Body, ":role/node") {
		t.Errorf("a role: %+v", got)
	}
	for _, name := range []string{
		"ess:DescribeScalingGroups", "alb:ListLoadBalancers", "alidns:AddDomainRecord", "pvtz:AddZoneRecord", "nas:DescribeFileSystems",
		"kms:GetSecretValue",
	} {
		product, action, _ := strings.Cut(name, ":")
		for _, c := range []*tool{at(product), newTool(t, address, "tool", toolSecret)} { // or by the gateway's own name, and the version
			if got := c.call(t, name, nil); got.Status != 200 || !strings.Contains(got.Body, action) {
				t.Errorf("%s at %q: %+v", name, c.host, got)
			}
		}
	}
	if got := at("ess").call(t, "ess:DescribeScalingGroups", map[string]string{"Version": "2022-02-22"}); got.Status != 200 {
		t.Errorf("the later version: %+v", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(came) != 13 || came[0] != "2014-08-28 DescribeScalingGroups "+openapisim.DefaultAccessKeyID ||
		came[12] != "2022-02-22 DescribeScalingGroups "+openapisim.DefaultAccessKeyID {
		t.Errorf("to the cloud came %q", came)
	}
}
