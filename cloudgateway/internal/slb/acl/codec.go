package acl

import (
	"cmp"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// decode reads what answers say about a list, entries and uses aside.
func decode(item []byte) (*slbv1.AccessControlList, error) {
	list := &slbv1.AccessControlList{}
	return list, cloud.Decode(item, fields(list))
}

func fields(list *slbv1.AccessControlList) cloud.Fields {
	list.IpVersion = family("")
	return cloud.Fields{
		"AclId":              &list.AclId,
		"AclName":            &list.Name,
		"AddressIPVersion":   cloud.Via(&list.IpVersion, family),
		"ResourceGroupId":    &list.ResourceGroupId,
		"ServiceManagedMode": cloud.Via(&list.ServiceManaged, slb.Is("Managed")),
		"Tags":               cloud.TagsInto(&list.Tags),
	}
}

// family is IPv4 unless the cloud says otherwise.
func family(word string) slbv1.IpVersion {
	return cmp.Or(cloud.Named[slbv1.IpVersion](word), slbv1.IpVersion_IP_VERSION_IPV4)
}

func decodeEntry(item []byte) (*slbv1.AccessControlEntry, error) {
	e := &slbv1.AccessControlEntry{}
	return e, cloud.Decode(item, cloud.Fields{"AclEntryIP": &e.Cidr, "AclEntryComment": &e.Comment})
}

func decodeUse(item []byte) (*slbv1.AccessControlUse, error) {
	key := &slbv1.ListenerKey{}
	use := &slbv1.AccessControlUse{Listener: key}
	return use, cloud.Decode(item, cloud.Fields{
		"LoadBalancerId": &key.LoadBalancerId, "ListenerPort": &key.Port, "Protocol": cloud.Via(&key.Protocol, cloud.Named),
		"AclType": &use.AclType,
	})
}
