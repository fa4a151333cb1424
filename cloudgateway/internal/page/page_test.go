package page

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/method"
)

// list is a handler that knows EIPs.
type list []string

func (l list) answer(_ context.Context, request any) (any, error) {
	if r := request.(*vpcv1.ListEipsRequest); r.GetPageSize() != 0 || r.GetPageToken() != "" {
		return nil, Check(r)
	}
	answer := &vpcv1.ListEipsResponse{AsOf: timestamppb.Now()}
	for _, id := range l {
		answer.Eips = append(answer.Eips, &vpcv1.Eip{AllocationId: id})
	}
	return answer, nil
}

func ask(t *testing.T, l list, r *vpcv1.ListEipsRequest) (ids []string, next string) {
	t.Helper()
	answer, err := Intercept(t.Context(), r, &grpc.UnaryServerInfo{}, l.answer)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range answer.(*vpcv1.ListEipsResponse).GetEips() {
		ids = append(ids, e.GetAllocationId())
	}
	return ids, answer.(*vpcv1.ListEipsResponse).GetNextPageToken()
}

// TestPages: items that are there all the time come once, whatever comes and goes between two pages, and whether the page size changes.
func TestPages(t *testing.T) {
	t.Parallel()
	var all []string
	r := &vpcv1.ListEipsRequest{Name: "web", PageSize: 2}
	for i, l := range []list{{"a", "c", "e", "g"}, {"a", "b", "e", "g", "h"}, {"e", "f", "g", "h", "i"}} {
		r.PageSize = 2 + int32(i/2)
		ids, next := ask(t, l, r)
		all = append(all, ids...)
		r.PageToken = next
		if last := i == 2; (next == "") != last {
			t.Fatalf("page %d is %q, then %q", i, ids, next)
		}
	}
	if got := strings.Join(all, " "); got != "a c e g h i" {
		t.Errorf("got %s", got)
	}
	if ids, next := ask(t, list{"a", "b"}, &vpcv1.ListEipsRequest{PageSize: 2}); len(ids) != 2 || next != "" {
		t.Errorf("a page that ends with the list: %q, then %q", ids, next)
	}
	if ids, next := ask(t, nil, &vpcv1.ListEipsRequest{PageSize: 2}); len(ids) != 0 || next != "" {
		t.Errorf("an empty list: %q, then %q", ids, next)
	}
}

// TestGreatestPage: no part of a list has more than the greatest page, whatever a client asks for.
func TestGreatestPage(t *testing.T) {
	t.Parallel()
	var all list
	for i := range 2*Most + 10 {
		all = append(all, fmt.Sprintf("eip-%05d", i))
	}
	r := &vpcv1.ListEipsRequest{PageSize: 20_000}
	for _, want := range []int{Most, Most, 10} {
		ids, next := ask(t, all, r)
		if len(ids) != want || (next == "") != (want == 10) {
			t.Fatalf("a part of %d items that goes on with %q, want %d", len(ids), next, want)
		}
		r.PageSize, r.PageToken = 0, next
	}
}

// TestWithoutPageSize: who does not ask for pages gets everything, and who stops asking gets what is left, as far as it fits.
func TestWithoutPageSize(t *testing.T) {
	t.Parallel()
	l := list{"a", "b", "c", "d"}
	if ids, next := ask(t, l, &vpcv1.ListEipsRequest{}); len(ids) != 4 || next != "" {
		t.Errorf("got %q, then %q", ids, next)
	}
	_, next := ask(t, l, &vpcv1.ListEipsRequest{PageSize: 1})
	if ids, next := ask(t, l, &vpcv1.ListEipsRequest{PageToken: next}); !slices.Equal(ids, []string{"b", "c", "d"}) || next != "" {
		t.Errorf("got %q, then %q", ids, next)
	}
}

// TestTokens: a token belongs to one request, of any age and page size.
func TestTokens(t *testing.T) {
	t.Parallel()
	_, next := ask(t, list{"a", "b"}, &vpcv1.ListEipsRequest{Name: "web", PageSize: 1})
	for _, tt := range []struct {
		name, want string
		r          *vpcv1.ListEipsRequest
	}{
		{name: "the same", r: &vpcv1.ListEipsRequest{Name: "web", PageSize: 5, PageToken: next, MaxAge: durationpb.New(1)}},
		{name: "another filter", r: &vpcv1.ListEipsRequest{Name: "db", PageToken: next}, want: "of another request"},
		{name: "invented", r: &vpcv1.ListEipsRequest{Name: "web", PageToken: "next!"}, want: "is not the next_page_token"},
		{name: "empty", r: &vpcv1.ListEipsRequest{Name: "web", PageToken: "e30"}, want: "is not the next_page_token"},
	} {
		err := Check(tt.r)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestKeys: the keys of items have the order of what they are made of.
func TestKeys(t *testing.T) {
	t.Parallel()
	last := ""
	for _, k := range []*slbv1.ListenerKey{
		{LoadBalancerId: "lb-1", Port: 9}, {LoadBalancerId: "lb-1", Port: 80, Protocol: 1}, {LoadBalancerId: "lb-1", Port: 80, Protocol: 2},
		{LoadBalancerId: "lb-1", Port: 443}, {LoadBalancerId: "lb-10", Port: 1}, {LoadBalancerId: "lb-2", Port: 1},
	} {
		item := (&slbv1.Listener{Key: k}).ProtoReflect()
		next := key(item, identity(item.Descriptor()))
		if next <= last {
			t.Errorf("%v is before the one before", k)
		}
		last = next
	}
}

// TestAllLists: whatever the protocol says has pages has all that they need.
func TestAllLists(t *testing.T) {
	t.Parallel()
	// What one region has of zones, and one load balancer of servers, is in one answer.
	short := map[string]bool{"ListZones": true, "ListAvailableZones": true, "ListServerHealth": true}
	lists := 0
	for _, m := range method.All() {
		in, out := m.Descriptor.Input().Fields(), m.Descriptor.Output()
		paged := out.Fields().ByName("next_page_token") != nil
		if want := strings.HasPrefix(m.Name, "List") && !short[m.Name]; paged != want {
			t.Errorf("%s: has pages: %t, want %t", m.FullName(), paged, want)
		}
		for _, name := range []string{"page_size", "page_token"} {
			if there := in.ByTextName(name) != nil; there != paged {
				t.Errorf("%s: %s in its request: %t, want %t", m.FullName(), name, there, paged)
			}
		}
		if !paged {
			continue
		}
		lists++
		field := items(out)
		if field == nil || field.Message() == nil ||
			!slices.Contains([]protoreflect.Kind{protoreflect.StringKind, protoreflect.MessageKind}, identity(field.Message()).Kind()) {
			t.Errorf("%s: nothing says by what its items are known", m.FullName())
		}
		if in.ByName("max_age") == nil || out.Fields().ByName("as_of") == nil {
			t.Errorf("%s: has pages, and no max_age or as_of", m.FullName())
		}
	}
	if lists == 0 {
		t.Error("no list has pages")
	}
}
