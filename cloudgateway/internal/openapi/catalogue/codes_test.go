package catalogue

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
)

const errorsPage = "../../../../docs/reference/errors.md"

// TestReferencePage shows every change of the table as a change of the page that users read.
func TestReferencePage(t *testing.T) {
	page, err := os.ReadFile(errorsPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), Markdown()); diff != "" {
		t.Errorf("run `make generate` and review the change (-page +table):\n%s", diff)
	}
}

// knownCode is a code that the cloud documents.
type knownCode struct {
	product, code string
	class         Class
}

// knownCodes lists them by themselves, so that the table can be held against them.
func knownCodes() (all []knownCode) {
	for _, row := range []struct {
		product string
		class   Class
		codes   string
	}{
		{slb, Throttle, "Throttling Throttling.User Throttling.Api Rejected.Throttling InnerRateLimiting FlowControlError TooManyRequests"},
		{vpc, Throttle, "Throttling Throttling.User EipOperation.TooFrequently FrequentPurchase.EIP"},
		{ecs, Throttle, "Throttling Throttling.User Throttling.Resource"},
		{slb, Server,
			"ServiceUnavailable ServiceUnavailable.RegionMaintaining InternalError UnknownError InternalInvokeError " +
				"LocationServiceTimeout SignatureNonceUsed"},
		{vpc, Server, "ServiceUnavailable InternalError UnknownError"},
		{ecs, Server, "ServiceUnavailable InternalError"},
		{slb, Conflict,
			"SystemBusy OperationBusy ServiceIsConfiguring ServiceIsStopping BackendServer.configuring " +
				"BackendServerProcessing VServerGroupProcessing"},
		{slb, Conflict,
			"OperationFailed.ServiceGroupProcessing ListenerProcessing AclEntryProcessing ResourceInConfiguring.Acl DomainExtensionProcessing"},
		{slb, Conflict,
			"IncorrectStatus.DomainExtension TLSPolicyConfiguring ProcessingSameRequest OperationFailed.ListenerStatusNotSupport Operation.Deny"},
		{slb, Conflict,
			"LbStatusNotSupport VpcSystemBusy OperationFailed.TokenIsProcessing LX_REQUEST_TOKEN_CONFLICT InvalidOperation.ConcurrentModification"},
		{slb, Conflict, "IncorrectListenerAccessControlStatusStatus"},
		{vpc, Conflict,
			"SystemBusy System.ServiceBusy OperationFailed.SystemBusy TaskConflict OperationConflict VPC_TASK_CONFLICT " +
				"IncorrectRouteEntryStatus IncorrcetRouteEntryStatus"},
		{vpc, Conflict,
			"IncorrectVpcStatus IncorrectVSwitchStatus IncorrectHaVipStatus IncorrectInstanceStatus IncorrectStatus " +
				"IncorrectStatus.cbnStatus InvalidVBRStatus"},
		{vpc, Conflict,
			"IncorrectRouteTableStatus IncorrectEipStatus InvalidBindingStatus OperationFailed.DistibuteLock OperationFailed.ConcurrentOperation"},
		{vpc, Conflict,
			"OperationFailed.ConcurrentRequest OperationDenied.OtherSubnetProcessing LastTokenProcessing OperationFailed.LastTokenProcessing"},
		{vpc, Conflict, "OperationFailed.IdempotentTokenProcessing"},
		{ecs, Conflict,
			"OperationConflict LastTokenProcessing IdempotentProcessing LastRequestProcessing LastOrderProcessing InvalidOperation.Conflict"},
		{ecs, Conflict, "InvalidOperation.InvalidEniState InvalidOperation.InvalidEcsState DependencyViolation.SLBConfiguring"},
		{ecs, Conflict, "IncorrectInstanceStatus IncorrectInstanceStatus.Initializing"},
		{ecs, Dependency,
			"InvalidOperation.DeletionProtection InvalidOperation.EniLinked InvalidOperation.PrimaryEniOnlySupportModifyNameAndDesc"},
		{ecs, Dependency, "InvalidOperation.VpcMismatch ChargeTypeViolation InstanceLockedForSecurity DependencyViolation.RouteEntry"},
		{ecs, Invalid, "InvalidStatus.NotFound InvalidInstanceChargeType.NotFound InvalidZoneId.NotFound"},
		{nlb, Conflict,
			"SystemBusy Conflict.Lock IncorrectStatus.loadbalancer IncorrectStatus.listener IncorrectStatus.serverGroup " +
				"ResourceInConfiguring.listener"},
		{nlb, Conflict, "ResourceInCreating.loadbalancer OperationFailed.ResourceIsConfiguring"},
		{slb, NotFound,
			"InvalidLoadBalancerId.NotFound ResourceNotFound.Listener ListenerNotFound ResourceNotFound.VServerGroup ResourceNotFound.vServers"},
		{slb, NotFound, "InvalidServerId.NotFound InvalidServerId.NotExist ObtainIpFail InvalidRuleId.NotFound AclNotExist CertificateNotExist"},
		{slb, NotFound,
			"ResourceNotFound.Certificate CACertificateId.NotFound ServerCertificateId.NotFound " +
				"InvalidParameter.DomainExtensionId ResourceNotExist"},
		{slb, NotFound, "InvalidTLSPolicyId.NotExist"},
		{vpc, NotFound,
			"InvalidVpcId.NotFound InvalidVSwitchId.NotFound InvalidVswitchID.NotFound InvalidRouteTableId.NotFound InvalidNextHopId.NotFound"},
		{vpc, NotFound,
			"InvalidRouteTable.NotFound InvalidRouteEntry.NotFound InvalidRouteEntryId.NotFound InvalidNextHop.NotFound VPC_ROUTER_ENTRY_NOT_EXIST"},
		{vpc, NotFound,
			"InvalidAllocationId.NotFound InvalidInstanId.NotFound InvalidInstanceId.NotFound InvalidInstance.NotExist " +
				"InvalidBindInstance.NotFound"},
		{vpc, NotFound, "OperationFailed.InstanceNotExist InvalidNicOrVm.NotFound"},
		{vpc, Conflict, "InvalidStatus.EcsStatusNotSupport InvalidStatus.EniStatusNotSupport TOKEN_PROCESSING OrderFailed.ConcurrentOperate"},
		{vpc, Conflict, "InvalidStatus.RouteEntry OperationFailed.ResourceConflict OperationDenied.OtherSubnetCreating"},
		{vpc, Dependency,
			"IncorrectRouteTableStatus.RouteEntryExist OperationDenied.GatewayAssociated Forbidden.VSwitchAlreadyAssociatedRouteTable"},
		{vpc, Dependency,
			"ResourceAlreadyAssociated.RouteTable IncorrectRouteTableType OperationDenied.SwitchToSystemRouteTable " +
				"OperationUnsupported.SystemRouteTable"},
		{vpc, Dependency, "OperationFailed.VSwitchNotAssociate OperationDenied.ModifyManagedRouteEntry OperationDenied.NextHopExist"},
		{vpc, Invalid, "InvalidCidrBlock.Overlapped Forbidden.NotInSameVpc UnsupportedFeature.ModifyRouteEntryNextHop"},
		{vpc, Conflict, "InvalidBindingStatus.RouteTable InvalidStatus.VSwitch"},
		{vpc, Conflict, "CreateVSwitch.IncorrectStatus.cbnStatus DeleteVSwitch.IncorrectStatus.cbnStatus"},
		{vpc, Invalid, "IdempotentParameterMismatch Duplicated.ClientToken"},
		{vpc, Dependency,
			"BIND_INSTANCE_HAVE_PORTMAP_OR_BIND_EIP InvalidAssociation.Duplicated EIP_CAN_NOT_ASSOCIATE_WITH_PUBLIC_IP " +
				"ResourceAlreadyAssociated.IpAddress"},
		{vpc, Dependency,
			"InvalidOperation.DeletionProtection Forbidden.ChargeTypeIsPrepaid Forbidden.InCommonBandwidthPackage Forbidden.ReleaseSegmentEip"},
		{vpc, Money,
			"InsufficientBalance InsufficientBalance.Eip CreditPayInsufficientBalance " +
				"OperationFailed.CreditPayInsufficientBalance Forbidden.FinancialLocked"},
		{vpc, Money, "OperationFailed.AccountMoneyInvalid AccountMoneyValidateError InvalidEIPStatus.BizDisabled"},
		{slb, NotFound, "InvalidParameter.VServerGroupId InvalidParameter.ServerCertificateId"},
		{vpc, Conflict, "VPC_ROUTE_ENTRY_STATUS_ERROR"},
		{ecs, NotFound,
			"InvalidInstanceId.NotFound InvalidEniId.NotFound InvalidEcsId.NotFound InvalidSecurityGroupId.NotFound Forbidden.InstanceNotFound"},
		{nlb, NotFound,
			"ResourceNotFound.loadBalancer ResourceNotFound.listener ResourceNotFound.serverGroup " +
				"ResourceNotFound.BackendServer ResourceNotFound.JobId"},
		{slb, Exists, "ListenerAlreadyExists InvalidParameter.ListenerPortConflict ListenerPortConflict InvalidBackendServers.ServerIpConflict"},
		{slb, Exists, "InvalidBackendServers.Inconsistent DomainExist"},
		{vpc, Exists,
			"InvalidCIDRBlock.Duplicate InvalidRouteEntry.Duplicate Duplicated.VpcNextHop RouterEntryConflict.Duplicated " +
				"RouteConflict.AlreadyExist"},
		{vpc, Exists, "VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE"},
		{nlb, Exists, "ResourceAlreadyAssociated.ServerGroup Conflict.Port DuplicatedParam.Server"},
		{slb, Invalid, "IdempotentParameterMismatch IdempotenceParamNotMatch Idempotence.SignatureMismatch"},
		{ecs, Invalid, "IdempotentParameterMismatch InvalidParamter.Conflict"},
		{nlb, Invalid, "IdempotenceSignatureMismatch"},
		{slb, Invalid,
			"InvalidAction.NotFound InvalidAction InvalidVersion UnsupportedHTTPMethod UnsupportedOperation MissingParameter " +
				"MissingParam.Region InvalidParameter"},
		{slb, Invalid,
			"IllegalParam.Port InvalidParam.Port UnsupportedParameter InvalidWeight.Malformed BackendServersMalformed " +
				"TooManyListeners InvalidRegionId.NotFound"},
		{slb, Quota,
			"OverQuota OperationForbidden.QuotaLimit ListenerNumberOverLimit VipTooManyListeners TooManyBackendServers " +
				"InstanceBackendServerNumberOverLimit"},
		{slb, Quota,
			"TooManyRules AclNumberOverLimit AclEntryExceedLimit AclListenerOverLimit QuotaLimitExceeds.Acl " +
				"DomainExtensionNumberOverLimit TagCountLimit"},
		{slb, Quota, "QuotaExceed.TagQuota QuotaExceeded.TagQuota SizeLimitExceeded.Servers SubnetIpExhaust VSwitchAvailableIpNotExist"},
		{slb, Quota, "OperationFailed.ZoneResourceLimit OperationFailed.RegionResourceLimit"},
		{vpc, Quota, "QuotaExceeded InvalidEntryRuleQuota QuotaExceeded.Eip"},
		{ecs, Quota, "AuthorizationLimitExceed QuotaExceed.SecurityGroup SecurityGroupInstanceLimitExceed"},
		{nlb, Quota, "QuotaExceeded.QuotaInsufficient QuotaExceeded.Listener"},
		{slb, Dependency, "OperationUnsupported.SetLoadBalancerStatus OperationUnsupported.DeleteProtectionForPrePayInstance"},
		{slb, Dependency,
			"OperationDenied.DeleteProtectionIsOn RspoolVipExist RspoolRuleExist OperationFailed.ServerGroupInUse ListenerForwardExist"},
		{slb, Exists, "InvalidParam.AclEntryExists"},
		{slb, NotFound, "AclEntryEmpty"},
		{slb, Invalid,
			"AclEntryIllegal IllegalEntry InvalidEntry InvalidParam.Comment CertificateFormatInvalid " +
				"ServerCertificate.NotSupport EccCertificateNotSupport"},
		{slb, Invalid, "OperationDenied.IllegalKeyLength InvalidParameter.AliCloudCertificateId IllegalParam.ServerCertificate"},
		{slb, Dependency, "CertificateRelatedDomainExtensionExist NetworkConflict MasterSlaveServerConflict"},
		{slb, Dependency, "CertificateAndPrivateKeyIsRefered OperationFailed.AclBindedWithVip Operation.NotAllowed"},
		{slb, Dependency, "DomainExtensionRelatedRuleExist DomainExtensionNotSupport OperationFailed.ActionNotSupport"},
		{slb, Dependency, "OperationDenied.PayByCLCU OperationDenied.PayBySpec Forbidden.LcuToSpec"},
		{vpc, Dependency,
			"DependencyViolation DependencyViolation.Instance OperationDenied OperationDenied.DeleteManagedRouteEntry DryRunOperation"},
		{ecs, Dependency, "DependencyViolation InvalidOperation.ResourceManagedByCloudProduct DryRunOperation"},
		{nlb, Dependency, "OperationDenied.DeletionProtectionEnabled ResourceInUse.ServerGroup DryRunOperation"},
		{slb, Permission,
			"Forbidden.RAM Forbidden.Unauthorized Forbidden.SubUser Forbidden.NotSupportRAM NoPermission UnauthorizedRegion " +
				"Forbidden.AccessKeyDisabled"},
		{slb, Permission, "Forbidden.RiskControl InvalidAccessKeyId.Inactive"},
		{vpc, Permission, "Forbbiden Forbbiden.SubUser Forbidden.RAM"},
		{nlb, Permission, "Forbidden.NoPermission"},
		{slb, Authentication,
			"InvalidAccessKeyId.NotFound InvalidSecurityToken.Expired InvalidSecurityToken.Malformed InvalidSecurityToken.MismatchWithAccessKey"},
		{slb, Authentication, "SignatureDoesNotMatch IncompleteSignature InvalidTimeStamp.Expired IllegalTimestamp"},
		{slb, Money, "InsufficientBalance PayInsufficientBalance ChargeTypeViolation OperationFailed.UnpaidBillsExist QUERY.ERROR PRICE.ERROR"},
	} {
		for code := range strings.FieldsSeq(row.codes) {
			all = append(all, knownCode{product: row.product, code: code, class: row.class})
		}
	}
	return all
}

