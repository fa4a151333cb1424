package rpcerr

import (
	"strings"

	"google.golang.org/grpc/codes"
)

// Domain is the ErrorInfo.domain of every status this package makes. A status of another domain has no Reason here.
const Domain = "cloudgateway.alibabacloud.com"

// Reason says what went wrong, as ErrorInfo.reason. Names are only ever added: controllers of an older version branch on them.
type Reason string

// Reasons about the cloud's limits and its momentary state.
const (
	// Throttled: too many calls, of ours or of the account. Comes with RetryAfter.
	Throttled Reason = "THROTTLED"
	// QuotaExceeded: a quota of the account is used up; waiting alone does not help.
	QuotaExceeded Reason = "QUOTA_EXCEEDED"
	// ServerLimit: a vServer group or an instance holds as many servers as it may.
	ServerLimit Reason = "SERVER_LIMIT"
	// ResourceBusy: another change of the same resource is under way.
	ResourceBusy Reason = "RESOURCE_BUSY"
	// InvalidState: the resource is in a state that does not allow the call.
	InvalidState Reason = "INVALID_STATE"
	// NotActive: the replica that answers is on standby and has sent nothing to the cloud; another one is active, or will be.
	NotActive Reason = "NOT_ACTIVE"
	// CloudUnavailable: the cloud answered with a server error or could not be reached.
	CloudUnavailable Reason = "CLOUD_UNAVAILABLE"
	// OutcomeUnknown: a change was sent and its answer lost; the state has to be read before anything else is tried.
	OutcomeUnknown Reason = "OUTCOME_UNKNOWN"
	// CloudBilling: the account owes money or may not buy.
	CloudBilling Reason = "CLOUD_BILLING"
	// JobFailed: the cloud has accepted a change, and the job that carries it out has failed.
	JobFailed Reason = "JOB_FAILED"
	// NoFreeAddress: the vSwitch has no free address.
	NoFreeAddress Reason = "NO_FREE_ADDRESS"
)

// Reasons about what the caller asked for and who it is.
const (
	// InvalidField: an argument is wrong; Fields says which.
	InvalidField Reason = "INVALID_FIELD"
	// IdempotencyMismatch: the request_id was used before with other content.
	IdempotencyMismatch Reason = "IDEMPOTENCY_MISMATCH"
	// CallerUnauthenticated: the caller's token is missing or not accepted.
	CallerUnauthenticated Reason = "CALLER_UNAUTHENTICATED"
	// CallerForbidden: the caller's RBAC does not allow the call.
	CallerForbidden Reason = "CALLER_FORBIDDEN"
	// CloudForbidden: the gateway's RAM policy does not allow the call.
	CloudForbidden Reason = "CLOUD_FORBIDDEN"
	// CloudCredentials: the gateway's cloud credentials are missing, wrong or expired.
	CloudCredentials Reason = "CLOUD_CREDENTIALS" //nolint:gosec // A name, not a credential.
	// Internal: a defect of the gateway.
	Internal Reason = "INTERNAL"
)

// Reasons about existing resources that stand in the way.
const (
	// AlreadyExists: something of that identity exists.
	AlreadyExists Reason = "ALREADY_EXISTS"
	// ListenerExists: the port of the instance is taken.
	ListenerExists Reason = "LISTENER_EXISTS"
	// ListenerInUse: an HTTP listener redirects to the listener.
	ListenerInUse Reason = "LISTENER_IN_USE"
	// ServerGroupInUse: a listener or rule uses the vServer group.
	ServerGroupInUse Reason = "SERVER_GROUP_IN_USE"
	// DomainExtensionInUse: a forwarding rule of the listener has the domain.
	DomainExtensionInUse Reason = "DOMAIN_EXTENSION_IN_USE"
	// AclInUse: a listener uses the access control list.
	AclInUse Reason = "ACL_IN_USE"
	// CertificateInUse: a listener uses the certificate.
	CertificateInUse Reason = "CERTIFICATE_IN_USE"
	// DeleteProtected: delete protection of the instance is on.
	DeleteProtected Reason = "DELETE_PROTECTED"
	// ResourceInUse: something else has or uses the resource of the VPC, or the security group.
	ResourceInUse Reason = "RESOURCE_IN_USE"
	// RouteConflict: the table has another entry for the destination.
	RouteConflict Reason = "ROUTE_CONFLICT"
	// NetworkConflict: a server is in another VPC than its load balancer. Repeating does not help.
	NetworkConflict Reason = "NETWORK_CONFLICT"
)

