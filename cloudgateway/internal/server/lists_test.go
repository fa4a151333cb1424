package server

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"alicloud-controllers.dev/proto/method"

	"alicloud-controllers.dev/cloudgateway/internal/page"
)

// lists are all methods that list something of the cloud, by name.
func lists() map[string]method.Method {
	all := map[string]method.Method{}
	for _, m := range method.All() {
		if strings.HasPrefix(m.Name, "List") && !strings.HasPrefix(m.Service, "common.") {
			all[m.Service+"/"+m.Name] = m
		}
	}
	return all
}

// partsOf are the lists of parts, with the field that says of what: an id, and no filter.
func partsOf() map[string]string {
	return map[string]string{
		"slb.v1.ListenerService/ListListeners":               "load_balancer_ids",
		"slb.v1.ServerGroupService/ListServerGroups":         "load_balancer_id",
		"slb.v1.ServerHealthService/ListServerHealth":        "load_balancer_id",
		"slb.v1.ForwardingRuleService/ListForwardingRules":   "key",
		"slb.v1.DomainExtensionService/ListDomainExtensions": "key",
		"nlb.v1.ListenerService/ListServerHealth":            "listener_id",
		"nlb.v1.ListenerService/ListListenerCertificates":    "listener_id",
		"vpc.v1.RouteService/ListRouteTables":                "vpc_id",
		"vpc.v1.RouteService/ListRouteEntries":               "route_table_id",
	}
}

// TestListsWithoutFilters: a list without a filter has all that one with a filter has. Only lists of parts want to know of
// what.
func TestListsWithoutFilters(t *testing.T) {
	w := worldOfPages(t)
	ask := func(m method.Method, request proto.Message) (map[string]bool, error) {
		answer := dynamicpb.NewMessage(m.Descriptor.Output())
		if err := w.conn.Invoke(t.Context(), m.FullName(), request, answer); err != nil {
			return nil, err
		}
		items, list := map[string]bool{}, answer.Get(m.Descriptor.Output().Fields().Get(0)).List()
		for i := range list.Len() {
			items[fmt.Sprint(list.Get(i).Interface())] = true
		}
		return items, nil
	}
	for name, m := range lists() {
		got, err := ask(m, dynamicpb.NewMessage(m.Descriptor.Input()))
		if of, part := partsOf()[name]; part {
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), of) {
				t.Errorf("%s is a list of parts, and without %s it gives %v", name, of, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s insists on a filter: %v", name, err)
			continue
		}
		filtered, known := listed()[name]
		if !known {
			continue // It has no pages, and a table of its own.
		}
		want, err := ask(m, filtered[0])
		if err != nil || len(want) < many {
			t.Fatalf("%s with a filter gives %d items, %v", name, len(want), err)
		}
		for item := range want {
			if !got[item] {
				t.Errorf("%s without a filter lacks %s", name, item)
			}
		}
	}
	for name := range partsOf() {
		if _, there := lists()[name]; !there {
			t.Errorf("%s is no list", name)
		}
	}
}

// TestGreatestPages: whatever page_size a client asks for, no list gives it more than the greatest page. Those without
// pages are short by what they are about.
func TestGreatestPages(t *testing.T) {
	t.Parallel()
	short := map[string]string{
		"slb.v1.LoadBalancerService/ListAvailableZones": "zones of a region",
		"nlb.v1.LoadBalancerService/ListZones":          "zones of a region",
		"slb.v1.ServerHealthService/ListServerHealth":   "servers of a load balancer",
		"nlb.v1.ListenerService/ListServerHealth":       "servers of a listener",
	}
	all := Intercept(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		return next(ctx, request)
	})
	for name, m := range lists() {
		size := m.Descriptor.Input().Fields().ByName("page_size")
		if why := short[name]; (size == nil) != (why != "") {
			t.Errorf("%s has pages: %t, and is as long as the %q", name, size != nil, why)
		}
		if size == nil {
			continue
		}
		for _, asked := range []int32{page.Most, page.Most + 1, 20_000} {
			request := proto.Clone(listed()[name][0])
			request.ProtoReflect().Set(size, protoreflect.ValueOfInt32(asked))
			answer, err := all(t.Context(), request, &grpc.UnaryServerInfo{FullMethod: m.FullName()}, func(context.Context, any) (any, error) {
				return longList(listed()[name][1], page.Most+1), nil
			})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			a := answer.(proto.Message).ProtoReflect()
			got, next := a.Get(a.Descriptor().Fields().Get(0)).List().Len(), a.Get(a.Descriptor().Fields().ByName("next_page_token")).String()
			if got != page.Most || next == "" {
				t.Errorf("%s: a page_size of %d gives %d items, and then %q", name, asked, got, next)
			}
		}
	}
}

// longList is an answer with so many items.
func longList(answer proto.Message, items int) proto.Message {
	long := answer.ProtoReflect().New()
	list := long.Mutable(long.Descriptor().Fields().Get(0)).List()
	for range items {
		list.AppendMutable()
	}
	return long.Interface()
}
