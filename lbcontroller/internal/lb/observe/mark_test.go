package observe

import (
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// TestMarkOn: a thing is a Service's only if it bears both marks, and an incomplete mark is on nothing.
func TestMarkOn(t *testing.T) {
	t.Parallel()
	tags := func(service, cluster string) []*commonv1.Tag {
		return []*commonv1.Tag{{Key: "team", Value: "a"}, {Key: ownership.TagService, Value: service},
			{Key: ownership.TagCluster, Value: cluster}}
	}
	ours := Mark{DefaultName: "a1", ClusterID: "c-1"}
	for name, tt := range map[string]struct {
		mark Mark
		tags []*commonv1.Tag
		want bool
	}{
		"both":                 {ours, tags("a1", "c-1"), true},
		"another Service":      {ours, tags("a2", "c-1"), false},
		"another cluster":      {ours, tags("a1", "c-2"), false},
		"no tags":              {ours, nil, false},
		"one of two":           {ours, tags("a1", "c-1")[:2], false},
		"a mark without name":  {Mark{ClusterID: "c-1"}, tags("", "c-1"), false},
		"a mark of no cluster": {Mark{DefaultName: "a1"}, tags("a1", ""), false},
	} {
		if got := tt.mark.On(tt.tags); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
