package rampolicy

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/proto/rpcerr"
)

const root = "../../.."

func TestRowsAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rows() {
		if seen[r.Name()] {
			t.Errorf("%s has two rows", r.Name())
		}
		seen[r.Name()] = true
		if r.For == "" || len(r.Features) == 0 {
			t.Errorf("%s: nobody knows what for, or for whom", r.Name())
		}
		if buys := r.Name() == "vpc:AllocateEipAddress"; (len(r.Harmless) == 0) != buys {
			t.Errorf("%s has the parameters %v", r.Name(), r.Harmless)
		}
		for name, value := range r.Harmless {
			if name == "" || value == "" {
				t.Errorf("%s: %q=%q is no parameter", r.Name(), name, value)
			}
		}
		for _, f := range r.Features {
			if !slices.Contains(Features(), f) {
				t.Errorf("%s: unknown feature %q", r.Name(), f)
			}
		}
	}
	for _, f := range Features() {
		if len(Of(f)) == 0 || f.About() == "" {
			t.Errorf("feature %s has no actions or no text", f)
		}
	}
}

func TestJSONIsAPolicy(t *testing.T) {
	text, err := JSON(Nodes)
	if err != nil {
		t.Fatal(err)
	}
	var got document
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := document{Version: "1", Statement: []statement{{
		Effect: "Allow", Resource: "*",
		Action: []string{
			"ecs:DescribeInstances", "ecs:DescribeNetworkInterfaces", "ecs:ModifyNetworkInterfaceAttribute", "vpc:DescribeVpcAttribute",
		},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

func TestCommittedFilesAreFresh(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Errorf("%v; run go generate ./internal/generate", err)
			continue
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is stale, run go generate ./internal/generate (-want +got):\n%s", name, diff)
		}
	}
	committed, err := filepath.Glob(filepath.Join(root, "deploy", "ram-policies", "*.json"))
	if err != nil || len(committed) != len(Features()) {
		t.Errorf("%d policies for %d features (%v): %q; delete what no feature needs", len(committed), len(Features()), err, committed)
	}
}

// sent counts the calls that come through.
type sent int

func (s *sent) Do(context.Context, openapi.Call, any) (openapi.Result, error) {
	*s++
	return openapi.Result{}, nil
}

func TestGuard(t *testing.T) {
	var through sent
	guard := NewGuard(&through)
	if _, err := guard.Do(t.Context(), openapi.Call{Product: openapi.SLB, Action: "DescribeLoadBalancers"}, nil); err != nil || through != 1 {
		t.Errorf("a call of the table: %v", err)
	}
	for _, call := range []openapi.Call{
		{Product: openapi.SLB, Action: "AddTags"},
		{Product: openapi.ECS, Action: "DescribeLoadBalancers"}, // the table has that of another product
		{},
	} {
		if _, err := guard.Do(t.Context(), call, nil); rpcerr.ReasonOf(err) != rpcerr.Internal || through != 1 {
			t.Errorf("%s/%s: %v, want a refusal", call.Product, call.Action, err)
		}
	}
}
