package check_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

// TestCommonFields: fields that mean the same in all requests are checked without a word in the request's rule.
func TestCommonFields(t *testing.T) {
	tags := func(keys ...string) (list []*commonv1.Tag) {
		for _, k := range keys {
			list = append(list, &commonv1.Tag{Key: k})
		}
		return list
	}
	many := strings.Split(strings.Repeat("k,", 20)+"k", ",")
	checktest.Run(t, []check.Rule{
		check.Of(func(*check.Request, *vpcv1.ListEipsRequest) {}), check.Of(func(*check.Request, *vpcv1.UpdateEipRequest) {}),
	}, []checktest.Case{
		{Name: "empty", Request: &vpcv1.ListEipsRequest{}},
		{Name: "of the greatest", Request: &vpcv1.ListEipsRequest{
			MaxAge: durationpb.New(0), PageSize: 20_000, Tags: []*commonv1.Tag{{Key: strings.Repeat("k", 64), Value: strings.Repeat("v", 128)}},
		}},
		{Name: "age", Request: &vpcv1.ListEipsRequest{MaxAge: durationpb.New(-time.Nanosecond)}, Want: []string{"max_age: must be a duration of zero or more"}},
		{Name: "age of no form", Request: &vpcv1.ListEipsRequest{MaxAge: &durationpb.Duration{Nanos: 1_000_000_000}}, Want: []string{
			"max_age: must be a duration of zero or more",
		}},
		{Name: "pages", Request: &vpcv1.ListEipsRequest{PageSize: 20_001, PageToken: "x"}, Want: []string{
			"page_size: 20001: must be 0, for all, to 20000", "page_token: is not the next_page_token of an answer",
		}},
		{Name: "pages of less than nothing", Request: &vpcv1.ListEipsRequest{PageSize: -1}, Want: []string{"page_size: -1: must be 0, for all, to 20000"}},
		{Name: "tags", Request: &vpcv1.ListEipsRequest{Tags: []*commonv1.Tag{
			{Key: "a"}, {Key: "a"}, {}, {Key: strings.Repeat("k", 65), Value: strings.Repeat("v", 129)},
		}}, Want: []string{
			`tags[1].key: "a" is there twice`, "tags[2].key: is 0 characters long, must be 1 to 64",
			"tags[3].key: is 65 characters long, must be 1 to 64", "tags[3].value: is 129 characters long, must be 0 to 128",
		}},
		{Name: "twenty keys", Request: &vpcv1.UpdateEipRequest{RemoveTagKeys: many[:20]}},
		{Name: "twenty keys, one of them empty", Request: &vpcv1.UpdateEipRequest{RemoveTagKeys: append([]string{""}, many[:19]...)}, Want: []string{
			"remove_tag_keys: is 0 characters long, must be 1 to 64",
		}},
		{Name: "too many tags", Request: &vpcv1.UpdateEipRequest{SetTags: tags(many...), RemoveTagKeys: many}, Want: []string{
			"set_tags: has 21 items, at most 20 are allowed", "remove_tag_keys: has 21 items, at most 20 are allowed",
		}},
		{Name: "tags both ways", Request: &vpcv1.UpdateEipRequest{
			RequestId: "two words", SetTags: tags("a", "b"), RemoveTagKeys: []string{"b", "", strings.Repeat("k", 65)},
		}, Want: []string{
			"request_id: must be 1 to 64 printable ASCII characters", `remove_tag_keys: "b" is also in set_tags`,
			"remove_tag_keys: is 0 characters long, must be 1 to 64", "remove_tag_keys: is 65 characters long, must be 1 to 64",
		}},
	})
}

