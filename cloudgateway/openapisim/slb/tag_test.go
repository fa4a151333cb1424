package slb

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// many returns Name.1 to Name.n with a suffix.
func many(p params, name, suffix string, n int) params {
	for i := range n {
		p = p.with(fmt.Sprintf("%s.%d%s", name, i+1, suffix), fmt.Sprintf("v%d", i))
	}
	return p
}

func TestTagResources(t *testing.T) {
	t.Parallel()
	key := params{"ResourceType": "instance", "ResourceId.1": "lb-1"}
	tag := key.with("Tag.1.Key", "k", "Tag.1.Value", "v")
	testCodes(t, "TagResources", []codeTest{
		{"load balancer", tag, ""},
		{"listener", tag.with("ResourceType", "listener", "ResourceId.1", "lb-1_tcp_80"), ""},
		{"group", tag.with("ResourceType", "vservergroup", "ResourceId.1", "rsp-1"), ""},
		{"certificate", tag.with("ResourceType", "certificate", "ResourceId.1", "cert-1"), ""},
		{"acl", tag.with("ResourceType", "acl", "ResourceId.1", "acl-1"), ""},
		{"unknown load balancer", tag.with("ResourceId.1", "lb-x"), "ResourceNotExist"},
		{"unknown listener", tag.with("ResourceType", "listener", "ResourceId.1", "lb-1_tcp_81"), "ResourceNotExist"},
		{"one of two unknown", tag.with("ResourceId.2", "lb-x"), "ResourceNotExist"},
		{"master and slave group", tag.with("ResourceType", "masterslaveservergroup"), "ResourceNotExist"},
		{"no resource", tag.with("ResourceId.1", ""), "MissingParam.ResourceId"},
		{"no tag", key, "MissingParam.TagKey"},
		{"21 resources", many(tag, "ResourceId", "", 21), "SizeLimitExceeded.ResourceId"},
		{"21 tags", many(key, "Tag", ".Key", 21), "SizeLimitExceeded.Tag"},
		{"20 more than one", many(key, "Tag", ".Key", 20), "QuotaLimitExceeds"},
		{"key twice", tag.with("Tag.2.Key", "k"), "Duplicate.TagKey"},
		{"URL as value", tag.with("Tag.1.Value", "http://x"), "InvalidParam.TagValue"},
		{"resource type", tag.with("ResourceType", "x"), "InvalidParam.ResourceType"},
		{"reserved key", key.with("Tag.1.Key", "Aliyun-x"), "InvalidParam.TagKey"},
		{"the existing CCM's key", key.with("Tag.1.Key", "ack.aliyun.com"), ""},
	})
	testCodes(t, "UntagResources", []codeTest{
		{"ok", key.with("TagKey.1", "owner"), ""},
		{"all", key.with("All", "true"), ""},
		{"no key", key, "MissingParam.TagKey"},
		{"key twice", key.with("TagKey.1", "owner", "TagKey.2", "owner"), "Duplicate.TagKey"},
		{"reserved key", key.with("TagKey.1", "acs:k"), "InvalidParam.TagKey"},
		{"resource type", key.with("ResourceType", "x", "TagKey.1", "owner"), "InvalidParam.ResourceType"},
		{"21 keys", many(key, "TagKey", "", 21), "SizeLimitExceeded.TagKey"},
		{"21 resources", many(key.with("TagKey.1", "owner"), "ResourceId", "", 21), "SizeLimitExceeded.ResourceId"},
		{"unknown load balancer", key.with("ResourceId.1", "lb-x", "TagKey.1", "k"), "ResourceNotExist"},
		{"no resource", params{"ResourceType": "instance", "TagKey.1": "k"}, "MissingParam.ResourceId"},
	})
	testCodes(t, "ListTagResources", []codeTest{
		{"one resource of two unknown", key.with("ResourceId.2", "lb-x"), "ResourceNotExist"},
		{"resource type", key.with("ResourceType", "x"), "InvalidParam.ResourceType"},
		{"neither tag nor resource", params{"ResourceType": "instance"}, "MissingParam.TagOrResourceId"},
		{"21 resources", many(key, "ResourceId", "", 21), "SizeLimitExceeded.ResourceId"},
		{"token", key.with("NextToken", "x"), "InvalidParam.NextToken"},
	})
}

func TestTagsOverwriteAndGo(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	key := params{"ResourceType": "instance", "ResourceId.1": "lb-1"}
	tags := func() []string {
		list := c.call("ListTagResources", key)
		values := list.texts("TagResources.TagResource", "TagValue")
		for i, k := range list.texts("TagResources.TagResource", "TagKey") {
			values[i] = k + "=" + values[i]
		}
		return values
	}
	c.call("TagResources", key.with("Tag.1.Key", "owner", "Tag.1.Value", "two", "Tag.2.Key", "k", "Tag.2.Value", "v"))
	if diff := cmp.Diff([]string{"k=v", "owner=two"}, tags()); diff != "" {
		t.Errorf("after tagging (-want +got):\n%s", diff)
	}
	c.call("UntagResources", key.with("TagKey.1", "owner", "TagKey.2", "unknown"))
	if diff := cmp.Diff([]string{"k=v"}, tags()); diff != "" {
		t.Errorf("after untagging (-want +got):\n%s", diff)
	}
	c.call("UntagResources", key.with("All", "true"))
	if diff := cmp.Diff([]string{}, tags()); diff != "" {
		t.Errorf("after untagging all (-want +got):\n%s", diff)
	}
}

