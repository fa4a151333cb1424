package nlb

import (
	"strings"
	"testing"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// TestWrongGroups: an NLB has security groups of its VPC and of one type, those that it is to lose among them. A group is
// written as its id, VPC and type.
func TestWrongGroups(t *testing.T) {
	t.Parallel()
	groups := func(texts ...string) (list []*ecsv1.SecurityGroup) {
		for _, text := range texts {
			parts := strings.Fields(text)
			g := &ecsv1.SecurityGroup{SecurityGroupId: parts[0], VpcId: parts[1], Type: typeOfOurs}
			if parts[2] == "basic" {
				g.Type = ecsv1.SecurityGroupType_SECURITY_GROUP_TYPE_NORMAL
			}
			list = append(list, g)
		}
		return list
	}
	const oneType = "the cloud lets an NLB have security groups of one type only, and "
	for name, test := range map[string]struct {
		ids           []string
		there, coming []*ecsv1.SecurityGroup
		want          string
	}{
		"fits":                    {ids: []string{"a", "b"}, coming: groups("a v basic", "b v basic")},
		"fits what is there":      {ids: []string{"b"}, there: groups("a v basic"), coming: groups("b v basic")},
		"two types, which it has": {ids: []string{"a"}, there: groups("a v basic", "b v advanced")},
		"missing": {ids: []string{"a", "b"}, coming: groups("a v basic"),
			want: "there is no security group b; name groups of VPC v"},
		"another VPC": {ids: []string{"a"}, coming: groups("a w basic"),
			want: "security group a is in VPC w and the NLB in v; name groups of that VPC"},
		"two types": {ids: []string{"a", "b"}, coming: groups("a v basic", "b v advanced"),
			want: oneType + "security group a is of type basic (normal) and b of type advanced (enterprise); " +
				"name groups of one type"},
		"another type than before": {ids: []string{"b"}, there: groups("a v basic"), coming: groups("b v advanced"),
			want: oneType + "security group b is of type advanced (enterprise) and a of type basic (normal); " +
				"name groups of type basic (normal)"},
		"ours beside a user's": {ids: []string{"a", model.ComingList}, there: groups("a v basic"),
			coming: groups(model.ComingList + " v advanced"),
			want: oneType + "the one for it is of type advanced (enterprise) and a of type basic (normal); " +
				"name groups of type basic (normal)"},
	} {
		if got := wrongGroups(test.ids, test.there, test.coming, &nlbv1.LoadBalancer{VpcId: "v"}); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
