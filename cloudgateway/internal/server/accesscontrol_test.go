package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The cloud's actions on access control lists.
const (
	createACL     = "CreateAccessControlList"
	renameACL     = "SetAccessControlListAttribute"
	addEntries    = "AddAccessControlListEntry"
	removeEntries = "RemoveAccessControlListEntry"
	readACL       = "DescribeAccessControlListAttribute"
	listACLs      = "DescribeAccessControlLists"
)

// entries makes entries on the networks from first on.
func entries(first, count int) []*slbv1.AccessControlEntry {
	list := make([]*slbv1.AccessControlEntry, count)
	for i := range list {
		list[i] = &slbv1.AccessControlEntry{Cidr: cidr(first + i), Comment: "web"}
	}
	return list
}

func cidr(i int) string { return fmt.Sprintf("10.%d.%d.0/24", i/200, i%200) }

func cidrs(first, count int) []string {
	list := make([]string, count)
	for i := range list {
		list[i] = cidr(first + i)
	}
	return list
}

func aclRequest(requestID string, entries ...*slbv1.AccessControlEntry) *slbv1.CreateAccessControlListRequest {
	return &slbv1.CreateAccessControlListRequest{
		RequestId: requestID, Name: "web", Tags: []*commonv1.Tag{{Key: "owner", Value: "web"}}, Entries: entries,
	}
}

func (w *world) createACL(t *testing.T, entries ...*slbv1.AccessControlEntry) string {
	t.Helper()
	answer, err := w.AccessControlLists.CreateAccessControlList(t.Context(), aclRequest("acl-1", entries...))
	if err != nil {
		t.Fatalf("create access control list: %v", err)
	}
	return answer.GetAclId()
}

func (w *world) getACL(t *testing.T, id string) *slbv1.AccessControlList {
	t.Helper()
	answer, err := w.AccessControlLists.GetAccessControlList(t.Context(), &slbv1.GetAccessControlListRequest{AclId: id})
	if err != nil {
		t.Fatalf("read access control list: %v", err)
	}
	return answer.GetAccessControlList()
}

