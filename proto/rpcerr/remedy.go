package rpcerr

import "google.golang.org/grpc/codes"

// Remedy says what an operator can do about a failed call, whatever the call was for. It is empty if that depends on the call, and for
// what passes by itself.
func Remedy(err error) string {
	e, ok := From(err)
	if !ok {
		return ""
	}
	switch e.Reason {
	case QuotaExceeded:
		return "ask the cloud for a higher quota, or release what nobody needs"
	case CloudBilling:
		return "settle the bill of the cloud account"
	case CloudForbidden, CloudCredentials:
		return "look what the gateway may do and with which credentials, by cloudgateway doctor"
	case RegionMismatch, NothingFound, PartialAnswer, AbsenceContradicted:
		return "check the credentials and the region of the gateway, and what its RAM policy lets it see"
	case CallerForbidden, CallerUnauthenticated:
		return "check the ClusterRole of the controller"
	default:
	}
	if e.Code == codes.Unavailable && e.Reason == "" { // The gateway's own errors have a reason.
		return "look whether cloudgateway runs"
	}
	return ""
}
