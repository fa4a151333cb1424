package slb

import "testing"

// Whatever is created, its tags are checked alike.
func TestTagsOfNewResources(t *testing.T) {
	t.Parallel()
	cert, key := newPair(t)
	creations := map[string]params{
		"CreateLoadBalancer":           {"InstanceChargeType": payByCLCU},
		"CreateVServerGroup":           {"LoadBalancerId": "lb-1"},
		"CreateMasterSlaveServerGroup": {"LoadBalancerId": "lb-1"},
		"CreateAccessControlList":      {"AclName": "n"},
		"UploadServerCertificate":      {"ServerCertificate": cert, "PrivateKey": key},
		"UploadCACertificate":          {"CACertificate": cert},
	}
	for _, protocol := range []string{protoTCP, protoUDP, protoHTTP, protoHTTPS} {
		creations[action("Create", protocol)] = newListener(protocol)
	}
	for name, p := range creations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testCodes(t, name, []codeTest{
				{"20 tags", many(p, "Tag", ".Key", 20), ""},
				{"21 tags", many(p, "Tag", ".Key", 21), "SizeLimitExceeded.Tag"},
				{"no key", p.with("Tag.1.Value", "v"), "MissingParam.TagKey"},
				{"reserved key", p.with("Tag.1.Key", "acs:k"), "InvalidParam.TagKey"},
				{"URL as value", p.with("Tag.1.Key", "k", "Tag.1.Value", "http://x"), "InvalidParam.TagValue"},
				{"key twice", p.with("Tag.1.Key", "k", "Tag.2.Key", "k"), "Duplicate.TagKey"},
			})
		})
	}
}

// Whatever is listed, tags filter it alike.
func TestTagFilters(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]params{
		"DescribeLoadBalancerListeners": {}, "DescribeVServerGroups": {"LoadBalancerId": "lb-1"}, "DescribeAccessControlLists": {},
		"DescribeMasterSlaveServerGroups": {"LoadBalancerId": "lb-1"},
		"DescribeServerCertificates":      {}, "DescribeCACertificates": {}, "ListTagResources": {"ResourceType": "instance"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testCodes(t, name, []codeTest{
				{"20 tags", many(p, "Tag", ".Key", 20), ""},
				{"21 tags", many(p, "Tag", ".Key", 21), "SizeLimitExceeded.Tag"},
				{"no key", p.with("Tag.1.Value", "v"), "MissingParam.TagKey"},
			})
		})
	}
}
