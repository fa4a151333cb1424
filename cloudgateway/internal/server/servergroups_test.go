package server

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// TestUpdateServerGroup: the name and the tags of a group, whose servers stay, in which calls, and in what is read afterwards.
func TestUpdateServerGroup(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	create := groupRequest(lb, ecsServers(0, 2)...)
	create.Tags = []*commonv1.Tag{{Key: "team", Value: "web"}}
	created, err := w.ServerGroups.CreateServerGroup(t.Context(), create)
	if err != nil {
		t.Fatal(err)
	}
	id := created.GetServerGroupId()
	look := func() (full, listed *slbv1.ServerGroup) {
		t.Helper()
		age := durationpb.New(time.Hour)
		one, err := w.ServerGroups.GetServerGroup(t.Context(), &slbv1.GetServerGroupRequest{ServerGroupId: id, MaxAge: age})
		if err != nil {
			t.Fatal(err)
		}
		all, err := w.ServerGroups.ListServerGroups(t.Context(), &slbv1.ListServerGroupsRequest{LoadBalancerId: lb, MaxAge: age})
		if err != nil {
			t.Fatal(err)
		}
		return one.GetServerGroup(), all.GetServerGroups()[0]
	}
	want := func(name string, tags ...*commonv1.Tag) {
		t.Helper()
		full, listed := look()
		for _, got := range []*slbv1.ServerGroup{full, listed} {
			if diff := cmp.Diff(tags, got.GetTags(), protocmp.Transform()); got.GetName() != name || got.GetServerCount() != 2 || diff != "" {
				t.Errorf("group %q with %d servers, want %q with 2; tags (-want +got):\n%s", got.GetName(), got.GetServerCount(), name, diff)
			}
		}
	}
	want("k8s/80/web", create.GetTags()...)
	more := &commonv1.Tag{Key: "env", Value: "prod"}
	tests := []struct {
		request *slbv1.UpdateServerGroupRequest
		calls   []string
		name    string
		tags    []*commonv1.Tag
	}{
		{
			request: &slbv1.UpdateServerGroupRequest{Name: new("renamed")}, calls: []string{"SetVServerGroupAttribute"},
			name: "renamed", tags: create.GetTags(),
		},
		{
			request: &slbv1.UpdateServerGroupRequest{SetTags: []*commonv1.Tag{more}, RemoveTagKeys: []string{"team"}},
			calls:   []string{"TagResources", "UntagResources"}, name: "renamed", tags: []*commonv1.Tag{more},
		},
	}
	for _, tt := range tests {
		w.forget()
		tt.request.LoadBalancerId, tt.request.ServerGroupId = lb, id
		if _, err := w.ServerGroups.UpdateServerGroup(t.Context(), tt.request); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.calls, w.actions(true)); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		want(tt.name, tt.tags...)
	}
	for _, r := range []*slbv1.UpdateServerGroupRequest{{Name: new("x")}, {SetTags: []*commonv1.Tag{more}}} {
		r.LoadBalancerId, r.ServerGroupId = lb, "rsp-gone"
		wantNotFound(t, second(w.ServerGroups.UpdateServerGroup(t.Context(), r)), rpcerr.ServerGroupNotFound)
	}
}
