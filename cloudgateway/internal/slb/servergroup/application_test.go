package servergroup

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"pgregory.net/rapid"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// fakeGroup is the cloud's side of one vServer group: server ids with their weights. It refuses calls that name an id it does
// not know, without saying which.
type fakeGroup struct {
	servers map[string]string
	unknown map[string]bool
	most    int // servers that it takes; 0: any number
	writes  int
}

func (f *fakeGroup) Do(_ context.Context, call openapi.Call, _ any) (openapi.Result, error) {
	f.writes++
	into, out := call.Params["BackendServers"], call.Params["OldBackendServers"]
	switch call.Action {
	case "RemoveVServerGroupBackendServers":
		into, out = "", into
	case "ModifyVServerGroupBackendServers":
		into = call.Params["NewBackendServers"]
	}
	for _, s := range decode(into) {
		if f.unknown[s.ServerID] {
			return openapi.Result{}, &rpcerr.Error{
				Code: codes.NotFound, Reason: rpcerr.ServerNotFound, Message: "The specified ServerId does not exist.",
				CloudCode: "InvalidServerId.NotExist",
			}
		}
	}
	if more := len(decode(into)) - len(decode(out)); f.most > 0 && call.Action != "SetVServerGroupAttribute" && len(f.servers)+more > f.most {
		return openapi.Result{}, &rpcerr.Error{
			Code: codes.ResourceExhausted, Reason: rpcerr.ServerLimit, CloudCode: "InstanceBackendServerNumberOverLimit", Message: "no more",
		}
	}
	for _, s := range decode(out) {
		delete(f.servers, s.ServerID)
	}
	for _, s := range decode(into) {
		f.servers[s.ServerID] = s.Weight
	}
	return openapi.Result{}, nil
}

func decode(param string) []serverDoc {
	var docs []serverDoc
	if param != "" && json.Unmarshal([]byte(param), &docs) != nil {
		panic("not JSON: " + param)
	}
	return docs
}

// TestUnknownServersAreLeftOut: whatever the mix of changes, all are made but those of unknown servers, which are named.
func TestUnknownServersAreLeftOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		group, c := drawChanges(t)
		fake := &fakeGroup{servers: map[string]string{}, unknown: map[string]bool{}}
		for _, s := range group {
			fake.servers[s.GetServerId()] = "100"
		}
		want := maps.Clone(fake.servers)
		for _, s := range c.remove {
			delete(want, s.GetServerId())
		}
		for _, s := range slices.Concat(c.add, c.update) {
			want[s.GetServerId()] = map[int32]string{100: "100", 50: "50", 10: "10"}[s.GetWeight()]
		}
		for _, s := range c.add {
			if strings.HasPrefix(s.GetServerId(), "i-1") && len(s.GetServerId()) > 5 && rapid.IntRange(0, 9).Draw(t, "luck") == 0 {
				fake.unknown[s.GetServerId()] = true
				delete(want, s.GetServerId())
			}
		}
		service := New(slb.New(fake, cloud.Shared{Locks: &flow.Keyed[string]{}, Logger: slog.New(slog.DiscardHandler)}, nil), 20)
		service.owners.Learn("rsp-1", "lb-1")
		response, err := service.ApplyServerChanges(context.Background(), &slbv1.ApplyServerChangesRequest{
			LoadBalancerId: "lb-1", ServerGroupId: "rsp-1", Add: c.add, Remove: c.remove, Update: c.update, RemoveFirst: c.removeFirst,
		})
		if (rpcerr.ReasonOf(err) == rpcerr.ServerNotFound) != (len(fake.unknown) > 0) || err != nil && len(fake.unknown) == 0 {
			t.Fatalf("got %v with %d unknown servers", err, len(fake.unknown))
		}
		for id := range fake.unknown {
			if !mentions(err.Error(), id) {
				t.Fatalf("%v does not name %s", err, id)
			}
		}
		if diff := cmp.Diff(want, fake.servers); diff != "" {
			t.Fatalf("group (-want +got):\n%s", diff)
		}
		if calls := response.GetCloudCalls(); err == nil && int(calls) != fake.writes {
			t.Fatalf("the answer says %d calls, made %d", calls, fake.writes)
		}
	})
}

// TestNearTheLimit: a group in which those who come have room only where others go is not refused, and not emptier meanwhile.
func TestNearTheLimit(t *testing.T) {
	for _, tt := range []struct {
		name              string
		most, add, remove int
		servers, calls    int
		refused           bool
	}{
		{name: "room for all", most: 8, add: 3, remove: 2, servers: 6, calls: 2},
		{name: "room where others go", most: 6, add: 3, remove: 2, servers: 6, calls: 3},
		{name: "no room for one", most: 5, add: 3, remove: 2, servers: 5, calls: 3, refused: true},
		{name: "nobody goes", most: 5, add: 1, servers: 5, calls: 1, refused: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fake := &fakeGroup{servers: map[string]string{}, most: tt.most}
			for _, s := range servers(0, 5) {
				fake.servers[s.GetServerId()] = "100"
			}
			service := New(slb.New(fake, cloud.Shared{Locks: &flow.Keyed[string]{}, Logger: slog.New(slog.DiscardHandler)}, nil), 20)
			service.owners.Learn("rsp-1", "lb-1")
			_, err := service.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{
				LoadBalancerId: "lb-1", ServerGroupId: "rsp-1", Add: servers(100, tt.add), Remove: servers(0, tt.remove),
			})
			if (rpcerr.ReasonOf(err) == rpcerr.ServerLimit) != tt.refused || !tt.refused && err != nil {
				t.Errorf("got %v", err)
			}
			if len(fake.servers) != tt.servers || fake.writes != tt.calls {
				t.Errorf("%d servers after %d calls, want %d after %d", len(fake.servers), fake.writes, tt.servers, tt.calls)
			}
		})
	}
}

func TestMentions(t *testing.T) {
	const text = "The server i-10 (or eni-3) does not exist"
	for id, want := range map[string]bool{"i-10": true, "i-1": false, "eni-3": true, "i-3": false, "i-2": false} {
		if got := mentions(text, id); got != want {
			t.Errorf("%s: got %t, want %t", id, got, want)
		}
	}
}
