package front

import (
	"regexp"
	"strings"

	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/scope"
)

// alone are the actions that give keys, secrets, or control over an instance. No pattern stands for them: a role has
// to name each. Those that read are looked at by the scopes and leave a line in the audit log, as changes do. The
// names are in small letters: the cloud may take another spelling for the same.
func alone() map[string]bool {
	all := map[string]bool{}
	for product, actions := range map[string]string{
		"ecs": "DescribeInstanceVncUrl ModifyInstanceVncPasswd StartTerminalSession " + // a console
			"RunCommand InvokeCommand SendFile CreateActivation " + // whatever one likes, on an instance
			"DescribeInvocations DescribeInvocationResults DescribeCommands DescribeSendFileResults " + // what was run, and what it has printed
			"DescribeUserData DescribeLaunchTemplateVersions GetInstanceConsoleOutput GetInstanceScreenshot " + // e.g. tokens to join a cluster
			"CreateKeyPair", // answers with the private key
		"vpc": "DescribeVpnConnection DescribeVpnConnections DownloadVpnConnectionConfig ListIpsecServers " + // pre-shared keys
			"DiagnoseVpnConnections ModifyVpnConnectionAttribute ModifyVpnAttachmentAttribute ModifyTunnelAttribute " + // answer with them
			"DescribeSslVpnClientCert " + // the private key of the client
			"DescribeCustomerGateway DescribeCustomerGateways DescribeBgpGroups DescribeBgpPeers", // keys of BGP
		"cas": "GetUserCertificateDetail DescribeCertificatePrivateKey DescribeCertificateState " + // the private key
			"Decrypt Sign", // act in its name
		"alidns": "DescribePdnsAppKey DescribePdnsAppKeys",
		"nas":    "DescribeFileSystems DescribeFileSystemStatistics DescribeMountTargets", // passwords of the managers of a CPFS
		"cs": "DescribeClusterUserKubeconfig DescribeClusterAttachScripts DescribeExternalAgent " + // lead into a cluster
			"DescribeClusterNodePools DescribeClusterNodePoolDetail " + // user data
			"GetClusterAddonInstance", // whatever a component was set up with
		"ess": "DescribeScalingConfigurations DescribeEciScalingConfigurations " + // user data
			"DescribeEciScalingConfigurationDetail DescribeScalingGroupDetail", // environments and passwords of containers, as YAML
		"kms": "GetSecretValue Decrypt AsymmetricDecrypt CertificatePrivateKeyDecrypt " +
			"GenerateDataKey ExportDataKey GenerateAndExportDataKey ReEncrypt " + // give what the key keeps
			"AsymmetricSign CertificatePrivateKeySign CreateClientKey GetRandomPassword", // or act in its name
	} {
		for action := range strings.FieldsSeq(actions) {
			all[strings.ToLower(product+":"+action)] = true
		}
	}
	return all
}

// isAlone reports whether no pattern stands for an action.
func (f *Front) isAlone(name string) bool {
	product, action, _ := strings.Cut(name, ":")
	return f.named[strings.ToLower(name)] || !flow.Reads(action) &&
		(product == string(openapi.RAM) || // Any leads to all rights.
			ofVPC.MatchString(name)) // A pattern of ECS does not mean them.
}

// ofVPC are the actions of ECS that are older than the product VPC, and still change what is VPC's.
var ofVPC = regexp.MustCompile(`(?i)^ecs:((allocate|associate|unassociate|release|modify)eip|(create|delete|modify)vpc(attribute)?$|` +
	`[a-z]+(havip|physicalconnection|virtualborderrouter|routerinterface|forwardentry|natgateway|routeentry|vswitch|vrouter|` +
	`bandwidthpackage))`)

// minds reports whether scopes and the audit log mind an action: it changes something, or gives what is to be kept.
func (f *Front) minds(name string) bool {
	_, action, _ := strings.Cut(name, ":")
	return !flow.Reads(action) || f.isAlone(name)
}

// reads are the sensitive ones of which it is known what they are about. A caller with a scope gets no other.
func reads() map[string]change {
	all := map[string]change{}
	for _, action := range []string{
		"DescribeInstanceVncUrl", "DescribeUserData", "GetInstanceConsoleOutput", "GetInstanceScreenshot", "DescribeInvocationResults",
	} {
		all["ecs:"+action] = of("InstanceId", scope.Instance)
	}
	all["cas:GetUserCertificateDetail"] = of("CertId", scope.UserCertificate)
	return all
}
