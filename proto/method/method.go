// Package method knows what each method of the gateway's API needs and does, as its protocol says (cloudgateway/common/v1/options.proto).
package method

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
)

// Method is one RPC.
type Method struct {
	// Service is the name of its service, e.g. "slb.v1.LoadBalancerService", and Name its own, e.g. "GetLoadBalancer".
	Service, Name string
	// Descriptor is the method in the protocol.
	Descriptor protoreflect.MethodDescriptor
	// Options are what the protocol says of the method. Every method has all of them.
	Options *commonv1.MethodOptions
}

// prefix begins the names of the API's packages.
const prefix = "cloudgateway."

// FullName is the method's name in gRPC, e.g. "/cloudgateway.slb.v1.LoadBalancerService/GetLoadBalancer".
func (m Method) FullName() string { return "/" + prefix + m.Service + "/" + m.Name }

// Verb is what a caller must be allowed to do, e.g. "get".
func (m Method) Verb() string { return word(m.Options.GetVerb().String(), "VERB_") }

// Priority is the name of the highest priority, e.g. "user".
func (m Method) Priority() string { return PriorityName(m.Options.GetPriority()) }

// Timeout is the longest that a call takes.
func (m Method) Timeout() time.Duration { return m.Options.GetTimeout().AsDuration() }

// Reads reports whether the method changes nothing.
func (m Method) Reads() bool {
	return m.Options.GetIdempotency() == commonv1.Idempotency_IDEMPOTENCY_READ
}

// PriorityName is the name of a priority in configurations, call metadata and metrics, e.g. "user".
func PriorityName(p commonv1.Priority) string { return word(p.String(), "PRIORITY_") }

// PriorityNamed finds a priority by its name.
func PriorityNamed(name string) (p commonv1.Priority, known bool) {
	p = commonv1.Priority(commonv1.Priority_value["PRIORITY_"+strings.ToUpper(name)])
	return p, p != commonv1.Priority_PRIORITY_UNSPECIFIED && PriorityName(p) == name
}

func word(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }

// packages are those of the API, each by one of its files.
func packages() []protoreflect.FullName {
	return []protoreflect.FullName{
		commonv1.File_cloudgateway_common_v1_common_proto.Package(), ecsv1.File_cloudgateway_ecs_v1_instance_proto.Package(),
		slbv1.File_cloudgateway_slb_v1_load_balancer_proto.Package(), nlbv1.File_cloudgateway_nlb_v1_load_balancer_proto.Package(),
		vpcv1.File_cloudgateway_vpc_v1_route_proto.Package(), casv1.File_cloudgateway_cas_v1_certificate_proto.Package(),
	}
}

// All are the methods of all services, in the order of their full names.
func All() []Method {
	var all []Method
	for _, name := range packages() {
		protoregistry.GlobalFiles.RangeFilesByPackage(name, func(file protoreflect.FileDescriptor) bool {
			for i := range file.Services().Len() {
				all = append(all, of(file.Services().Get(i))...)
			}
			return true
		})
	}
	slices.SortFunc(all, func(a, b Method) int {
		return cmp.Or(strings.Compare(a.Service, b.Service), strings.Compare(a.Name, b.Name))
	})
	return all
}

// of are the methods of one service.
func of(service protoreflect.ServiceDescriptor) []Method {
	var all []Method
	for i := range service.Methods().Len() {
		descriptor := service.Methods().Get(i)
		options, _ := proto.GetExtension(descriptor.Options(), commonv1.E_Method).(*commonv1.MethodOptions)
		all = append(all, Method{
			Service: strings.TrimPrefix(string(service.FullName()), prefix), Name: string(descriptor.Name()),
			Descriptor: descriptor, Options: options,
		})
	}
	return all
}

// ToolServices are the services that offer other programs more than the controllers use, in order.
func ToolServices() []string {
	var services []string
	for _, m := range All() {
		options, _ := proto.GetExtension(m.Descriptor.Parent().Options(), commonv1.E_Service).(*commonv1.ServiceOptions)
		if options.GetForTools() {
			services = append(services, m.Service)
		}
	}
	return slices.Compact(services)
}