// answer is that of the cloud to a call that is refused with the code.
func (k knownCode) answer() Answer { return Answer{Product: k.product, Status: 400, Code: k.code} }

func TestEveryKnownCode(t *testing.T) {
	for _, k := range knownCodes() {
		if got := Lookup(k.answer()).Class; got != k.class {
			t.Errorf("%s %s: class %s, want %s", k.product, k.code, got, k.class)
		}
	}
}

// TestEveryKnownCodeIsDocumented: each comes to the caller as the page promises.
func TestEveryKnownCodeIsDocumented(t *testing.T) {
	documented := documentedRows(t)
	for _, k := range knownCodes() {
		want, ok := inTable(documented, k.product, k.code)
		if !ok {
			t.Errorf("%s %s is guessed, want a row", k.product, k.code)
			continue
		}
		if diff := cmp.Diff(want.outcome, received(Error(k.answer()))); diff != "" {
			t.Errorf("%s %s (-documented +received):\n%s", k.product, k.code, diff)
		}
		if want.class != string(k.class) || want.GRPCCode != grpcCode(k.class) {
			t.Errorf("%s %s is documented as %s, %s; want %s, %s", k.product, k.code, want.class, want.GRPCCode, k.class, grpcCode(k.class))
		}
	}
}

// outcome is what a caller of the gateway gets, in the words of the page.
type outcome struct{ GRPCCode, Reason, RetryAfter string }

