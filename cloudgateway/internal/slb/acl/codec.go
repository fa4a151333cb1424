package acl

import (
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// listAnswer is what answers tell about a list.
type listAnswer struct {
	AclID              string `json:"AclId"`
	AclName            string
	AddressIPVersion   string
	ResourceGroupID    string `json:"ResourceGroupId"`
	ServiceManagedMode string
	Tags               cloud.TagList
}

func (a listAnswer) decode() *slbv1.AccessControlList {
	list := &slbv1.AccessControlList{
		AclId: a.AclID, Name: a.AclName, IpVersion: slbv1.IpVersion_IP_VERSION_IPV4, ResourceGroupId: a.ResourceGroupID,
		Tags: a.Tags.Decode(), ServiceManaged: a.ServiceManagedMode == "Managed",
	}
	if a.AddressIPVersion == slb.IPVersions()[slbv1.IpVersion_IP_VERSION_IPV6] {
		list.IpVersion = slbv1.IpVersion_IP_VERSION_IPV6
	}
	return list
}

// entriesAnswer is the answer to DescribeAccessControlListAttribute.
type entriesAnswer struct {
	listAnswer

	TotalAclEntry int
	AclEntrys     struct {
		AclEntry []struct{ AclEntryIP, AclEntryComment string }
	}
	RelatedListeners struct {
		RelatedListener []struct {
			LoadBalancerID string `json:"LoadBalancerId"`
			ListenerPort   int32
			Protocol       string
			AclType        string
		}
	}
}

func (a entriesAnswer) uses() []*slbv1.AccessControlUse {
	var uses []*slbv1.AccessControlUse
	for _, l := range a.RelatedListeners.RelatedListener {
		uses = append(uses, &slbv1.AccessControlUse{
			Listener: &slbv1.ListenerKey{
				LoadBalancerId: l.LoadBalancerID, Port: l.ListenerPort,
				Protocol: slbv1.Protocol(slbv1.Protocol_value["PROTOCOL_"+strings.ToUpper(l.Protocol)]),
			},
			AclType: l.AclType,
		})
	}
	return uses
}
