package slb

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDescribeListeners(t *testing.T) {
	t.Parallel()
	eleven := params{}
	for i := range 11 {
		eleven[fmt.Sprintf("LoadBalancerId.%d", i+1)] = fmt.Sprint(i)
	}
	testCodes(t, "DescribeLoadBalancerListeners", []codeTest{
		{"all", params{}, ""},
		{"unknown load balancer", params{"LoadBalancerId.1": "lb-x"}, ""},
		{"eleven load balancers", eleven, "IllegalParamSize.LoadBalancerId"},
		{"no results", params{"MaxResults": "0"}, "IllegalParam.MaxResults"},
		{"101 results", params{"MaxResults": "101"}, "IllegalParam.MaxResults"},
		{"protocol", params{"ListenerProtocol": "x"}, "IllegalParam.ListenerProtocol"},
		{"token", params{"NextToken": "x"}, "IllegalParam.NextToken"},
	})
	t.Run("filters", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		c.call("TagResources", params{"ResourceType": "listener", "ResourceId.1": "lb-1_tcp_80", "Tag.1.Key": "k", "Tag.1.Value": "v"})
		c.listener(protoUDP, 53).Attributes["Description"] = "dns"
		for name, tt := range map[string]struct {
			params params
			want   int
		}{
			"all":         {params{}, 5},
			"mine":        {params{"LoadBalancerId.1": "lb-1", "LoadBalancerId.2": "lb-1"}, 5},
			"other":       {params{"LoadBalancerId.1": "lb-vpc"}, 0},
			"protocol":    {params{"ListenerProtocol": protoHTTP}, 2},
			"port":        {params{"ListenerPort": "443"}, 1},
			"description": {params{"Description": "dns"}, 1},
			"tag":         {params{"Tag.1.Key": "k", "Tag.1.Value": "v"}, 1},
		} {
			got := c.call("DescribeLoadBalancerListeners", tt.params)
			if len(got.list("Listeners")) != tt.want || got["TotalCount"] != float64(tt.want) {
				t.Errorf("%s: got %d listeners, want %d", name, len(got.list("Listeners")), tt.want)
			}
		}
	})
	t.Run("pages survive a deletion", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		var got []string
		p := params{"LoadBalancerId.1": "lb-1", "MaxResults": "2"}
		for {
			page := c.call("DescribeLoadBalancerListeners", p)
			for _, item := range page.list("Listeners") {
				got = append(got, fmt.Sprint(answer(item.(map[string]any))["ListenerPort"]))
			}
			if page.text("NextToken") == "" {
				break
			}
			p["NextToken"] = page.text("NextToken")
			if len(got) == 2 { // the listener that the token names goes
				c.call("DeleteLoadBalancerListener", params{"LoadBalancerId": "lb-1", "ListenerPort": "80"})
			}
		}
		if diff := cmp.Diff([]string{"53", "80", "81", "443", "8080"}, got); diff != "" {
			t.Errorf("ports of all pages (-want +got):\n%s", diff)
		}
	})
}

// The cloud lists ports and protocols three times, in two spellings.
func TestListenerPortsAndProtocols(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	got := c.call("DescribeLoadBalancerAttribute", params{"LoadBalancerId": "lb-1"})
	ports := got.list("ListenerPorts.ListenerPort")
	if diff := cmp.Diff([]any{53.0, 80.0, 81.0, 443.0, 8080.0}, ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	want := []string{protoUDP, protoTCP, protoHTTP, protoHTTPS, protoHTTP}
	if diff := cmp.Diff(want, got.texts("ListenerPortsAndProtocal.ListenerPortAndProtocal", "ListenerProtocal")); diff != "" {
		t.Errorf("ListenerPortsAndProtocal (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, got.texts("ListenerPortsAndProtocol.ListenerPortAndProtocol", "ListenerProtocol")); diff != "" {
		t.Errorf("ListenerPortsAndProtocol (-want +got):\n%s", diff)
	}
}
