package front

import (
	"slices"
	"testing"
)

// TestMadeBy: the audit line of a creation has the ids of what was created, wherever the cloud's answers have them.
func TestMadeBy(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{"RequestId":"r","LoadBalancerId":"lb-1","LoadBalancerName":"web"}`: {"LoadBalancerId=lb-1"},
		`{"RequestId":"r","OrderId":"1","InstanceIdSets":{"InstanceIdSet":["i-1","i-2"]}}`: {
			"InstanceIdSets=i-1", "InstanceIdSets=i-2", "OrderId=1"},
		`{"ServerIds":["a","b","c","d","e","f"]}`: {
			"ServerIds=a", "ServerIds=b", "ServerIds=c", "ServerIds=d", "ServerIds=e"},
		`{"InstanceIdSets":"none","OrderId":1,"Instances":{"Instance":[{"InstanceId":"secret"}]}}`: nil,
		`<?xml version="1.0" encoding="UTF-8"?><CreateLoadBalancerResponse><RequestId>r</RequestId><LoadBalancerId>lb-1</LoadBalancerId>` +
			`<LoadBalancerName>web</LoadBalancerName></CreateLoadBalancerResponse>`: {"LoadBalancerId=lb-1"},
		`<RunInstancesResponse><OrderId>1</OrderId><InstanceIdSets><InstanceIdSet>i-1</InstanceIdSet> <InstanceIdSet>i-2</InstanceIdSet>` +
			`</InstanceIdSets></RunInstancesResponse>`: {"InstanceIdSets=i-1", "InstanceIdSets=i-2", "OrderId=1"},
		`<R><ServerIds>a</ServerIds><ServerIds>b</ServerIds></R>`:                            {"ServerIds=a", "ServerIds=b"},
		`<R><Instances><Instance><InstanceId>secret</InstanceId></Instance></Instances></R>`: nil,
		`<R><InstanceId><Instance>no text</Instance></InstanceId></R>`:                       nil,
		`<xml/>`:                          nil,
		`<R><InstanceId>i-1</InstanceId>`: nil,
	} {
		if got := madeBy([]byte(body)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}