// TestValues: what the checks of single values take, and what they say of others.
func TestValues(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	tests := map[string]struct {
		check func(c *check.Request)
		want  []string
	}{
		"longest id":     {check: func(c *check.Request) { c.ID("id", long(128)) }},
		"too long id":    {check: func(c *check.Request) { c.ID("id", long(129)) }, want: []string{`id: "` + long(40) + `…" is not an id of the cloud`}},
		"no id":          {check: func(c *check.Request) { c.OptionalID("id", "") }},
		"odd id":         {check: func(c *check.Request) { c.ID("id", "a,b") }, want: []string{`id: "a,b" is not an id of the cloud`}},
		"text":           {check: func(c *check.Request) { c.Text("t", "éé", 2, 2) }},
		"text, short":    {check: func(c *check.Request) { c.Text("t", "é", 2, 3) }, want: []string{"t: is 1 characters long, must be 2 to 3"}},
		"text, long":     {check: func(c *check.Request) { c.Text("t", "abcd", 2, 3) }, want: []string{"t: is 4 characters long, must be 2 to 3"}},
		"word":           {check: func(c *check.Request) { c.OneOf("w", "a", "a", "b"); c.OneOf("w", "", "a") }},
		"other word":     {check: func(c *check.Request) { c.OneOf("w", "c", "a", "b") }, want: []string{`w: "c" is not one of a, b`}},
		"name":           {check: func(c *check.Request) { c.Name(long(128), 1) }},
		"name, long":     {check: func(c *check.Request) { c.Name(long(129), 1) }, want: []string{"name: is 129 characters long, must be 1 to 128"}},
		"name, link":     {check: func(c *check.Request) { c.Name("http://", 1) }, want: []string{"name: must not begin with http:// or https://"}},
		"description":    {check: func(c *check.Request) { c.Description(long(256), 1) }},
		"description's":  {check: func(c *check.Request) { c.Description("https://x", 1) }, want: []string{"description: must not begin with http:// or https://"}},
		"number":         {check: func(c *check.Request) { c.Number("n", 1, 1, 2); c.Number("n", 2, 1, 2) }},
		"number, low":    {check: func(c *check.Request) { c.Number("n", 0, 1, 2) }, want: []string{"n: 0 is out of range, must be 1 to 2"}},
		"number, high":   {check: func(c *check.Request) { c.Number("n", 3, 1, 2) }, want: []string{"n: 3 is out of range, must be 1 to 2"}},
		"address":        {check: func(c *check.Request) { c.OptionalAddress("a", "fd00::1"); c.OptionalAddress("a", "") }},
		"no address":     {check: func(c *check.Request) { c.OptionalAddress("a", "x") }, want: []string{`a: "x" is not an IP address`}},
		"addresses":      {check: func(c *check.Request) { c.Addresses("a", []string{"10.0.0.1", "x"}) }, want: []string{`a[1]: "x" is not an IP address`}},
		"many addresses": {check: func(c *check.Request) { c.Addresses("a", make([]string, 20_001)) }, want: []string{"a: has 20001 items, at most 20000 are allowed"}},
		"many ids":       {check: func(c *check.Request) { c.IDs("i", make([]string, 20_001)) }, want: []string{"i: has 20001 items, at most 20000 are allowed"}},
		"network":        {check: func(c *check.Request) { c.Network("n", "10.0.0.0/8"); c.Network("n", "fd00::/8") }},
		"network's form": {check: func(c *check.Request) { c.Network("n", "FD00::/8") }, want: []string{`n: "FD00::/8" is not the usual form, write "fd00::/8"`}},
		"ports":          {check: func(c *check.Request) { c.Port("p", 1); c.Port("p", 65535) }},
		"domain":         {check: func(c *check.Request) { c.Domain("d", "*."+long(251)) }},
		"domain, long": {check: func(c *check.Request) { c.Domain("d", "*."+long(252)) }, want: []string{
			`d: "*.` + long(38) + `…" is not of the form "www.example.com" or "*.example.com", with at most 253 characters`,
		}},
		"enum":     {check: func(c *check.Request) { check.Enum(c, "e", slbv1.View(0), slbv1.View_name, false) }},
		"enum 0":   {check: func(c *check.Request) { check.Enum(c, "e", slbv1.View(0), slbv1.View_name, true) }, want: []string{"e: is required"}},
		"enum 99":  {check: func(c *check.Request) { check.Enum(c, "e", slbv1.View(99), slbv1.View_name, true) }, want: []string{"e: 99 is not known to this gateway"}},
		"the same": {check: func(c *check.Request) { c.ID("id", ""); c.ID("id", "") }, want: []string{"id: is required"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var c check.Request
			tt.check(&c)
			checktest.Violations(t, c.Err(), tt.want)
		})
	}
	if got := check.Shorten(long(40)); got != long(40) {
		t.Errorf("a text of 40 bytes becomes %q", got)
	}
	var c check.Request
	if !c.Filters(map[string]string{"a": "x"}) || c.Filters(map[string]string{"a": "", "b": ""}) {
		t.Error("Filters reports the wrong thing")
	}
}

// TestRequestWithoutARule: what nobody thought about is not let in.
func TestRequestWithoutARule(t *testing.T) {
	err := check.NewTable().Check(&slbv1.GetLoadBalancerRequest{})
	if e, ok := rpcerr.From(err); !ok || e.Code != codes.Internal || !strings.Contains(e.Message, "cloudgateway.slb.v1.GetLoadBalancerRequest") {
		t.Errorf("got %v", err)
	}
}

// TestBefore: requests of the gateway's own API are checked, and others are not.
func TestBefore(t *testing.T) {
	refuse := check.NewTable([]check.Rule{check.Of(func(c *check.Request, r *slbv1.GetLoadBalancerRequest) {
		c.ID("load_balancer_id", r.GetLoadBalancerId())
	})})
	for name, tt := range map[string]struct {
		method  string
		request any
		passes  bool
	}{
		"wrong":           {"/cloudgateway.slb.v1.LoadBalancerService/GetLoadBalancer", &slbv1.GetLoadBalancerRequest{}, false},
		"right":           {"/cloudgateway.slb.v1.LoadBalancerService/GetLoadBalancer", &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1"}, true},
		"of another API":  {"/grpc.health.v1.Health/Check", &slbv1.GetLoadBalancerRequest{}, true},
		"without a proto": {"/cloudgateway.slb.v1.LoadBalancerService/GetLoadBalancer", "x", true},
	} {
		t.Run(name, func(t *testing.T) {
			passed := false
			next := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
				passed = true
				return nil, nil
			}
			_, err := refuse.Before(next)(t.Context(), tt.request, &grpc.UnaryServerInfo{FullMethod: tt.method}, nil)
			if passed != tt.passes || (err == nil) != tt.passes {
				t.Errorf("passed: %t, error: %v", passed, err)
			}
		})
	}
}
