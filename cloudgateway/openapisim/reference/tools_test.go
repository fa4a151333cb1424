package reference

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/documented"
)

// The pages in docs are those that go generate writes now.
func TestPagesAreCurrent(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"actions.md": Markdown(), "coverage.md": Coverage(), "tools.md": ToolsPage()} {
		got, err := os.ReadFile(filepath.Join("..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("docs/%s is not current, run go generate ./reference:\n%s", name, cmp.Diff(want, string(got)))
		}
	}
}

// A misspelt action would be called missing for ever. What a tool calls of a simulated product is an action of that product.
func TestToolsCallActionsThatThereAre(t *testing.T) {
	t.Parallel()
	for _, tool := range Tools() {
		if tool.From == "" || len(tool.Parts) == 0 {
			t.Errorf("%s: nothing says what was read for it, or nothing is known", tool.Name)
		}
		for _, p := range tool.Parts {
			if p.Name == "" || p.Product != strings.ToLower(p.Product) || len(p.Actions) == 0 {
				t.Errorf("%s: %+v is no part", tool.Name, p)
			}
			if !slices.ContainsFunc(openapisim.Products(), func(known api.Product) bool { return known.Name == p.Product }) {
				continue
			}
			for _, action := range p.Actions {
				if !slices.Contains(documented.Actions(p.Product), action) {
					t.Errorf("%s, %s: %s has no action %s", tool.Name, p.Name, p.Product, action)
				}
			}
		}
	}
}

// Each call of each part is on the page, as there or as missing.
func TestToolsPage(t *testing.T) {
	t.Parallel()
	p := part(strings.Fields("groups of snapshots ecs DescribeDisks DescribeNothing"))
	if diff := cmp.Diff(Part{"groups of snapshots", "ecs", []string{"DescribeDisks", "DescribeNothing"}}, p); diff != "" {
		t.Errorf("part (-want +got):\n%s", diff)
	}
	there, missing := p.Simulated()
	if !slices.Equal(there, []string{"DescribeDisks"}) || !slices.Equal(missing, []string{"DescribeNothing"}) {
		t.Errorf("there %v, missing %v", there, missing)
	}
	tool := Tool{Parts: []Part{p, {"again", "ecs", []string{"DescribeDisks"}}, {"other", "ess", []string{"DescribeDisks"}}}}
	if all, missing := tool.calledBy(); all != 3 || missing != 2 {
		t.Errorf("%d actions, %d missing; the same action counts once for each product", all, missing)
	}
	page := ToolsPage()
	for _, want := range []string{"| alicloud_slb_rule | slb | CreateRules, DescribeRuleAttribute, SetRule, DeleteRules |  |",
		"| scaling groups | ess |  | DescribeScalingGroups,", "[Karpenter (CloudPilot)](#karpenter-cloudpilot)"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
