package slb

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/wire"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The answer that encodes itself is the JSON that any other encoder would write, whatever clients call things.
func TestAnswerOfAChangedGroup(t *testing.T) {
	t.Parallel()
	group := changedGroup{VServerGroupID: "rsp-1", VServerGroupName: `"quoted" <ü> \`, servers: []*state.Server{
		{Type: typeECS, ServerID: "i-1", Port: 80, Weight: 100, Description: "k8s/80/web\n"},
		{Type: typeENI, ServerID: "eni-1", ServerIP: "10.0.0.1", Port: 65535},
	}}
	for _, g := range []changedGroup{group, {VServerGroupID: "rsp-2"}} {
		want := map[string]any{"RequestId": "R", "VServerGroupId": g.VServerGroupID}
		if g.VServerGroupName != "" {
			want["VServerGroupName"] = g.VServerGroupName
		}
		list, err := json.Marshal(wrapped("BackendServer", g.servers, serverView))
		if err != nil {
			t.Fatal(err)
		}
		var servers any
		if err := json.Unmarshal(list, &servers); err != nil {
			t.Fatal(err)
		}
		want["BackendServers"] = servers
		answer, err := wire.Success("AddVServerGroupBackendServers", "R", g, false)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(answer.Body, &got); err != nil {
			t.Fatalf("%v in %s", err, answer.Body)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
	}
}