// received is what the caller's side reads from the status on the wire.
func received(err error) outcome {
	s := status.Convert(err)
	got := outcome{GRPCCode: s.Code().String(), RetryAfter: "–"}
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			got.Reason = d.GetReason()
		case *errdetails.RetryInfo:
			got.RetryAfter = d.GetRetryDelay().AsDuration().String()
		}
	}
	return got
}

// grpcCode is what every code of a class becomes.
func grpcCode(c Class) string {
	return map[Class]string{
		Throttle: "ResourceExhausted", Conflict: "Aborted", NotFound: "NotFound", Exists: "AlreadyExists", Quota: "ResourceExhausted",
		Dependency: "FailedPrecondition", Invalid: "InvalidArgument", Permission: "FailedPrecondition",
		Authentication: "FailedPrecondition", Money: "FailedPrecondition", Server: "Unavailable",
	}[c]
}

// documentedRow is a row of docs/reference/errors.md.
type documentedRow struct {
	class, code, product string
	outcome
}

// documentedRows reads the page, without the rows that only some messages of a code get.
func documentedRows(t *testing.T) (rows []documentedRow) {
	t.Helper()
	page, err := os.ReadFile(errorsPage)
	if err != nil {
		t.Fatal(err)
	}
	class := ""
	for line := range strings.Lines(string(page)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			class = strings.TrimSpace(heading)
		}
		cells := strings.Split(line, " | ")
		if code, ok := strings.CutPrefix(cells[0], "| `"); ok && !strings.Contains(line, "message contains") {
			rows = append(rows, documentedRow{
				class: class, code: strings.Trim(code, "`"), product: cells[1],
				outcome: outcome{GRPCCode: cells[2], Reason: strings.Trim(cells[3], "`"), RetryAfter: cells[4]},
			})
		}
	}
	return rows
}

// inTable finds the row of a code as a reader of the page does: the row of the code itself, else that of its longest beginning.
func inTable(rows []documentedRow, product, code string) (best documentedRow, found bool) {
	for _, row := range rows {
		if row.product != "all" && row.product != product {
			continue
		}
		if row.code == code {
			return row, true
		}
		prefix, open := strings.CutSuffix(row.code, "*")
		if open && strings.HasPrefix(code, prefix) && len(row.code) > len(best.code) {
			best, found = row, true
		}
	}
	return best, found
}