func TestListTagResources(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for kind, id := range map[string]string{"listener": "lb-1_udp_53", "vservergroup": "rsp-1", "certificate": "ca-1", "acl": "acl-6"} {
		c.call("TagResources", params{"ResourceType": kind, "ResourceId.1": id, "Tag.1.Key": "k", "Tag.1.Value": "v"})
		got := c.call("ListTagResources", params{"ResourceType": kind, "Tag.1.Key": "k"}).texts("TagResources.TagResource", "ResourceId")
		if diff := cmp.Diff([]string{id}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	for i := range 3 {
		id := c.call("CreateLoadBalancer", params{"InstanceChargeType": payByCLCU}).text("LoadBalancerId")
		c.call("TagResources", many(params{"ResourceType": "instance", "ResourceId.1": id, "Tag.20.Key": "all",
			"Tag.20.Value": fmt.Sprint(i)}, "Tag", ".Key", 19))
	}
	p := params{"ResourceType": "instance", "Tag.1.Key": "all"}
	first := c.call("ListTagResources", p)
	second := c.call("ListTagResources", p.with("NextToken", first.text("NextToken")))
	if n, m := len(first.list("TagResources.TagResource")), len(second.list("TagResources.TagResource")); n != 50 ||
		m != 10 || second.text("NextToken") != "" {
		t.Errorf("pages have %d and %d tags, want 50 and 10", n, m)
	}
}

func TestLegacyTags(t *testing.T) {
	t.Parallel()
	key := params{"LoadBalancerId": "lb-1"}
	six := `[{"TagKey":"1"},{"TagKey":"2"},{"TagKey":"3"},{"TagKey":"4"},{"TagKey":"5"},{"TagKey":"6"}]`
	testCodes(t, "AddTags", []codeTest{
		{"ok", key.with("Tags", `[{"TagKey":"k","TagValue":"v"}]`), ""},
		{"no JSON", key.with("Tags", "x"), "InvalidParameter.TagKey"},
		{"none", key, "MissingParameter.Tags"},
		{"an empty list", key.with("Tags", "[]"), "MissingParameter.Tags"},
		{"six", key.with("Tags", six), "QuotaExceeded.Tag"},
		{"key twice", key.with("Tags", `[{"TagKey":"k"},{"TagKey":"k"}]`), "Duplicate.TagKey"},
		{"reserved key", key.with("Tags", `[{"TagKey":"acs:k"}]`), "InvalidParameter.TagKey"},
		{"URL as value", key.with("Tags", `[{"TagKey":"k","TagValue":"https://x"}]`), "InvalidParameter.TagValue"},
		{"unknown load balancer", params{"LoadBalancerId": "lb-x", "Tags": "[]"}, "InvalidLoadBalancerId.NotFound"},
	})
	testCodes(t, "RemoveTags", []codeTest{
		{"ok", key.with("Tags", `[{"TagKey":"owner","TagValue":"one"}]`), ""},
		{"none", key, "MissingParameter.Tags"},
		{"no JSON", key.with("Tags", "x"), "InvalidParameter.TagKey"},
		{"six", key.with("Tags", six), "QuotaExceeded.Tag"},
		{"unknown load balancer", params{"LoadBalancerId": "lb-x", "Tags": "[]"}, "InvalidLoadBalancerId.NotFound"},
	})
	testCodes(t, "DescribeTags", []codeTest{{"no JSON", params{"Tags": "x"}, "InvalidParameter.TagKey"}})
	t.Run("added, counted, removed", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		c.call("AddTags", key.with("Tags", `[{"TagKey":"k","TagValue":"v"}]`))
		c.call("AddTags", params{"LoadBalancerId": "lb-vpc", "Tags": `[{"TagKey":"k","TagValue":"v"},{"TagKey":"owner","TagValue":"two"}]`})
		sets := func(p params) []string {
			got := c.call("DescribeTags", p)
			out := got.texts("TagSets.TagSet", "TagKey")
			for i := range out {
				o := answer(got.list("TagSets.TagSet")[i].(map[string]any))
				out[i] = fmt.Sprintf("%s=%s %v", out[i], o["TagValue"], o["InstanceCount"])
			}
			return out
		}
		for name, tt := range map[string]struct {
			params params
			want   []string
		}{
			"all":          {params{}, []string{"k=v 2", "owner=one 1", "owner=two 1"}},
			"of one":       {key, []string{"k=v 1", "owner=one 1"}},
			"by key":       {params{"Tags": `[{"TagKey":"owner"}]`}, []string{"owner=one 1", "owner=two 1"}},
			"keys only":    {params{"DistinctKey": "true"}, []string{"k= 2", "owner= 2"}},
			"second page":  {params{"PageNumber": "2", "PageSize": "2"}, []string{"owner=two 1"}},
			"by other tag": {params{"Tags": `[{"TagKey":"k","TagValue":"x"}]`}, []string{}},
		} {
			if diff := cmp.Diff(tt.want, sets(tt.params)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		c.call("RemoveTags", key.with("Tags", `[{"TagKey":"k","TagValue":"other"},{"TagKey":"owner"}]`))
		if diff := cmp.Diff([]string{"k=v 1"}, sets(key)); diff != "" {
			t.Errorf("after the removal (-want +got):\n%s", diff)
		}
	})
	t.Run("ten per load balancer", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		for i := range 9 {
			c.call("AddTags", key.with("Tags", fmt.Sprintf(`[{"TagKey":"k%d"}]`, i)))
		}
		if got := c.code("AddTags", key.with("Tags", `[{"TagKey":"k"}]`)); got != "QuotaExceed.TagsPerResource" {
			t.Errorf("got code %q, want QuotaExceed.TagsPerResource", got)
		}
	})
}
