package catalogue

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReferencePage shows every change of the table as a change of the page that users read.
func TestReferencePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "reference", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), Markdown()); diff != "" {
		t.Errorf("run `make generate` and review the change (-page +table):\n%s", diff)
	}
}

// TestEveryKnownCode holds the table against the codes that the cloud documents, listed by themselves.
func TestEveryKnownCode(t *testing.T) {
	tests := []struct {
		product string
		class   Class
		codes   string
	}{
		{slb, Throttle, "Throttling Throttling.User Throttling.Api Rejected.Throttling InnerRateLimiting FlowControlError TooManyRequests"},
		{vpc, Throttle, "Throttling Throttling.User EipOperation.TooFrequently FrequentPurchase.EIP"},
		{ecs, Throttle, "Throttling Throttling.User Throttling.Resource"},
		{slb, Server, "ServiceUnavailable ServiceUnavailable.RegionMaintaining InternalError UnknownError InternalInvokeError LocationServiceTimeout SignatureNonceUsed"},
		{vpc, Server, "ServiceUnavailable InternalError UnknownError"},
		{ecs, Server, "ServiceUnavailable InternalError"},
		{slb, Conflict, "SystemBusy OperationBusy ServiceIsConfiguring ServiceIsStopping BackendServer.configuring BackendServerProcessing VServerGroupProcessing"},
		{slb, Conflict, "OperationFailed.ServiceGroupProcessing ListenerProcessing AclEntryProcessing ResourceInConfiguring.Acl DomainExtensionProcessing"},
		{slb, Conflict, "IncorrectStatus.DomainExtension TLSPolicyConfiguring ProcessingSameRequest OperationFailed.ListenerStatusNotSupport Operation.Deny"},
		{slb, Conflict, "LbStatusNotSupport VpcSystemBusy OperationFailed.TokenIsProcessing LX_REQUEST_TOKEN_CONFLICT InvalidOperation.ConcurrentModification"},
		{slb, Conflict, "IncorrectListenerAccessControlStatusStatus"},
		{vpc, Conflict, "SystemBusy System.ServiceBusy OperationFailed.SystemBusy TaskConflict OperationConflict VPC_TASK_CONFLICT IncorrectRouteEntryStatus IncorrcetRouteEntryStatus"},
		{vpc, Conflict, "IncorrectVpcStatus IncorrectVSwitchStatus IncorrectHaVipStatus IncorrectInstanceStatus IncorrectStatus IncorrectStatus.cbnStatus InvalidVBRStatus"},
		{vpc, Conflict, "IncorrectRouteTableStatus IncorrectEipStatus InvalidBindingStatus OperationFailed.DistibuteLock OperationFailed.ConcurrentOperation"},
		{vpc, Conflict, "OperationFailed.ConcurrentRequest OperationDenied.OtherSubnetProcessing LastTokenProcessing OperationFailed.LastTokenProcessing"},
		{vpc, Conflict, "OperationFailed.IdempotentTokenProcessing"},
		{ecs, Conflict, "OperationConflict LastTokenProcessing IdempotentProcessing LastRequestProcessing LastOrderProcessing InvalidOperation.Conflict"},
		{ecs, Conflict, "InvalidOperation.InvalidEniState InvalidOperation.InvalidEcsState DependencyViolation.SLBConfiguring"},
		{nlb, Conflict, "SystemBusy Conflict.Lock IncorrectStatus.loadbalancer IncorrectStatus.listener IncorrectStatus.serverGroup ResourceInConfiguring.listener"},
		{nlb, Conflict, "ResourceInCreating.loadbalancer OperationFailed.ResourceIsConfiguring"},
		{slb, NotFound, "InvalidLoadBalancerId.NotFound ResourceNotFound.Listener ListenerNotFound ResourceNotFound.VServerGroup ResourceNotFound.vServers"},
		{slb, NotFound, "InvalidServerId.NotFound InvalidServerId.NotExist ObtainIpFail InvalidRuleId.NotFound AclNotExist CertificateNotExist"},
		{slb, NotFound, "ResourceNotFound.Certificate CACertificateId.NotFound ServerCertificateId.NotFound InvalidParameter.DomainExtensionId ResourceNotExist"},
		{slb, NotFound, "InvalidTLSPolicyId.NotExist"},
		{vpc, NotFound, "InvalidVpcId.NotFound InvalidVSwitchId.NotFound InvalidVswitchID.NotFound InvalidRouteTableId.NotFound InvalidNextHopId.NotFound"},
		{vpc, NotFound, "InvalidRouteTable.NotFound InvalidRouteEntry.NotFound InvalidRouteEntryId.NotFound InvalidNextHop.NotFound VPC_ROUTER_ENTRY_NOT_EXIST"},
		{vpc, NotFound, "InvalidAllocationId.NotFound"},
		{slb, NotFound, "InvalidParameter.VServerGroupId"},
		{vpc, Conflict, "VPC_ROUTE_ENTRY_STATUS_ERROR"},
		{ecs, NotFound, "InvalidInstanceId.NotFound InvalidEniId.NotFound InvalidEcsId.NotFound InvalidSecurityGroupId.NotFound Forbidden.InstanceNotFound"},
		{nlb, NotFound, "ResourceNotFound.loadBalancer ResourceNotFound.listener ResourceNotFound.serverGroup ResourceNotFound.BackendServer ResourceNotFound.JobId"},
		{slb, Exists, "ListenerAlreadyExists InvalidParameter.ListenerPortConflict ListenerPortConflict InvalidBackendServers.ServerIpConflict"},
		{slb, Exists, "InvalidBackendServers.Inconsistent DomainExist"},
		{vpc, Exists, "InvalidCIDRBlock.Duplicate InvalidRouteEntry.Duplicate Duplicated.VpcNextHop RouterEntryConflict.Duplicated RouteConflict.AlreadyExist"},
		{vpc, Exists, "VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE"},
		{nlb, Exists, "ResourceAlreadyAssociated.ServerGroup Conflict.Port DuplicatedParam.Server"},
		{slb, Invalid, "IdempotentParameterMismatch IdempotenceParamNotMatch Idempotence.SignatureMismatch"},
		{ecs, Invalid, "IdempotentParameterMismatch InvalidParamter.Conflict"},
		{nlb, Invalid, "IdempotenceSignatureMismatch"},
		{slb, Invalid, "InvalidAction.NotFound InvalidAction InvalidVersion UnsupportedHTTPMethod UnsupportedOperation MissingParameter MissingParam.Region InvalidParameter"},
		{slb, Invalid, "IllegalParam.Port InvalidParam.Port UnsupportedParameter InvalidWeight.Malformed BackendServersMalformed TooManyListeners InvalidRegionId.NotFound"},
		{slb, Quota, "OverQuota OperationForbidden.QuotaLimit ListenerNumberOverLimit VipTooManyListeners TooManyBackendServers InstanceBackendServerNumberOverLimit"},
		{slb, Quota, "TooManyRules AclNumberOverLimit AclEntryExceedLimit AclListenerOverLimit QuotaLimitExceeds.Acl DomainExtensionNumberOverLimit TagCountLimit"},
		{slb, Quota, "QuotaExceed.TagQuota QuotaExceeded.TagQuota SizeLimitExceeded.Servers SubnetIpExhaust VSwitchAvailableIpNotExist"},
		{slb, Quota, "OperationFailed.ZoneResourceLimit OperationFailed.RegionResourceLimit"},
		{vpc, Quota, "QuotaExceeded InvalidEntryRuleQuota QuotaExceeded.Eip"},
		{ecs, Quota, "AuthorizationLimitExceed QuotaExceed.SecurityGroup SecurityGroupInstanceLimitExceed"},
		{nlb, Quota, "QuotaExceeded.QuotaInsufficient QuotaExceeded.Listener"},
		{slb, Dependency, "OperationDenied.DeleteProtectionIsOn RspoolVipExist RspoolRuleExist OperationFailed.ServerGroupInUse ListenerForwardExist"},
		{slb, Dependency, "CertificateAndPrivateKeyIsRefered OperationFailed.AclBindedWithVip Operation.NotAllowed"},
		{vpc, Dependency, "DependencyViolation DependencyViolation.Instance OperationDenied OperationDenied.DeleteManagedRouteEntry DryRunOperation"},
		{ecs, Dependency, "DependencyViolation InvalidOperation.ResourceManagedByCloudProduct DryRunOperation"},
		{nlb, Dependency, "OperationDenied.DeletionProtectionEnabled ResourceInUse.ServerGroup DryRunOperation"},
		{slb, Permission, "Forbidden.RAM Forbidden.Unauthorized Forbidden.SubUser Forbidden.NotSupportRAM NoPermission UnauthorizedRegion Forbidden.AccessKeyDisabled"},
		{slb, Permission, "Forbidden.RiskControl InvalidAccessKeyId.Inactive"},
		{vpc, Permission, "Forbbiden Forbbiden.SubUser Forbidden.RAM"},
		{nlb, Permission, "Forbidden.NoPermission"},
		{slb, Authentication, "InvalidAccessKeyId.NotFound InvalidSecurityToken.Expired InvalidSecurityToken.Malformed InvalidSecurityToken.MismatchWithAccessKey"},
		{slb, Authentication, "SignatureDoesNotMatch IncompleteSignature InvalidTimeStamp.Expired IllegalTimestamp"},
		{slb, Money, "InsufficientBalance PayInsufficientBalance ChargeTypeViolation OperationFailed.UnpaidBillsExist QUERY.ERROR PRICE.ERROR"},
	}
	rows := Rows()
	for _, tt := range tests {
		for code := range strings.FieldsSeq(tt.codes) {
			answer := Answer{Product: tt.product, Status: 400, Code: code}
			if got := Lookup(answer).Class; got != tt.class {
				t.Errorf("%s %s: class %s, want %s", tt.product, code, got, tt.class)
			}
			if !inTable(rows, tt.product, code) {
				t.Errorf("%s %s is guessed, want a row", tt.product, code)
			}
		}
	}
}

func inTable(rows []Row, product, code string) bool {
	for _, row := range rows {
		prefix, open := strings.CutSuffix(row.Code, "*")
		if (row.Product == "" || row.Product == product) && (row.Code == code || open && strings.HasPrefix(code, prefix)) {
			return true
		}
	}
	return false
}
