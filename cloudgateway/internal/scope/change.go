package scope

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// Kind is a kind of resource as errors, cloud.Kind and the owners of methods in the protocol name it.
type Kind string

// The kinds that are known by name.
const (
	LoadBalancer     Kind = "load balancer"
	NLB              Kind = "network load balancer"
	NLBServerGroup   Kind = "NLB server group"
	Network          Kind = "VPC"
	VSwitch          Kind = "vSwitch"
	EIP              Kind = "EIP"
	Instance         Kind = "instance"
	NetworkInterface Kind = "network interface"
	UserCertificate  Kind = "user certificate"
)

// Resource is one that a request changes.
type Resource struct {
	Kind Kind
	ID   string
}

// String names it in errors.
func (r Resource) String() string { return string(r.Kind) + " " + r.ID }

// change is what a request does, as far as scopes care.
type change struct {
	of            []Resource      // owners of what is changed
	part          bool            // a part of the first of them is
	setTags       []*commonv1.Tag // on the first of them
	removeTagKeys []string
	makes         *made
	passed        bool // it is passed on to the cloud as it is
	unbinds       bool // an EIP is taken off the load balancer whose id is from, or off whatever it is bound to
	from          string
}

// marks reports whether it changes what says whose something is.
func (c change) marks() bool {
	return slices.ContainsFunc(c.setTags, func(t *commonv1.Tag) bool { return owns(t.GetKey()) }) ||
		slices.ContainsFunc(c.removeTagKeys, owns)
}

// made is a resource that a request creates.
type made struct {
	kind             Kind
	tags             []*commonv1.Tag
	vpcID, vswitchID string
}

// changeOf says what a request that writes is about, by the owners that the protocol names. Handlers see to it that the
// load balancer and the VPC that a request names for a part are those of the part.
func changeOf(owners []*commonv1.Owner, request proto.Message) change {
	var c change
	for _, owner := range owners {
		if owner.GetField() == "" {
			c.makes = creation(Kind(owner.GetKind()), request)
			continue
		}
		kind := Kind(owner.GetKind())
		if kind == "" {
			kind = bindable(textAt(request, owner.GetKindField()))
		}
		c.of = append(c.of, Resource{Kind: kind, ID: textAt(request, owner.GetField())})
		c.part = c.part || owner.GetPart()
	}
	if unbind, ok := request.(*vpcv1.UnassociateEipRequest); ok {
		c.unbinds, c.from = true, unbind.GetInstanceId()
	}
	tagging, ok := request.(interface {
		GetSetTags() []*commonv1.Tag
		GetRemoveTagKeys() []string
	})
	if ok && !c.part {
		c.setTags, c.removeTagKeys = tagging.GetSetTags(), tagging.GetRemoveTagKeys()
	}
	return c
}

// creation is what a request makes. Where it may name a vSwitch, that alone decides in which VPC.
func creation(kind Kind, request proto.Message) *made {
	m := &made{kind: kind}
	if tagged, ok := request.(interface{ GetTags() []*commonv1.Tag }); ok {
		m.tags = tagged.GetTags()
	}
	if named, ok := request.(interface{ GetName() string }); ok && kind == UserCertificate { // It shows no tags.
		m.tags = cloud.MarkOf(named.GetName())
	}
	if in, ok := request.(interface{ GetVswitchId() string }); ok {
		m.vswitchID = in.GetVswitchId()
	} else if in, ok := request.(interface{ GetVpcId() string }); ok {
		m.vpcID = in.GetVpcId()
	}
	return m
}

// textAt is the text at a path of fields; "" if there is none.
func textAt(request proto.Message, path string) string {
	m := request.ProtoReflect()
	for {
		name, rest, nested := strings.Cut(path, ".")
		field := m.Descriptor().Fields().ByName(protoreflect.Name(name))
		switch {
		case field == nil:
			return ""
		case !nested:
			return m.Get(field).String()
		}
		m, path = m.Get(field).Message(), rest
	}
}

// bindable is the kind of what an EIP is bound to. Of other kinds nothing can be read.
func bindable(instanceType string) Kind {
	switch instanceType {
	case "EcsInstance":
		return Instance
	case "SlbInstance":
		return LoadBalancer
	case "NetworkInterface":
		return NetworkInterface
	}
	return Kind(instanceType)
}
