package catalogue

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"
)

// The products of the table, as in Answer.Product.
const (
	slb = "slb"
	vpc = "vpc"
	ecs = "ecs"
	nlb = "nlb"
	cas = "cas"
)

// rule is one row: some codes that mean the same.
type rule struct {
	products string        // separated by spaces; empty: all
	codes    string        // separated by spaces; a trailing * stands for any ending
	message  string        // text the message must contain; empty: any message
	class    Class         //
	reason   rpcerr.Reason // empty: the reason of the class
	retry    time.Duration // zero: the hint of the class
	renew    bool
	note     string // for the reference page
}

// rules is the table. The order is for readers: the most exact row wins, wherever it stands.
func rules() []rule {
	const (
		soon     = 2 * time.Second
		slowly   = 30 * time.Second
		released = time.Second // until the cloud releases a group whose listener is gone
	)
	return []rule{
		// Rate limits. The cloud answers most of them with HTTP 400.
		{class: Throttle, codes: "Throttling Throttling.User Throttling.Api Throttling.*"},
		{class: Throttle,
			codes: "Rejected.Throttling InnerRateLimiting FlowControlError EipOperation.TooFrequently FrequentPurchase.EIP TooManyRequests"},

		// Failures of the cloud itself.
		{class: Server, codes: "ServiceUnavailable InternalError UnknownError InternalInvokeError"},
		{class: Server, codes: "ServiceUnavailable.RegionMaintaining", retry: slowly},
		{class: Server, products: slb, codes: "LocationServiceTimeout"},
		{class: Server, codes: "SignatureNonceUsed", note: "an earlier copy of the request reached the cloud"},

		// Busy resources.
		{class: Conflict, codes: "SystemBusy System.ServiceBusy OperationFailed.SystemBusy"},
		{class: Conflict, products: slb,
			codes: "OperationBusy ServiceIsConfiguring ServiceIsStopping BackendServer.configuring BackendServerProcessing VServerGroupProcessing " +
				"OperationFailed.ServiceGroupProcessing ListenerProcessing AclEntryProcessing ResourceInConfiguring.Acl DomainExtensionProcessing " +
				"IncorrectStatus.DomainExtension TLSPolicyConfiguring ProcessingSameRequest VpcSystemBusy InvalidOperation.ConcurrentModification"},
		{class: Conflict, products: slb, codes: "OperationFailed.ListenerStatusNotSupport Operation.Deny", note: "the listener is not settled"},
		{class: Conflict, products: slb, codes: "IncorrectListenerAccessControlStatusStatus"},
		{class: Conflict, products: slb, codes: "LbStatusNotSupport", retry: slowly, note: "the load balancer is locked or not active yet"},
		{class: Conflict, products: slb, codes: "OperationFailed.TokenIsProcessing LX_REQUEST_TOKEN_CONFLICT", retry: soon,
			note: "repeat with the same request_id"},
		{class: Conflict, products: vpc, codes: "TaskConflict VPC_TASK_CONFLICT", retry: soon},
		{class: Conflict, codes: "OperationConflict"},
		{class: Conflict, products: vpc, codes: "IncorrectRouteEntryStatus IncorrcetRouteEntryStatus VPC_ROUTE_ENTRY_STATUS_ERROR", retry: soon},
		{class: Conflict,
			codes: "IncorrectVpcStatus IncorrectVSwitchStatus IncorrectHaVipStatus IncorrectInstanceStatus IncorrectStatus " +
				"IncorrectStatus.* InvalidVBRStatus " +
				"IncorrectRouteTableStatus IncorrectEipStatus InvalidBindingStatus"},
		{class: Conflict, products: vpc,
			codes: "InvalidStatus.EcsStatusNotSupport InvalidStatus.EniStatusNotSupport TOKEN_PROCESSING OrderFailed.ConcurrentOperate"},
		{class: Conflict, products: vpc, codes: "InvalidStatus.RouteEntry OperationFailed.ResourceConflict OperationDenied.OtherSubnetCreating " +
			"CreateVSwitch.IncorrectStatus.cbnStatus DeleteVSwitch.IncorrectStatus.cbnStatus InvalidBindingStatus.RouteTable InvalidStatus.VSwitch"},
		{class: Conflict, products: vpc,
			codes: "OperationFailed.DistibuteLock OperationFailed.ConcurrentOperation OperationFailed.ConcurrentRequest " +
				"OperationDenied.OtherSubnetProcessing"},
		{class: Conflict,
			codes: "LastTokenProcessing OperationFailed.LastTokenProcessing OperationFailed.IdempotentTokenProcessing " +
				"IdempotentProcessing", retry: soon, note: "repeat with the same request_id"},
		{class: Conflict, products: ecs,
			codes: "LastRequestProcessing LastOrderProcessing InvalidOperation.Conflict InvalidOperation.InvalidEniState " +
				"InvalidOperation.InvalidEcsState " +
				"DependencyViolation.SLBConfiguring IncorrectInstanceStatus.Initializing"},
		{class: Conflict, products: nlb,
			codes: "Conflict.Lock ResourceInConfiguring.* ResourceInCreating.loadbalancer OperationFailed.ResourceIsConfiguring"},

		// Things that do not exist.
		{class: NotFound, products: slb, codes: "InvalidLoadBalancerId.NotFound", reason: rpcerr.LoadBalancerNotFound},
		{class: NotFound, products: slb, codes: "ResourceNotFound.Listener ListenerNotFound", reason: rpcerr.ListenerNotFound},
		{class: NotFound, products: slb, codes: "InvalidParameter", message: "The specified resource does not exist",
			reason: rpcerr.ListenerNotFound},
		{class: NotFound, products: slb, codes: "InvalidParameter", message: "VServerGroupId does not exist", reason: rpcerr.ServerGroupNotFound},
		{class: NotFound, products: slb, codes: "ResourceNotFound.VServerGroup InvalidParameter.VServerGroupId",
			reason: rpcerr.ServerGroupNotFound},
		{class: NotFound, products: slb,
			codes:  "ResourceNotFound.vServers InvalidServerId.NotFound InvalidServerId.NotExist ObtainIpFail",
			reason: rpcerr.ServerNotFound, note: "the backend is gone or not running"},
		{class: NotFound, products: slb, codes: "AclNotExist", reason: rpcerr.AclNotFound},
		{class: NotFound, products: slb, codes: "AclEntryEmpty", note: "a list without entries; what was to be removed is gone"},
		{class: NotFound, products: slb,
			codes: "CertificateNotExist ResourceNotFound.Certificate CACertificateId.NotFound ServerCertificateId.NotFound " +
				"InvalidParameter.ServerCertificateId", reason: rpcerr.CertificateNotFound},
		{class: NotFound, products: slb, codes: "InvalidRuleId.NotFound", reason: rpcerr.ForwardingRuleNotFound},
		{class: NotFound, products: slb, codes: "InvalidParameter.DomainExtensionId", reason: rpcerr.DomainExtensionNotFound},
		{class: NotFound, products: slb, codes: "ResourceNotExist InvalidTLSPolicyId.NotExist"},
		{class: NotFound, codes: "InvalidVpcId.NotFound", reason: rpcerr.VpcNotFound},
		{class: NotFound, codes: "InvalidVSwitchId.NotFound InvalidVswitchId.NotFound InvalidVswitchID.NotFound", reason: rpcerr.VSwitchNotFound},
		{class: NotFound, products: vpc, codes: "InvalidRouteTableId.NotFound InvalidRouteTable.NotFound", reason: rpcerr.RouteTableNotFound},
		{class: NotFound, products: vpc,
			codes: "InvalidRouteEntry.NotFound InvalidRouteEntryId.NotFound VPC_ROUTER_ENTRY_NOT_EXIST", reason: rpcerr.RouteNotFound},
		{class: NotFound, products: vpc, codes: "InvalidNextHopId.NotFound InvalidNextHop.NotFound",
			reason: rpcerr.InstanceNotFound, note: "the route's next hop"},
		{class: NotFound, products: vpc, codes: "InvalidAllocationId.NotFound", reason: rpcerr.EipNotFound},
		{class: NotFound, products: vpc,
			codes: "InvalidInstanId.NotFound InvalidInstanceId.NotFound InvalidInstance.NotExist OperationFailed.InstanceNotExist " +
				"InvalidNicOrVm.NotFound InvalidBindInstance.NotFound", reason: rpcerr.InstanceNotFound, note: "what an EIP is, or is to be, bound to"},
		{class: NotFound, products: ecs, codes: "InvalidInstanceId.NotFound InvalidEcsId.NotFound Forbidden.InstanceNotFound",
			reason: rpcerr.InstanceNotFound},
		{class: NotFound, products: ecs, codes: "InvalidEniId.NotFound", reason: rpcerr.NetworkInterfaceNotFound},
		{class: NotFound, products: ecs, codes: "InvalidSecurityGroupId.NotFound InvalidSecurityGroup.NotFound",
			reason: rpcerr.SecurityGroupNotFound},
		{class: NotFound, products: nlb, codes: "ResourceNotFound.loadBalancer", reason: rpcerr.LoadBalancerNotFound},
		{class: NotFound, products: nlb, codes: "ResourceNotFound.listener", reason: rpcerr.ListenerNotFound},
		{class: NotFound, products: nlb, codes: "ResourceNotFound.serverGroup", reason: rpcerr.ServerGroupNotFound},
		{class: NotFound, products: nlb,
			codes: "ResourceNotFound.BackendServer ResourceNotFound.Ecs ResourceNotFound.Eni ResourceNotFound.Eci", reason: rpcerr.ServerNotFound},
		{class: NotFound, products: nlb, codes: "ResourceNotFound.Vpc", reason: rpcerr.VpcNotFound},
		{class: NotFound, products: nlb, codes: "ResourceNotFound.VSwitch", reason: rpcerr.VSwitchNotFound},
		{class: NotFound, products: nlb, codes: "ResourceNotFound.SecurityGroup", reason: rpcerr.SecurityGroupNotFound},
		{class: NotFound, products: cas, codes: "NotFound", reason: rpcerr.CertificateNotFound},
		{class: NotFound, products: nlb, codes: "ResourceNotFound.Certificate ResourceNotFound.CaCertificate",
			reason: rpcerr.CertificateNotFound},
		{class: NotFound, products: nlb,
			codes: "ResourceNotFound.securitypolicy ResourceNotFound.BandwidthPackageId ResourceNotFound.CommonBandwidthPackage " +
				"ResourceNotFound.Ipv6Gateway ResourceNotFound.ResourceGroup OperationFailed.NotExist.ResourceGroup"},
		{class: NotFound, products: nlb, codes: "ResourceNotFound.JobId"},

		// Things that exist already.
		{class: Exists, products: ecs, codes: "InvalidIp.IpAssigned", note: "something else has the address"},
		{class: Exists, products: cas, codes: "NameRepeat", note: "another certificate of the account has the name"},
		{class: Exists, products: slb,
			codes: "ListenerAlreadyExists InvalidParameter.ListenerPortConflict ListenerPortConflict", reason: rpcerr.ListenerExists},
		{class: Exists, products: slb, codes: "InvalidBackendServers.ServerIpConflict InvalidBackendServers.Inconsistent DomainExist"},
		{class: Exists, products: slb, codes: "InvalidParameter", message: "duplicated value of ServerID"},
		{class: Exists, products: slb, codes: "InvalidParam.AclEntryExists", note: "the gateway sends the other entries"},
		{class: Exists, products: vpc,
			codes: "InvalidCIDRBlock.Duplicate InvalidRouteEntry.Duplicate Duplicated.VpcNextHop " +
				"RouterEntryConflict.Duplicated RouteConflict.AlreadyExist " +
				"VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE", note: "the gateway reads back: the same next hop is success, another is ROUTE_CONFLICT"},
		{class: Exists, products: nlb, codes: "ResourceAlreadyAssociated.* DuplicatedParam.Server ResourceInUse.IP"},
		{class: Exists, products: nlb, codes: "Conflict.Port DuplicatedParam.listener", reason: rpcerr.ListenerExists},

		// Quotas and limits.
		{class: Quota, products: slb,
			codes: "OverQuota OperationForbidden.QuotaLimit ListenerNumberOverLimit VipTooManyListeners TooManyRules " +
				"AclNumberOverLimit AclEntryExceedLimit " +
				"AclListenerOverLimit QuotaLimitExceeds.* DomainExtensionNumberOverLimit TagCountLimit QuotaExceed.Tag* " +
				"QuotaExceeded.Tag* SizeLimitExceeded.*"},
		{class: Quota, products: slb, codes: "TooManyBackendServers InstanceBackendServerNumberOverLimit", reason: rpcerr.ServerLimit},
		{class: Quota, products: slb, codes: "SubnetIpExhaust VSwitchAvailableIpNotExist", reason: rpcerr.NoFreeAddress},
		{class: Quota, products: slb, codes: "OperationFailed.ZoneResourceLimit OperationFailed.RegionResourceLimit"},
		{class: Quota, products: vpc, codes: "QuotaExceeded InvalidEntryRuleQuota QuotaExceeded.*"},
		{class: Quota, products: ecs, codes: "AuthorizationLimitExceed QuotaExceed.SecurityGroup SecurityGroupInstanceLimitExceed"},
		{class: Quota, products: nlb, codes: "QuotaExceeded.*"},

		// In use, protected, or final refusals.
		{class: Dependency, codes: "OperationDenied.DeleteProtectionIsOn OperationDenied.DeletionProtectionEnabled",
			reason: rpcerr.DeleteProtected},
		{class: Dependency, products: slb, codes: "RspoolVipExist RspoolRuleExist OperationFailed.ServerGroupInUse",
			reason: rpcerr.ServerGroupInUse, retry: released},
		{class: Dependency, products: nlb, codes: "ResourceInUse.ServerGroup", reason: rpcerr.ServerGroupInUse, retry: released},
		{class: Dependency, products: nlb, codes: "OperationDenied.DeletionProtectionEnabled", reason: rpcerr.DeleteProtected},
		{class: Dependency, products: nlb, codes: "Mismatch.VpcId Mismatch.vpc", reason: rpcerr.NetworkConflict},
		{class: Dependency, products: nlb, codes: "ResourceNotAssociated.* Conflict.SecurityGroup OperationDenied.* OperationFailed.*"},
		{class: Quota, products: nlb, codes: "ResourceNotEnough.VSwitchIp", reason: rpcerr.NoFreeAddress},
		{class: Quota, products: ecs, codes: "InvalidVSwitchId.IpNotEnough", reason: rpcerr.NoFreeAddress},
		{class: Quota, products: ecs,
			codes: "EniPerInstanceLimitExceeded InvalidOperation.Ipv4CountExceeded InvalidOperation.Ipv6CountExceeded",
			note:  "the instance type has no more interfaces, or addresses for each"},
		{class: Dependency, products: slb, codes: "DomainExtensionRelatedRuleExist", reason: rpcerr.DomainExtensionInUse,
			note: "delete the forwarding rules of the domain first"},
		{class: Dependency, products: slb, codes: "DomainExtensionNotSupport",
			note: "only guaranteed-performance instances have domain extensions"},
		{class: Dependency, products: slb, codes: "OperationFailed.ActionNotSupport",
			note: "only HTTP and HTTPS listeners have forwarding rules"},
		{class: Dependency, products: slb, codes: "ListenerForwardExist", reason: rpcerr.ListenerInUse, note: "delete the HTTP redirect first"},
		{class: Dependency, products: slb, codes: "OperationFailed.AclBindedWithVip", reason: rpcerr.AclInUse},
		{class: Dependency, products: slb, codes: "CertificateAndPrivateKeyIsRefered CertificateRelatedDomainExtensionExist",
			reason: rpcerr.CertificateInUse},
		{class: Dependency, products: slb, codes: "Operation.NotAllowed OperationDenied.PayByCLCU OperationDenied.PayBySpec Forbidden.LcuToSpec"},
		{class: Dependency, products: slb, codes: "NetworkConflict", reason: rpcerr.NetworkConflict,
			note: "a server is in another VPC than the load balancer"},
		{class: Dependency, products: slb, codes: "MasterSlaveServerConflict"},
		{class: Dependency, products: slb, codes: "OperationUnsupported.SetLoadBalancerStatus", note: "the load balancer is locked"},
		{class: Dependency, products: slb, codes: "OperationUnsupported.DeleteProtectionForPrePayInstance",
			note: "a subscription can't be protected"},
		{class: Dependency, products: slb + " " + nlb, codes: "DependencyViolation DependencyViolation.*"},
		{class: Dependency, products: ecs, codes: "DependencyViolation", reason: rpcerr.ResourceInUse,
			note: "something else uses the security group"},
		{class: Dependency, products: ecs, codes: "DependencyViolation.*"},
		{class: Dependency, products: vpc, codes: "DependencyViolation DependencyViolation.*", reason: rpcerr.ResourceInUse},
		{class: Dependency, products: vpc,
			codes: "IncorrectRouteTableStatus.RouteEntryExist OperationDenied.GatewayAssociated", reason: rpcerr.ResourceInUse},
		{class: Dependency, products: vpc,
			codes: "Forbidden.VSwitchAlreadyAssociatedRouteTable ResourceAlreadyAssociated.RouteTable", reason: rpcerr.ResourceInUse,
			note: "the vSwitch has a route table of its own"},
		{class: Dependency, products: vpc,
			codes: "IncorrectRouteTableType OperationDenied.SwitchToSystemRouteTable OperationUnsupported.SystemRouteTable " +
				"OperationFailed.VSwitchNotAssociate OperationDenied.ModifyManagedRouteEntry OperationDenied.NextHopExist"},
		{class: Dependency, products: vpc,
			codes: "BIND_INSTANCE_HAVE_PORTMAP_OR_BIND_EIP InvalidAssociation.Duplicated EIP_CAN_NOT_ASSOCIATE_WITH_PUBLIC_IP " +
				"ResourceAlreadyAssociated.IpAddress", reason: rpcerr.ResourceInUse, note: "the instance has a public address already"},
		{class: Dependency, products: vpc, codes: "InvalidOperation.DeletionProtection", reason: rpcerr.DeleteProtected},
		{class: Dependency, products: vpc, codes: "Forbidden.ChargeTypeIsPrepaid Forbidden.InCommonBandwidthPackage Forbidden.ReleaseSegmentEip"},
		{class: Dependency, products: vpc, codes: "OperationDenied OperationDenied.DeleteManagedRouteEntry",
			note: "a route of the system or of another service; an instance that can't have an EIP"},
		{class: Dependency, products: ecs, codes: "InvalidOperation.* ChargeTypeViolation InstanceLockedForSecurity"},
		{class: Dependency, products: ecs, codes: "InvalidOperation.DeletionProtection", reason: rpcerr.DeleteProtected},
		{class: Dependency, codes: "DryRunOperation", note: "the call would succeed"},

		// RAM refuses the gateway.
		{class: Permission,
			codes: "Forbidden.RAM Forbidden.Unauthorized Forbidden.SubUser Forbidden.NotSupportRAM Forbbiden " +
				"Forbbiden.SubUser NoPermission Forbidden.NoPermission UnauthorizedRegion"},
		{class: Permission, codes: "Forbidden.AccessKeyDisabled Forbidden.RiskControl InvalidAccessKeyId.Inactive"},

		// The gateway's credentials or signature are refused.
		{class: Authentication,
			codes: "InvalidAccessKeyId.NotFound InvalidSecurityToken.Expired InvalidSecurityToken.Malformed " +
				"InvalidSecurityToken.MismatchWithAccessKey", renew: true},
		{class: Authentication, codes: "SignatureDoesNotMatch IncompleteSignature"},
		{class: Authentication, codes: "InvalidTimeStamp.Expired InvalidTimeStamp.Format IllegalTimestamp", note: "the gateway's clock is wrong"},

		// The request is wrong.
		{class: Invalid,
			codes: "IdempotentParameterMismatch Duplicated.ClientToken IdempotenceParamNotMatch " +
				"Idempotence.SignatureMismatch IdempotenceSignatureMismatch InvalidParamter.Conflict",
			reason: rpcerr.IdempotencyMismatch, note: "the request_id was used with other parameters"},
		{class: Invalid, products: vpc, codes: "InvalidCidrBlock.Overlapped Forbidden.NotInSameVpc UnsupportedFeature.ModifyRouteEntryNextHop"},
		{class: Invalid, codes: "InvalidAction.NotFound InvalidAction InvalidVersion UnsupportedHTTPMethod UnsupportedOperation"},
		{class: Invalid,
			codes: "MissingParameter MissingParameter.* MissingParam.* InvalidParameter IllegalParam.* InvalidParam.* " +
				"UnsupportedParameter InvalidWeight.Malformed BackendServersMalformed TooManyListeners InvalidRegionId.NotFound"},
		{class: Invalid, products: ecs, codes: "InvalidStatus.NotFound InvalidInstanceChargeType.NotFound InvalidZoneId.NotFound"},

		{class: Invalid, products: slb,
			codes: "AclEntryIllegal IllegalEntry InvalidEntry CertificateFormatInvalid ServerCertificate.NotSupport " +
				"EccCertificateNotSupport OperationDenied.IllegalKeyLength " +
				"InvalidParameter.AliCloudCertificateId"},

		// Billing.
		{class: Money, products: slb,
			codes: "InsufficientBalance PayInsufficientBalance ChargeTypeViolation OperationFailed.UnpaidBillsExist QUERY* PRICE* PAY.* ORDER.*"},
		{class: Money, products: vpc,
			codes: "InsufficientBalance InsufficientBalance.Eip CreditPayInsufficientBalance OperationFailed.CreditPayInsufficientBalance " +
				"OperationFailed.AccountMoneyInvalid AccountMoneyValidateError Forbidden.FinancialLocked InvalidEIPStatus.BizDisabled"},
	}
}

