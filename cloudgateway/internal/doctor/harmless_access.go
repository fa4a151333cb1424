package doctor

import "alicloud-controllers.dev/cloudgateway/internal/cloud"

const (
	noAccessControlList = "acl-cloudgatewaydoctor"
	noCertificate       = "0_cloudgatewaydoctor"
)

// harmlessAccess is about access control lists and certificates.
func harmlessAccess(action string) cloud.Params {
	list := cloud.Params{"AclId": noAccessControlList}
	switch action {
	case "DescribeAccessControlLists":
		return cloud.Params{"AclName": "cloudgatewaydoctor"}
	case "CreateAccessControlList": // The tag and the resource group are refused.
		return cloud.Params{"AclName": "doctor", "ResourceGroupId": noResourceGroup, "Tag.1.Key": "acs:doctor", "Tag.1.Value": "doctor"}
	case "DescribeAccessControlListAttribute", "DeleteAccessControlList":
		return list
	case "SetAccessControlListAttribute":
		return list.With("AclName", "doctor")
	case "AddAccessControlListEntry", "RemoveAccessControlListEntry":
		return list.With("AclEntrys", `[{"entry":"`+noNetwork+`"}]`)
	case "DescribeServerCertificates", "DeleteServerCertificate":
		return cloud.Params{"ServerCertificateId": noCertificate}
	case "SetServerCertificateName":
		return cloud.Params{"ServerCertificateId": noCertificate, "ServerCertificateName": "doctor"}
	case "UploadServerCertificate": // This is no certificate, and no key.
		return cloud.Params{"ServerCertificate": "doctor", "PrivateKey": "doctor"}
	case "DescribeCACertificates", "DeleteCACertificate":
		return cloud.Params{"CACertificateId": noCertificate}
	case "SetCACertificateName":
		return cloud.Params{"CACertificateId": noCertificate, "CACertificateName": "doctor"}
	case "UploadCACertificate":
		return cloud.Params{"CACertificate": "doctor"}
	}
	return nil
}
