package controller

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/vswitch"
)

// remedies says what an operator can do about failed calls, each step once. Errors that are no failed calls say so themselves.
func remedies(errs []error) string {
	var steps []string
	for _, err := range errs {
		if step := remedy(err); step != "" && !slices.Contains(steps, step) {
			steps = append(steps, step)
		}
	}
	return strings.Join(steps, "; ")
}

// remedy says what an operator can do about a failed call, of the gateway or of the API server.
func remedy(err error) string {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		if status.ErrStatus.Code >= http.StatusInternalServerError {
			return "it is tried again"
		}
		if status.ErrStatus.Reason == metav1.StatusReasonInvalid {
			return "correct the annotation that the value is from; it is tried again"
		}
		return "check the ClusterRole of lbcontroller and the admission webhooks; it is tried again"
	}
	e, ok := rpcerr.From(err)
	if !ok {
		return ""
	}
	switch e.Reason {
	case rpcerr.ServerLimit:
		return "ask the cloud for a higher quota of servers, or let fewer nodes be servers; it is tried again"
	case rpcerr.NoFreeAddress:
		return "name vSwitches with free addresses (annotation vswitch-id or zone-maps, vswitchIDs of the configuration, or their tag " +
			vswitch.Tag + "); it is tried again"
	case rpcerr.DeleteProtected:
		return "switch the delete protection off in the console; it is tried again"
	case rpcerr.NetworkConflict:
		return "use servers and load balancer of one VPC"
	case rpcerr.ListenerExists, rpcerr.ListenerInUse, rpcerr.ServerGroupInUse, rpcerr.DomainExtensionInUse,
		rpcerr.AclInUse, rpcerr.CertificateInUse,
		rpcerr.ResourceInUse, rpcerr.AlreadyExists, rpcerr.InvalidState:
		return "look in the console what stands in the way; it is tried again"
	case rpcerr.CertificateNotFound:
		return "upload the certificate, or name another one"
	case rpcerr.EipNotFound:
		return "allocate the EIP, or name another one"
	case rpcerr.AclNotFound:
		return "make the access control list, or name another one"
	case rpcerr.SecurityGroupNotFound:
		return "make the security group, or name another one in annotation security-group-ids; it is tried again"
	case rpcerr.VSwitchNotFound:
		return "name another vSwitch; those that no annotation names are vswitchIDs of the configuration"
	default:
	}
	step := rpcerr.Remedy(err)
	switch {
	case e.Code == codes.InvalidArgument:
		return "correct what the Service asks for"
	case step != "":
		return step + "; it is tried again"
	default:
		return "it is tried again"
	}
}