// meaning completes a row by what its class has in common.
func (r rule) meaning() Meaning {
	f := r.class.family()
	return Meaning{Class: r.class, Reason: cmp.Or(r.reason, f.reason), RetryAfter: cmp.Or(r.retry, f.retry), Renew: r.renew}
}

// family is what the errors of a class have in common.
type family struct {
	class  Class
	reason rpcerr.Reason
	retry  time.Duration
	about  string // for the reader of the reference page
}

// families has the classes in the order of the reference page.
func families() []family {
	return []family{
		{Throttle, rpcerr.Throttled, 10 * time.Second,
			"A rate limit of the cloud. Nothing was done. The gateway stops the action, learns from how many calls were " +
				"granted, and says in RetryInfo how long to wait."},
		{Conflict, rpcerr.ResourceBusy, time.Second,
			"The resource works on another change. Nothing was done. The gateway repeats inside the deadline."},
		{NotFound, rpcerr.NotFoundReason, 0,
			"The resource, or one that it refers to, does not exist. For a deletion this is success."},
		{Exists, rpcerr.AlreadyExists, 0,
			"What was to be created is there already."},
		{Quota, rpcerr.QuotaExceeded, 0,
			"A quota of the account, a limit of the resource, or no capacity. Raise the quota or use less."},
		{Dependency, rpcerr.InvalidState, 0,
			"In use, protected, or in a state that does not allow the call. Codes that the table does not have, and that " +
				"look like nothing else, count here."},
		{Invalid, rpcerr.InvalidField, 0,
			"The request is wrong. Repeating it as it is does not help."},
		{Permission, rpcerr.CloudForbidden, 0,
			"RAM does not let the gateway make the call. Extend the RAM policy of the gateway's identity."},
		{Authentication, rpcerr.CloudCredentials, 0,
			"The gateway's credentials, signature or clock are not accepted. Where newer credentials may help, the gateway " +
				"gets them and repeats the call once."},
		{Money, rpcerr.CloudBilling, 0,
			"The account's balance, an unpaid order, or the charge type."},
		{Server, rpcerr.CloudUnavailable, 2 * time.Second,
			"The cloud failed. Reads, and writes with a ClientToken, are repeated inside the deadline. Other writes end as OUTCOME_UNKNOWN: " +
				"they may have been executed. Answers without a code, such as a proxy's error page, count here."},
	}
}

func (c Class) family() (of family) {
	for _, of = range families() {
		if of.class == c {
			break
		}
	}
	return of
}

func (r rule) matches(a Answer) bool {
	if r.products != "" && !slices.Contains(strings.Fields(r.products), a.Product) {
		return false
	}
	_, named := r.names(a.Code)
	return named && strings.Contains(a.Message, r.message)
}

// names reports whether the row has a code, and whether it has all of it or only its beginning.
func (r rule) names(code string) (whole, named bool) {
	for pattern := range strings.FieldsSeq(r.codes) {
		if pattern == code {
			return true, true
		}
		prefix, open := strings.CutSuffix(pattern, "*")
		named = named || open && strings.HasPrefix(code, prefix)
	}
	return false, named
}

// moreExact reports whether r is a better match for the code than other: a whole code before a beginning, a message before none. No two
// rows of a product are alike in both.
func (r rule) moreExact(other rule, code string) bool {
	whole, _ := r.names(code)
	if otherWhole, _ := other.names(code); whole != otherWhole {
		return whole
	}
	return r.message != ""
}
