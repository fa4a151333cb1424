package thirdparty

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	rpc "github.com/alibabacloud-go/tea-rpc/client"
	util "github.com/alibabacloud-go/tea-utils/service"
	"github.com/alibabacloud-go/tea/dara"
	"github.com/alibabacloud-go/tea/tea"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// teaCall makes a call through a runtime of the V2 SDKs and returns what the cloud answered.
type teaCall func(product, action string, params map[string]any) (map[string]any, error)

func versions() map[string]string {
	versions := map[string]string{}
	for _, p := range openapisim.Products() {
		versions[p.Name] = p.Version
	}
	return versions
}

// generated sends as clients that are generated for the V2 SDKs do: RPC style, version 3 of the signature.
func generated(t *testing.T, sim *openapisim.Simulator) teaCall {
	t.Helper()
	return func(product, action string, params map[string]any) (map[string]any, error) {
		client, err := openapi.NewClient(&openapi.Config{
			AccessKeyId: new(openapisim.DefaultAccessKeyID), AccessKeySecret: new(openapisim.DefaultAccessKeySecret),
			Endpoint: new(sim.Endpoint(product)), Protocol: new("HTTP"), RegionId: new(region),
		})
		check(t, err)
		query := map[string]*string{}
		for name, value := range params {
			query[name] = new(fmt.Sprint(value))
		}
		answer, err := client.CallApi(&openapi.Params{
			Action: new(action), Version: new(versions()[product]), Protocol: new("HTTP"), Pathname: new("/"),
			Method: new("POST"), AuthType: new("AK"), Style: new("RPC"),
			ReqBodyType: new("formData"), BodyType: new("json"),
		}, &openapi.OpenApiRequest{Query: query}, &dara.RuntimeOptions{})
		body, _ := answer["body"].(map[string]any)
		return body, err
	}
}

// teaRPC sends as the Terraform provider does: parameters in the query and in the form, version 1 of the signature.
func teaRPC(t *testing.T, sim *openapisim.Simulator) teaCall {
	t.Helper()
	return func(product, action string, params map[string]any) (map[string]any, error) {
		client, err := rpc.NewClient(&rpc.Config{
			AccessKeyId: new(openapisim.DefaultAccessKeyID), AccessKeySecret: new(openapisim.DefaultAccessKeySecret),
			Endpoint: new(sim.Endpoint(product)), Protocol: new("HTTP"), RegionId: new(region),
		})
		check(t, err)
		return client.DoRequest(new(action), new("HTTP"), new("POST"), new(versions()[product]), new("AK"),
			map[string]any{"RegionId": region}, params, &util.RuntimeOptions{})
	}
}

// teaCode is the code of an error of either runtime.
func teaCode(err error) string {
	var old *tea.SDKError
	var typed interface{ GetCode() *string }
	switch {
	case errors.As(err, &old):
		return tea.StringValue(old.Code)
	case errors.As(err, &typed):
		return tea.StringValue(typed.GetCode())
	}
	return ""
}

// text reads a value of an answer by its path.
func text(t *testing.T, answer map[string]any, path ...string) string {
	t.Helper()
	var at any = answer
	for _, step := range path {
		if list, ok := at.([]any); ok && len(list) > 0 {
			at = list[0]
		}
		node, _ := at.(map[string]any)
		at = node[step]
	}
	if number, ok := at.(json.Number); ok {
		return number.String()
	}
	return fmt.Sprint(at)
}

// TestTea makes, reads and deletes things of all three products through both runtimes.
func TestTea(t *testing.T) {
	t.Parallel()
	for name, runtime := range map[string]func(*testing.T, *openapisim.Simulator) teaCall{"generated": generated, "tea-rpc": teaRPC} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newCloud(t)
			call := runtime(t, sim)
			must := func(product, action string, params map[string]any) map[string]any {
				t.Helper()
				answer, err := call(product, action, params)
				if err != nil {
					t.Fatalf("%s: %v", action, err)
				}
				return answer
			}

			made := must("slb", "CreateLoadBalancer", map[string]any{
				"RegionId": region, "LoadBalancerName": "tea ü*~+", "AddressType": "internet", "InstanceChargeType": "PayByCLCU",
				"Tag.1.Key": "k", "Tag.1.Value": "v",
			})
			id := text(t, made, "LoadBalancerId")
			shown := must("slb", "DescribeLoadBalancers", map[string]any{"RegionId": region, "Tag.1.Key": "k", "Tag.1.Value": "v"})
			if got := text(t, shown, "LoadBalancers", "LoadBalancer", "LoadBalancerName"); got != "tea ü*~+" {
				t.Errorf("name %q", got)
			}
			group := must("slb", "CreateVServerGroup", map[string]any{"RegionId": region, "LoadBalancerId": id,
				"BackendServers": servers(1, 20, 80)})
			if got := text(t, group, "BackendServers", "BackendServer", "ServerId"); got != "i-1" {
				t.Errorf("the first server is %q", got)
			}
			must("slb", "DeleteLoadBalancer", map[string]any{"RegionId": region, "LoadBalancerId": id})
			if _, err := call("slb", "DescribeLoadBalancerAttribute", map[string]any{"RegionId": region,
				"LoadBalancerId": id}); teaCode(err) != "InvalidLoadBalancerId.NotFound" {
				t.Errorf("a deleted load balancer: %v", err)
			}

			table := tableID(sim)
			route := map[string]any{"RegionId": region, "RouteTableId": table, "DestinationCidrBlock": "10.0.1.0/24", "NextHopId": "i-1"}
			must("vpc", "CreateRouteEntry", route)
			listed := must("vpc", "DescribeRouteEntryList", map[string]any{"RegionId": region, "RouteTableId": table, "RouteEntryType": "Custom"})
			if got := text(t, listed, "RouteEntrys", "RouteEntry", "DestinationCidrBlock"); got != "10.0.1.0/24" {
				t.Errorf("the route leads to %q", got)
			}
			must("vpc", "DeleteRouteEntry", route)

			instances := must("ecs", "DescribeInstances", map[string]any{"RegionId": region, "InstanceIds": `["i-1"]`})
			if got := text(t, instances, "TotalCount"); got != "1" {
				t.Errorf("%s instances, want 1", got)
			}
			must("ecs", "DeleteInstance", map[string]any{"InstanceId": "i-1", "Force": "true"})
			checkCalls(t, sim, "InvalidLoadBalancerId.NotFound")
		})
	}
}
