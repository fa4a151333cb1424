package nlb

import (
	"net/http"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// Codes that many actions answer.
const (
	noBalancer     = "ResourceNotFound.loadBalancer"
	noListener     = "ResourceNotFound.listener"
	noGroup        = "ResourceNotFound.serverGroup"
	noPolicy       = "ResourceNotFound.securitypolicy"
	lockConflict   = "Conflict.Lock"
	balancerMade   = "ResourceInCreating.loadbalancer"
	balancerBusy   = "ResourceInConfiguring.loadbalancer"
	balancerStatus = "IncorrectStatus.loadbalancer"
	listenerStatus = "IncorrectStatus.listener"
	groupStatus    = "IncorrectStatus.serverGroup"
	quota          = "QuotaExceeded.QuotaInsufficient"
	dryRun         = "DryRunOperation"
	notIdempotent  = "IdempotenceSignatureMismatch"
	illegal        = "IllegalParam"
)

// fail returns the error of a code. NLB builds its codes as a reason and a subject, "IllegalParam.IdleTimeout"; the reason
// decides status and message. Some codes have a message of their own.
func fail(code string) *api.Error {
	reason, subject, _ := strings.Cut(code, ".")
	err := &api.Error{Status: http.StatusBadRequest, Code: code, Message: messages()[code]}
	switch reason {
	case "ResourceNotFound":
		if subject != "Certificate" {
			err.Status = http.StatusNotFound
		}
	case "Forbidden", "UnauthorizedZone", "UnauthorizedRegion":
		err.Status = http.StatusForbidden
	}
	if err.Message == "" {
		err.Message = strings.ReplaceAll(reasons()[reason], "%s", subject)
	}
	if err.Message == "" {
		err.Message = "The operation is refused: " + code + "."
	}
	return err
}

func messages() map[string]string {
	return map[string]string{
		dryRun:        "Request validation has been passed with DryRun flag set.",
		notIdempotent: "The signature of the request with the same client token is not the same as that of the previous one.",
		lockConflict:  "The lock of the resource is held by another operation, please try again later.",
		illegal:       "The param is illegal.",
		quota:         "The quota is insufficient.",
		"OperationDenied.DeletionProtectionEnabled": "The operation is denied because deletion protection is enabled.",
	}
}

func reasons() map[string]string {
	return map[string]string{
		"ResourceNotFound":          "The specified resource of %s is not found.",
		"ResourceInCreating":        "The specified resource of %s is being created.",
		"ResourceInConfiguring":     "The specified resource of %s is being configured, please try again later.",
		"ResourceInUse":             "The specified resource of %s is in use.",
		"ResourceNotEnough":         "The specified resource of %s is not enough.",
		"ResourceAlreadyAssociated": "The specified resource of %s is already associated.",
		"ResourceNotAssociated":     "The specified resource of %s is not associated.",
		"IncorrectStatus":           "The status of %s is incorrect.",
		"Conflict":                  "There is a conflict of %s.",
		"Mismatch":                  "The values of %s do not match.",
		"DuplicatedParam":           "The param of %s is duplicated.",
		"MissingParam":              "The param of %s is missing.",
		"IllegalParam":              "The param of %s is illegal.",
		"IlleagalParam":             "The param of %s is illegal.",
		"IllegalParamSize":          "The number of items of %s is illegal.",
		"OperationDenied":           "The operation is denied because of %s.",
		"OperationFailed":           "The operation failed because of %s.",
		"InvalidZones":              "The specified zones are not supported.",
		"UnauthorizedZone":          "The specified zone is not authorized.",
	}
}