// Reasons why it is not certain that an instance is gone.
const (
	// RegionMismatch: the gateway works in another region than the caller expects.
	RegionMismatch Reason = "REGION_MISMATCH"
	// NothingFound: the answer has none of the instances that are known to be there, as with wrong credentials.
	NothingFound Reason = "NOTHING_FOUND"
	// PartialAnswer: the answer lacks too many of the instances that are known to be there.
	PartialAnswer Reason = "PARTIAL_ANSWER"
	// AbsenceContradicted: the list of network interfaces has those of the instance, or none of instances that are there.
	AbsenceContradicted Reason = "ABSENCE_CONTRADICTED"
)

// Reasons of code NOT_FOUND.
const (
	// NotFoundReason: a resource without a more exact reason below.
	NotFoundReason Reason = "NOT_FOUND"
	// LoadBalancerNotFound: no such CLB instance.
	LoadBalancerNotFound Reason = "LOAD_BALANCER_NOT_FOUND"
	// ListenerNotFound: no listener on that port.
	ListenerNotFound Reason = "LISTENER_NOT_FOUND"
	// ForwardingRuleNotFound: no such forwarding rule.
	ForwardingRuleNotFound Reason = "FORWARDING_RULE_NOT_FOUND"
	// DomainExtensionNotFound: no such domain extension.
	DomainExtensionNotFound Reason = "DOMAIN_EXTENSION_NOT_FOUND"
	// ServerGroupNotFound: no such vServer group.
	ServerGroupNotFound Reason = "SERVER_GROUP_NOT_FOUND"
	// ServerNotFound: a server to add does not exist, or one to change is not in the group.
	ServerNotFound Reason = "SERVER_NOT_FOUND"
	// InstanceNotFound: a complete answer of the cloud lacks the ECS instance.
	InstanceNotFound Reason = "INSTANCE_NOT_FOUND"
	// NetworkInterfaceNotFound: a complete answer of the cloud lacks the network interface.
	NetworkInterfaceNotFound Reason = "NETWORK_INTERFACE_NOT_FOUND"
	// SecurityGroupNotFound: no such security group.
	SecurityGroupNotFound Reason = "SECURITY_GROUP_NOT_FOUND"
	// VpcNotFound: no such VPC.
	VpcNotFound Reason = "VPC_NOT_FOUND"
	// RouteTableNotFound: no such route table.
	RouteTableNotFound Reason = "ROUTE_TABLE_NOT_FOUND"
	// RouteNotFound: no such route entry.
	RouteNotFound Reason = "ROUTE_NOT_FOUND"
	// VSwitchNotFound: no such vSwitch.
	VSwitchNotFound Reason = "VSWITCH_NOT_FOUND"
	// EipNotFound: no such EIP.
	EipNotFound Reason = "EIP_NOT_FOUND"
	// CertificateNotFound: no such server or CA certificate.
	CertificateNotFound Reason = "CERTIFICATE_NOT_FOUND"
	// AclNotFound: no such access control list.
	AclNotFound Reason = "ACL_NOT_FOUND"
)

// Code is that of the calls that fail for the reason.
func (r Reason) Code() codes.Code {
	switch r {
	case Throttled, QuotaExceeded, ServerLimit, NoFreeAddress:
		return codes.ResourceExhausted
	case ResourceBusy:
		return codes.Aborted
	case CloudUnavailable, NotActive:
		return codes.Unavailable
	case OutcomeUnknown:
		return codes.Unknown
	case InvalidField, IdempotencyMismatch:
		return codes.InvalidArgument
	case CallerUnauthenticated:
		return codes.Unauthenticated
	case CallerForbidden:
		return codes.PermissionDenied
	case Internal:
		return codes.Internal
	case AlreadyExists, ListenerExists, RouteConflict:
		return codes.AlreadyExists
	default: // Something is in a state that stands in the way, or it is not there.
		if strings.HasSuffix(string(r), string(NotFoundReason)) {
			return codes.NotFound
		}
		return codes.FailedPrecondition
	}
}
