package fault

import "strings"

// Weathers are the names of the sets of rules that [Weather] returns.
func Weathers() []string { return []string{"bad"} }

// Weather returns a shipped set of rules by its name, or nil. Bad weather answers a few calls in a hundred with each of the codes on
// which real clients repeat: those that Terraform's provider and the existing controllers know for a passing refusal, that the
// simulator has no
// reason for by itself.
func Weather(name string) []Rule {
	if name != "bad" {
		return nil
	}
	const share = 0.02
	var rules []Rule
	add := func(status int, product, actions, codes string) {
		for action := range strings.FieldsSeq(actions) {
			for code := range strings.FieldsSeq(codes) {
				rules = append(rules, Rule{
					ID: "weather-" + product + "-" + strings.ToLower(strings.Trim(action, "*")) + "-" + code, Product: product, Action: action,
					Probability: share, Error: &Error{Status: status, Code: code, Message: "The weather is bad, please try again later."},
				})
			}
		}
	}
	add(400, "vpc", "Create* Delete* Associate* Unassociate* Modify* AllocateEipAddress ReleaseEipAddress AddCommon* RemoveCommon*",
		"OperationConflict LastTokenProcessing SystemBusy IncorrectStatus OperationFailed.DistibuteLock") // the last is spelt so by the cloud
	add(400, "slb", "Create* Delete* Set* Add* Remove* Modify* Start* Stop*",
		"ServiceIsStopping OperationBusy SystemBusy OperationFailed.TokenIsProcessing")
	add(400, "nlb", "Create* Delete* Update* Add* Remove* Start* Stop*", "SystemBusy OperationFailed.ResourceIsConfiguring")
	add(403, "ecs", "StartInstance* StopInstance* DeleteInstance* Attach* Detach* JoinSecurityGroup LeaveSecurityGroup",
		"InvalidOperation.Conflict IncorrectInstanceStatus.Initializing")
	add(403, "ecs", "RunInstances", "OperationDenied.NoStock")
	add(503, "*", "Describe* List* Get*", "ServiceUnavailable")
	return rules
}