// TestAccessControlListFromBeginToEnd, with more entries than the cloud takes or returns in one call.
func TestAccessControlListFromBeginToEnd(t *testing.T) {
	w := newWorld(t)
	want := entries(0, 120)
	id := w.createACL(t, want...)
	if diff := cmp.Diff([]string{listACLs, createACL, addEntries, addEntries, addEntries}, w.actions(true)); diff != "" {
		t.Errorf("calls of the creation (-want +got):\n%s", diff)
	}
	w.forget()
	if diff := cmp.Diff(&slbv1.AccessControlList{
		AclId: id, Name: "web", IpVersion: slbv1.IpVersion_IP_VERSION_IPV4, ResourceGroupId: w.getACL(t, id).GetResourceGroupId(),
		Tags: []*commonv1.Tag{{Key: "owner", Value: "web"}}, Entries: want,
	}, w.getACL(t, id), protocmp.Transform()); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Repeat([]string{readACL}, 2*(3+2)), w.actions(true)); diff != "" {
		t.Errorf("calls of two reads (-want +got):\n%s", diff)
	}
	w.forget()
	if _, err := w.AccessControlLists.UpdateAccessControlList(t.Context(), &slbv1.UpdateAccessControlListRequest{
		AclId: id, Name: new("renamed"), AddEntries: entries(120, 1), RemoveEntries: cidrs(1, 119),
		SetTags: []*commonv1.Tag{{Key: "more"}}, RemoveTagKeys: []string{"owner"}, ResourceGroupId: new("rg-2"),
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		renameACL, addEntries, removeEntries, removeEntries, removeEntries, "TagResources", "UntagResources",
		"MoveResourceGroup",
	}, w.actions(true)); diff != "" {
		t.Errorf("calls of the update (-want +got):\n%s", diff)
	}
	got := w.getACL(t, id)
	if diff := cmp.Diff(append(entries(0, 1), entries(120, 1)...), got.GetEntries(), protocmp.Transform()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if got.GetName() != "renamed" || got.GetResourceGroupId() != "rg-2" || len(got.GetTags()) != 1 || got.GetTags()[0].GetKey() != "more" {
		t.Errorf("got %v", got)
	}
	w.forget()
	for range 2 { // one that is gone is a success
		if _, err := w.AccessControlLists.DeleteAccessControlList(t.Context(), &slbv1.DeleteAccessControlListRequest{AclId: id}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(slices.Repeat([]string{"DeleteAccessControlList"}, 2), w.actions(true)); diff != "" {
		t.Errorf("calls of the deletion (-want +got):\n%s", diff)
	}
	_, err := w.AccessControlLists.GetAccessControlList(t.Context(), &slbv1.GetAccessControlListRequest{AclId: id})
	wantNotFound(t, err, rpcerr.AclNotFound)
	_, err = w.AccessControlLists.UpdateAccessControlList(t.Context(), &slbv1.UpdateAccessControlListRequest{AclId: id,
		AddEntries: entries(0, 1)})
	wantNotFound(t, err, rpcerr.AclNotFound)
}

// TestUsesOfAnAccessControlList: what is remembered of a list does not outlive a change of the listeners that use it.
func TestUsesOfAnAccessControlList(t *testing.T) {
	w := newWorld(t)
	id, at := w.createACL(t, entries(0, 1)...), withGroup(t, w)
	request := listenerRequest(at.lb, at.group)
	request.Config.AclIds, request.Config.AclEnabled, request.Config.AclType = []string{id}, new(true), new("white")
	for _, step := range []struct {
		name  string
		write func() error
		uses  int
	}{
		{"before", func() error { return nil }, 0},
		{"with the listener", func() error { _, err := w.Listeners.CreateListener(t.Context(), request); return err }, 1},
		{"without it", func() error {
			_, err := w.Listeners.DeleteListener(t.Context(), &slbv1.DeleteListenerRequest{Key: request.GetKey()})
			return err
		}, 0},
	} {
		if err := step.write(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		answer, err := w.AccessControlLists.GetAccessControlList(t.Context(), &slbv1.GetAccessControlListRequest{AclId: id,
			MaxAge: durationpb.New(time.Hour)})
		if uses := answer.GetAccessControlList().GetUses(); err != nil || len(uses) != step.uses {
			t.Errorf("%s: used by %v, %v, want %d", step.name, uses, err, step.uses)
		}
	}
}

// TestEntryChanges: what is as it shall be already is no error, and a white list is not empty in between.
func TestEntryChanges(t *testing.T) {
	tests := []struct {
		name    string
		request *slbv1.UpdateAccessControlListRequest
		calls   []string
		want    []string // "cidr comment"
	}{
		{
			name: "some are there", request: &slbv1.UpdateAccessControlListRequest{AddEntries: entries(1, 3)},
			calls: []string{addEntries, readACL, addEntries},
			want:  []string{"10.0.0.0/24 old", "10.0.1.0/24 old", "10.0.2.0/24 web", "10.0.3.0/24 web"},
		},
		{
			name: "all are there", request: &slbv1.UpdateAccessControlListRequest{AddEntries: entries(0, 2)},
			calls: []string{addEntries, readACL}, want: []string{"10.0.0.0/24 old", "10.0.1.0/24 old"},
		},
		{
			name: "some are gone", request: &slbv1.UpdateAccessControlListRequest{RemoveEntries: cidrs(1, 3)},
			calls: []string{removeEntries}, want: []string{"10.0.0.0/24 old"},
		},
		{
			name: "another comment", request: &slbv1.UpdateAccessControlListRequest{AddEntries: entries(1, 2), RemoveEntries: cidrs(1, 1)},
			calls: []string{addEntries, removeEntries, addEntries},
			want:  []string{"10.0.0.0/24 old", "10.0.1.0/24 web", "10.0.2.0/24 web"},
		},
		{
			name: "everything else", request: &slbv1.UpdateAccessControlListRequest{AddEntries: entries(5, 1), RemoveEntries: cidrs(0, 2)},
			calls: []string{addEntries, removeEntries}, want: []string{"10.0.5.0/24 web"},
		},
		{
			name: "at the quota", calls: []string{removeEntries, addEntries}, want: []string{"10.0.5.0/24 web"},
			request: &slbv1.UpdateAccessControlListRequest{AddEntries: entries(5, 1), RemoveEntries: cidrs(0, 2), RemoveFirst: true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *openapisim.Config) {
				c.Seed.Acls["acl-1"] = &state.Acl{Name: "web", IPVersion: "ipv4", Entries: []state.AclEntry{
					{Entry: "10.0.0.0/24", Comment: "old"}, {Entry: "10.0.1.0/24", Comment: "old"},
				}}
			})
			tt.request.AclId = "acl-1"
			if _, err := w.AccessControlLists.UpdateAccessControlList(t.Context(), tt.request); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.calls, w.actions(true)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			var got []string
			for _, e := range w.getACL(t, "acl-1").GetEntries() {
				got = append(got, e.GetCidr()+" "+e.GetComment())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRemovalFromAnEmptyList: the cloud refuses it, but what shall be gone is.
func TestRemovalFromAnEmptyList(t *testing.T) {
	w := newWorld(t)
	id := w.createACL(t)
	if _, err := w.AccessControlLists.UpdateAccessControlList(t.Context(), &slbv1.UpdateAccessControlListRequest{
		AclId: id, RemoveEntries: cidrs(0, 60),
	}); err != nil {
		t.Error(err)
	}
}

// TestBusyAccessControlList: a list refuses the next change of its entries until it has made the last one.
func TestBusyAccessControlList(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) { c.Settings.AclBusyAfterWrite = 100 * time.Millisecond })
	id := w.createACL(t, entries(0, 120)...)
	if got := len(w.getACL(t, id).GetEntries()); got != 120 {
		t.Errorf("%d entries, want 120", got)
	}
}

func TestAccessControlListRefusals(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) { c.Settings.Quotas.AclEntries = 60 })
	id := w.createACL(t, entries(0, 1)...)
	at := withGroup(t, w)
	listener := listenerRequest(at.lb, at.group)
	listener.Config.AclEnabled, listener.Config.AclType, listener.Config.AclIds = new(true), new("black"), []string{id}
	if _, err := w.Listeners.CreateListener(t.Context(), listener); err != nil {
		t.Fatal(err)
	}
	_, err := w.AccessControlLists.DeleteAccessControlList(t.Context(), &slbv1.DeleteAccessControlListRequest{AclId: id})
	if rpcerr.ReasonOf(err) != rpcerr.AclInUse {
		t.Errorf("deletion while a listener uses it: got %v, want ACL_IN_USE", err)
	}
	want := []*slbv1.AccessControlUse{{Listener: listener.GetKey(), AclType: "black"}}
	if diff := cmp.Diff(want, w.getACL(t, id).GetUses(), protocmp.Transform()); diff != "" {
		t.Errorf("uses (-want +got):\n%s", diff)
	}
	_, err = w.AccessControlLists.UpdateAccessControlList(t.Context(), &slbv1.UpdateAccessControlListRequest{
		AclId: id, AddEntries: []*slbv1.AccessControlEntry{{Cidr: "2001:db8::/32"}},
	})
	if rpcerr.ReasonOf(err) != rpcerr.InvalidField {
		t.Errorf("an IPv6 network in a list of IPv4: got %v, want INVALID_FIELD", err)
	}
	_, err = w.AccessControlLists.UpdateAccessControlList(t.Context(), &slbv1.UpdateAccessControlListRequest{
		AclId: id, AddEntries: entries(0, 80),
	})
	if rpcerr.ReasonOf(err) != rpcerr.QuotaExceeded {
		t.Errorf("too many entries: got %v, want QUOTA_EXCEEDED", err)
	}
	// A creation that stops half-way goes on when it is repeated, and makes no second list.
	more := aclRequest("acl-2", entries(0, 80)...)
	more.Name = "more"
	w.forget()
	_, err = w.AccessControlLists.CreateAccessControlList(t.Context(), more)
	if rpcerr.ReasonOf(err) != rpcerr.QuotaExceeded || !strings.Contains(err.Error(), "add entries to the new access control list acl-") {
		t.Errorf("too many entries of a new list: got %v, want QUOTA_EXCEEDED and its id", err)
	}
	settings := w.sim.Settings()
	settings.Quotas.AclEntries = 300
	w.sim.SetSettings(settings)
	answer, err := w.AccessControlLists.CreateAccessControlList(t.Context(), more)
	if err != nil || len(w.getACL(t, answer.GetAclId()).GetEntries()) != 80 {
		t.Errorf("repeated: %v", err)
	}
	if diff := cmp.Diff([]string{createACL, addEntries, addEntries, addEntries}, w.actions(false)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestListAccessControlLists(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) {
		for i := range 60 {
			c.Seed.Acls[fmt.Sprintf("acl-%02d", i)] = &state.Acl{Name: fmt.Sprintf("list-%d", i), IPVersion: "ipv4"}
		}
		c.Seed.Acls["acl-70"] = &state.Acl{Name: "six", IPVersion: "ipv6", ResourceGroupID: "rg-2",
			Tags: []state.Tag{{Key: "owner", Value: "web"}}}
	})
	tests := []struct {
		name    string
		request *slbv1.ListAccessControlListsRequest
		want    []string
		calls   int
	}{
		{name: "exact name", request: &slbv1.ListAccessControlListsRequest{Name: "list-1"}, want: []string{"acl-01"}, calls: 1},
		{name: "IPv6", request: &slbv1.ListAccessControlListsRequest{IpVersion: slbv1.IpVersion_IP_VERSION_IPV6},
			want: []string{"acl-70"}, calls: 1},
		{name: "resource group", request: &slbv1.ListAccessControlListsRequest{ResourceGroupId: "rg-2"}, want: []string{"acl-70"}, calls: 1},
		{
			name: "tags", request: &slbv1.ListAccessControlListsRequest{Tags: []*commonv1.Tag{{Key: "owner"}}}, want: []string{"acl-70"}, calls: 1,
		},
		{
			name: "ids on two pages", request: &slbv1.ListAccessControlListsRequest{AclIds: []string{"acl-70", "acl-gone", "acl-03"}},
			want: []string{"acl-03", "acl-70"}, calls: 2 + 1,
		},
	}
	for _, tt := range tests {
		for _, calls := range []int{tt.calls, 0} { // The second time it is known.
			w.forget()
			tt.request.MaxAge = durationpb.New(time.Hour)
			answer, err := w.AccessControlLists.ListAccessControlLists(t.Context(), tt.request)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			var got []string
			for _, list := range answer.GetAccessControlLists() {
				got = append(got, list.GetAclId())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || len(w.actions(true)) != calls {
				t.Errorf("%s: %d calls, want %d; lists (-want +got):\n%s", tt.name, len(w.actions(true)), calls, diff)
			}
		}
	}
	// Own writes are seen, whatever is remembered.
	if _, err := w.AccessControlLists.UpdateAccessControlList(t.Context(),
		&slbv1.UpdateAccessControlListRequest{AclId: "acl-01", Name: new("other")}); err != nil {
		t.Fatal(err)
	}
	answer, err := w.AccessControlLists.ListAccessControlLists(t.Context(),
		&slbv1.ListAccessControlListsRequest{Name: "list-1", MaxAge: durationpb.New(time.Hour)})
	if err != nil || len(answer.GetAccessControlLists()) > 0 {
		t.Errorf("after the renaming: %v, %v", answer, err)
	}
}

// TestAccessControlListThatCanNotBeIdentified: after a lost answer the list is looked for. One that was there before is never taken for it,
// not even one that is the same in everything.
func TestAccessControlListThatCanNotBeIdentified(t *testing.T) {
	owner := []state.Tag{{Key: "owner", Value: "web"}}
	lost := []fault.Rule{{Action: createACL, Times: 1, When: fault.After, Drop: true}}
	tests := []struct {
		name   string
		others []*state.Acl
		faults []fault.Rule
		want   rpcerr.Reason
		lists  int // at the end
	}{
		{name: "alone", faults: lost, lists: 1},
		{name: "not carried out", faults: []fault.Rule{{Action: createACL, Times: 1, Drop: true}}, lists: 1},
		{
			name: "others differ", faults: lost, lists: 6,
			others: []*state.Acl{
				{Name: "web", IPVersion: "ipv6", Tags: owner}, {Name: "web", IPVersion: "ipv4"}, {Name: "web-2", IPVersion: "ipv4", Tags: owner},
				{Name: "web", IPVersion: "ipv4", Tags: owner, Entries: []state.AclEntry{{Entry: "10.0.0.0/8"}}},
				{Name: "web", IPVersion: "ipv4", Tags: []state.Tag{{Key: "owner", Value: "other"}}},
			},
		},
		{name: "the same before", others: []*state.Acl{{Name: "web", IPVersion: "ipv4", Tags: owner}}, faults: lost, lists: 2},
		{
			name: "the same before, and not carried out", faults: []fault.Rule{{Action: createACL, Times: 1, Drop: true}}, lists: 2,
			others: []*state.Acl{{Name: "web", IPVersion: "ipv4", Tags: owner}},
		},
		{
			name: "the lists can't be read", want: rpcerr.OutcomeUnknown, lists: 1,
			faults: append(lost, fault.Rule{Action: listACLs, Nth: 2, Error: &fault.Error{Status: 403, Code: "Forbidden.RAM", Message: "no"}}),
		},
		{
			name: "the list can't be read", want: rpcerr.OutcomeUnknown, lists: 1,
			faults: append(lost, fault.Rule{Action: readACL, Error: &fault.Error{Status: 403, Code: "Forbidden.RAM", Message: "no"}}),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *openapisim.Config) {
				for i, acl := range tt.others {
					c.Seed.Acls[fmt.Sprintf("acl-%d", i)] = acl
				}
			})
			w.strike(t, tt.faults...)
			request := aclRequest("r-1", entries(0, 1)...)
			_, err := w.AccessControlLists.CreateAccessControlList(t.Context(), request)
			if rpcerr.ReasonOf(err) != tt.want || (err == nil) != (tt.want == "") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			count := 0
			w.sim.View(func(c *state.Cloud) { count = len(c.Acls) })
			if count != tt.lists {
				t.Errorf("%d lists, want %d", count, tt.lists)
			}
			if tt.want == "" || len(tt.others) > 0 {
				return
			}
			// An unknown outcome can be known later: the repetition finds the list of the first attempt.
			w.strike(t)
			if _, err := w.AccessControlLists.CreateAccessControlList(t.Context(), request); err != nil {
				t.Errorf("repeated: %v", err)
			}
			if w.sim.View(func(c *state.Cloud) { count = len(c.Acls) }); count != tt.lists {
				t.Errorf("%d lists after the repetition, want %d", count, tt.lists)
			}
		})
	}
}
