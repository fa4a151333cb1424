package route

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// creation makes entries.
func creation() operation {
	return operation{call: createCall, alone: severalHops, judge: judgeCreation, before: rpcerr.AlreadyExists, then: write.Waiting}
}

// severalHops: the cloud takes them in a call for one entry only.
func severalHops(e *vpcv1.RouteEntry) bool { return len(e.GetNextHops()) > 0 }

func createCall(tableID string, entries []*vpcv1.RouteEntry) openapi.Call {
	if e := entries[0]; severalHops(e) {
		hops := make([]map[string]string, len(e.GetNextHops()))
		for i, hop := range e.GetNextHops() {
			hops[i] = map[string]string{"NextHopId": hop.GetNextHopId(), "NextHopType": hopType(hop.GetNextHopType())}
			if hop.Weight != nil {
				hops[i]["Weight"] = strconv.Itoa(int(hop.GetWeight()))
			}
		}
		return cloud.Write(openapi.VPC, "CreateRouteEntry", cloud.Params{"RouteTableId": tableID}.
			With("DestinationCidrBlock", e.GetDestinationCidr()).
			With("RouteEntryName", e.GetName()).
			With("Description", e.GetDescription()).
			Items("NextHopList", hops))
	}
	return batchOf("CreateRouteEntries", tableID, entries, func(e *vpcv1.RouteEntry) map[string]string {
		return map[string]string{
			"DstCidrBlock": e.GetDestinationCidr(), "NextHop": e.GetNextHopId(), "NextHopType": hopType(e.GetNextHopType()),
			"Name": e.GetName(), "Description": e.GetDescription(), "IpVersion": ipVersion(e.GetDestinationCidr()),
		}
	})
}

// ipVersion names the family of an IPv6 destination; that of all others goes without saying.
func ipVersion(destination string) string {
	if strings.Contains(destination, ":") {
		return "6"
	}
	return ""
}

func hopType(kind string) string { return cmp.Or(kind, "Instance") }

// batchOf makes a call for many entries of a table.
func batchOf(action, tableID string, entries []*vpcv1.RouteEntry, members func(*vpcv1.RouteEntry) map[string]string) openapi.Call {
	items := make([]map[string]string, len(entries))
	for i, e := range entries {
		items[i] = members(e)
		items[i]["RouteTableId"] = tableID
	}
	return cloud.Write(openapi.VPC, action, cloud.Params{}.Items("RouteEntries", items))
}

func judgeCreation(want, got *vpcv1.RouteEntry) (write.Verdict, error) {
	switch {
	case got == nil:
		return write.Todo, nil
	case got.GetStatus() == "Deleting":
		return write.Waiting, nil // It is sent again when the old entry is gone.
	case !sameHops(want, got):
		return write.Failed, rpcerr.Errorf(rpcerr.RouteConflict, "route table %s has a route to %s by %s, so %s can't be its next hop",
			want.GetRouteTableId(), want.GetDestinationCidr(), hops(got), hops(want)).WithAPI("vpc/CreateRouteEntries")
	case got.GetStatus() == vpc.Available:
		return write.Done, nil
	default:
		return write.Waiting, nil
	}
}

// sameHops reports whether an entry leads where it shall. Weights count that were asked for.
func sameHops(want, got *vpcv1.RouteEntry) bool {
	if len(want.GetNextHops()) != len(got.GetNextHops()) || want.GetNextHopId() != got.GetNextHopId() {
		return false
	}
	for _, w := range want.GetNextHops() {
		if !slices.ContainsFunc(got.GetNextHops(), func(g *vpcv1.NextHop) bool {
			return g.GetNextHopId() == w.GetNextHopId() && (w.Weight == nil || w.GetWeight() == g.GetWeight())
		}) {
			return false
		}
	}
	return true
}

