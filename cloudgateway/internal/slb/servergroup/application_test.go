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
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// fakeGroup is the cloud's side of one vServer group: server ids with their weights. It refuses calls that name an id it does
// not know, without telling which.
type fakeGroup struct {
	servers map[string]string
	unknown map[string]bool
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
			t.Fatalf("told of %d calls, made %d", calls, fake.writes)
		}
	})
}

func TestMentions(t *testing.T) {
	const text = "The server i-10 (or eni-3) does not exist"
	for id, want := range map[string]bool{"i-10": true, "i-1": false, "eni-3": true, "i-3": false, "i-2": false} {
		if got := mentions(text, id); got != want {
			t.Errorf("%s: got %t, want %t", id, got, want)
		}
	}
}
