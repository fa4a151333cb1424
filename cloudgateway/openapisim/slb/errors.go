package slb

import (
	"net/http"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// Clients match on parts of these texts ("LoadBalancerId does not exist", "The specified VServerGroupId does not exist.",
// "exceeds max supported number: 20"), so they are written here once.

func loadBalancerNotFound() *api.Error {
	return api.NotFound("InvalidLoadBalancerId.NotFound", "The specified LoadBalancerId does not exist.")
}

func listenerNotFound() *api.Error {
	return api.NotFound("ResourceNotFound.Listener", "The specified resource does not exist.")
}

func groupNotFound() *api.Error {
	return api.NotFound("InvalidParameter", "The specified VServerGroupId does not exist.")
}

func ruleNotFound() *api.Error {
	return api.NotFound("InvalidRuleId.NotFound", "The specified RuleId does not exist.")
}

func aclNotFound() *api.Error {
	return api.BadRequest("AclNotExist", "The specified Acl does not exist.")
}

func tooManyServers(limit int) *api.Error {
	return api.BadRequest("TooManyBackendServers", "The number of backend servers exceeds max supported number: %d.", limit)
}

func tooManyListeners() *api.Error {
	return api.BadRequest("TooManyListeners", "More than one listener has the specified port, specify the ListenerProtocol.")
}

func statusNotSupported() *api.Error {
	return api.BadRequest("LbStatusNotSupport", "The status of the load balancer does not support this operation.")
}

// Codes of a load balancer that is applying another change, by the kind of the refused change.

func busyListener() *api.Error {
	return api.BadRequest("ServiceIsConfiguring", "A previous configuration is pending; please try again later.")
}

func busyGroup() *api.Error {
	return api.BadRequest("VServerGroupProcessing", "A previous configuration of the VServer group is pending; please try again later.")
}

func busyDefaultGroup() *api.Error {
	return &api.Error{
		Status: http.StatusConflict, Code: "BackendServer.configuring",
		Message: "The backend servers are being configured, try again later.",
	}
}

func busyDomain() *api.Error {
	return api.BadRequest("DomainExtensionProcessing", "A domain extension of the listener is being processed, try again later.")
}
