package acl

import (
	"context"
	"slices"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

const (
	add    = "AddAccessControlListEntry"
	remove = "RemoveAccessControlListEntry"
)

// change is an action on some entries.
type change struct {
	action  string
	entries []*slbv1.AccessControlEntry
}

// changes gives the order of a request's changes. Entries are added before others are removed, since a white list without entries
// lets everybody in; but one that is to be removed and added can only be added after that.
func changes(r *slbv1.UpdateAccessControlListRequest) []change {
	var before, gone, after []*slbv1.AccessControlEntry
	leaving := make(map[string]bool, len(r.GetRemoveEntries()))
	for _, cidr := range r.GetRemoveEntries() {
		leaving[cidr] = true
		gone = append(gone, &slbv1.AccessControlEntry{Cidr: cidr})
	}
	for _, e := range r.GetAddEntries() {
		if r.GetRemoveFirst() || leaving[e.GetCidr()] {
			after = append(after, e)
		} else {
			before = append(before, e)
		}
	}
	return []change{{add, before}, {remove, gone}, {add, after}}
}

// apply makes changes in their order, as many entries per call as the cloud takes.
func (s *Service) apply(ctx context.Context, id string, changes []change) error {
	for _, all := range changes {
		for entries := range slices.Chunk(all.entries, entriesPerCall) {
			if err := s.applyOne(ctx, id, change{all.action, entries}); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyOne makes a change that fits into one call. The cloud refuses the whole call when an entry of it is there already, or gone
// already; it is then sent again without those.
func (s *Service) applyOne(ctx context.Context, id string, todo change) error {
	fewer := false
	return write.Attempt{
		Send: func(ctx context.Context) error {
			fewer = false
			return s.send(ctx, id, todo)
		},
		Doubtful: contradicts,
		Done: func(ctx context.Context) (bool, error) {
			there, err := s.describe(ctx, id)
			if err != nil {
				return false, err
			}
			rest := todo.rest(there.GetEntries())
			fewer = len(rest) < len(todo.entries)
			todo.entries = rest
			return len(rest) == 0, nil
		},
		Again: func(error) bool { return fewer },
		Doubt: "an entry is there or gone already, but reading which one failed",
	}.Run(ctx)
}

// contradicts reports whether the cloud refused a change since an entry is there already, or gone already.
func contradicts(err error) bool {
	reason := rpcerr.ReasonOf(err)
	return reason == rpcerr.AlreadyExists || reason == rpcerr.NotFoundReason
}

// rest gives the entries that still have to be changed.
func (ch change) rest(there []*slbv1.AccessControlEntry) []*slbv1.AccessControlEntry {
	present := make(map[string]bool, len(there))
	for _, e := range there {
		present[e.GetCidr()] = true
	}
	return slices.DeleteFunc(slices.Clone(ch.entries), func(e *slbv1.AccessControlEntry) bool {
		return present[e.GetCidr()] == (ch.action == add)
	})
}

// send makes one call. Made twice, the second is refused as contradicting what is there, which does no harm.
func (s *Service) send(ctx context.Context, id string, todo change) error {
	type entry struct {
		Entry   string `json:"entry"`
		Comment string `json:"comment,omitempty"`
	}
	list := make([]entry, len(todo.entries))
	for i, e := range todo.entries {
		list[i] = entry{Entry: e.GetCidr(), Comment: e.GetComment()}
	}
	call := cloud.Write(openapi.SLB, todo.action, cloud.Params{"AclId": id})
	call.Form = cloud.Params{}.JSON("AclEntrys", list) // fifty comments may be longer than a URL
	call.Idempotent = true
	_, err := s.product.Caller.Do(ctx, call, nil)
	return err
}
