//go:build linux

package cluster

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/chart"
)

// auditPolicy has the API server note what our processes ask for.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, userGroups: ["system:serviceaccounts:kube-system"]}
  - {level: None}
`

func (c *cluster) auditLog() string { return filepath.Join(c.dir, "audit.log") }

// rights compares what the processes asked for, in the whole life of the installation, with what the chart lets them:
// nothing was refused, and nothing is granted in vain. What a process may do through the gateway is compared in
// deploy/chart.
func (c *cluster) rights(t *testing.T) {
	t.Helper()
	log, err := os.Open(c.auditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	used := map[string]bool{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ APIGroup, Resource, Subresource, Name string }
			Status    struct{ Code int } `json:"responseStatus"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatalf("%v\n%s", err, lines.Text())
		}
		component, ours := strings.CutPrefix(event.User.Username, "system:serviceaccount:"+namespace+":")
		if !ours || !slices.Contains(chart.Components(), component) || event.ObjectRef.Resource == "" {
			continue
		}
		resource := event.ObjectRef.Resource
		if event.ObjectRef.Subresource != "" {
			resource += "/" + event.ObjectRef.Subresource
		}
		right := component + ": " + event.Verb + " " + event.ObjectRef.APIGroup + "/" + resource
		if event.Status.Code == 403 && !used["refused "+right] {
			t.Errorf("%s was refused: %s", right, lines.Text())
			used["refused "+right] = true
		}
		used[right] = true
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for _, right := range granted(t) {
		// The API server streams lists through watches; those of before 1.34 are asked for lists.
		streamed := strings.Contains(right, ": list ") && used[strings.Replace(right, ": list ", ": watch ", 1)]
		if !used[right] && !streamed && spared()[right] == "" {
			t.Errorf("%s is granted, and was never asked for", right)
		}
	}
}

// granted are the rights that the chart grants in the API server.
func granted(t *testing.T) []string {
	t.Helper()
	var rights []string
	for _, component := range chart.Components() {
		text, err := chart.RBAC(component)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq("\n"+string(text), "\n---") {
			var role rbacv1.ClusterRole
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				t.Fatal(err)
			}
			for _, rule := range role.Rules {
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						for _, verb := range rule.Verbs {
							if group != "cloudgateway.alibabacloud.com" {
								rights = append(rights, component+": "+verb+" "+group+"/"+resource)
							}
						}
					}
				}
			}
		}
	}
	if len(rights) == 0 {
		t.Fatal("the chart grants nothing")
	}
	return rights
}

// spared are the rights that this installation may have no occasion for, with the occasion.
func spared() map[string]string {
	return map[string]string{
		"cloudgateway: get /serviceaccounts":  "a tool calls through the OpenAPI front",
		"nodecontroller: get /nodes":          "an instance is gone, or somebody else wrote to the node at the same time",
		"nodecontroller: delete /nodes":       "an instance is gone",
		"nodecontroller: get /configmaps":     "the nodes are swept, minutes after a start, or an instance is gone",
		"nodecontroller: create /configmaps":  "an instance is gone",
		"nodecontroller: update /configmaps":  "an instance is gone",
		"routecontroller: create /configmaps": "a node is gone",
		"routecontroller: update /configmaps": "a node is gone",
		"nodecontroller: patch /events":       "an event comes again",
		"routecontroller: patch /events":      "an event comes again",
		"lbcontroller: patch /events":         "an event comes again",
	}
}