// hops names the next hops of an entry.
func hops(e *vpcv1.RouteEntry) string {
	if len(e.GetNextHops()) == 0 {
		return strconv.Quote(e.GetNextHopId())
	}
	var texts []string
	for _, hop := range e.GetNextHops() {
		text := strconv.Quote(hop.GetNextHopId())
		if hop.Weight != nil {
			text += fmt.Sprintf(" (weight %d)", hop.GetWeight())
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " and ")
}

// deletion removes entries.
func deletion() operation {
	return operation{
		call: deleteCall, alone: func(*vpcv1.RouteEntry) bool { return false }, judge: judgeDeletion, exact: true,
		before: rpcerr.RouteNotFound, then: write.Done,
	}
}

func deleteCall(tableID string, entries []*vpcv1.RouteEntry) openapi.Call {
	return batchOf("DeleteRouteEntries", tableID, entries, func(e *vpcv1.RouteEntry) map[string]string {
		if id := e.GetRouteEntryId(); id != "" {
			return map[string]string{"RouteEntryId": id}
		}
		return map[string]string{"DstCidrBlock": e.GetDestinationCidr(), "NextHop": e.GetNextHopId()}
	})
}

func judgeDeletion(want, got *vpcv1.RouteEntry) (write.Verdict, error) {
	switch {
	case got == nil:
		return write.Done, nil
	case want.GetRouteEntryId() == "" && got.GetNextHopId() != want.GetNextHopId():
		return write.Done, nil // The destination was given to another next hop in the meantime.
	case want.GetDestinationCidr() != "" && got.GetDestinationCidr() != want.GetDestinationCidr(),
		want.GetNextHopId() != "" && got.GetNextHopId() != want.GetNextHopId():
		return write.Failed, rpcerr.Errorf(rpcerr.RouteConflict, "route entry %s leads to %s by %s; name only its id, or what it has",
			want.GetRouteEntryId(), got.GetDestinationCidr(), hops(got)).WithAPI("vpc/DeleteRouteEntries")
	case got.GetStatus() == "Deleting":
		return write.Waiting, nil
	default:
		return write.Todo, nil
	}
}

// UpdateRouteEntry changes what an entry lacks of the attributes that are present, and waits until it is in force. What there is is
// read first, since the cloud refuses to give an entry the next hop that it has.
func (s *Service) UpdateRouteEntry(ctx context.Context, r *vpcv1.UpdateRouteEntryRequest) (*vpcv1.UpdateRouteEntryResponse, error) {
	id := r.GetRouteEntryId()
	if err := s.checkVPC(ctx, r.GetRouteTableId(), r.GetVpcId()); err != nil {
		return nil, err
	}
	entry, err := write.Converge[*vpcv1.RouteEntry]{
		Name: "the change of route entry " + id,
		Look: func(ctx context.Context) (*vpcv1.RouteEntry, error) {
			return cloud.First(s.describeEntries(ctx, r.GetRouteTableId(), cloud.Params{"RouteEntryId": id}))
		},
		Judge: func(e *vpcv1.RouteEntry) (write.Verdict, error) { return judgeUpdate(r, e) },
		Send: func(ctx context.Context, seen *vpcv1.RouteEntry) error {
			return s.product.Send(ctx, "ModifyRouteEntry", lacking(r, seen).With("RouteEntryId", id), nil)
		},
		LookFirst: true,
	}.RunAlone(ctx, s.product.Networks, r.GetVpcId())
	return cloud.Answer(&vpcv1.UpdateRouteEntryResponse{RouteEntry: entry}, err)
}

// lacking are the parameters of what an entry is not yet.
func lacking(r *vpcv1.UpdateRouteEntryRequest, e *vpcv1.RouteEntry) cloud.Params {
	params := cloud.Params{}
	if r.Name != nil && r.GetName() != e.GetName() {
		params["RouteEntryName"] = r.GetName()
	}
	if r.Description != nil && r.GetDescription() != e.GetDescription() {
		params["Description"] = r.GetDescription()
	}
	if hop := r.GetNextHop(); hop != nil && hop.GetNextHopId() != e.GetNextHopId() {
		params["NewNextHopId"], params["NewNextHopType"] = hop.GetNextHopId(), hopType(hop.GetNextHopType())
	}
	return params
}

func judgeUpdate(r *vpcv1.UpdateRouteEntryRequest, e *vpcv1.RouteEntry) (write.Verdict, error) {
	refuse := func(reason rpcerr.Reason, format string, args ...any) (write.Verdict, error) {
		return write.Failed, rpcerr.Errorf(reason, format, args...).WithAPI("vpc/ModifyRouteEntry")
	}
	switch {
	case e == nil:
		return refuse(rpcerr.RouteNotFound, "route table %s has no entry %s", r.GetRouteTableId(), r.GetRouteEntryId())
	case e.GetMultipleNextHops() && r.GetNextHop() != nil:
		return refuse(rpcerr.InvalidState,
			"route entry %s has several next hops, which can't be changed; delete it and create another one", r.GetRouteEntryId())
	case e.GetStatus() != vpc.Available:
		return write.Waiting, nil
	case len(lacking(r, e)) > 0:
		return write.Todo, nil
	default:
		return write.Done, nil
	}
}
