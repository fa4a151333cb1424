package slb

import (
	"maps"
	"slices"
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// rulesPerCall is the number of rules in RuleList and of ids in RuleIds.
const rulesPerCall = 10

// ruleAttributes are the attributes that a rule has of its own when it is not in step with its listener. Their values are those
// of HTTP listeners.
func ruleAttributes() []string {
	return []string{
		"Scheduler", "StickySession", "StickySessionType", "Cookie", "CookieTimeout", "HealthCheck", "HealthCheckConnectPort",
		"HealthCheckDomain", "HealthCheckHttpCode", "HealthCheckInterval", "HealthCheckTimeout", "HealthCheckURI", "HealthyThreshold",
		"UnhealthyThreshold",
	}
}

// ruleRows returns the rows of the table for the attributes of rules.
func (t table) ruleRows() []attribute {
	var rows []attribute
	for _, a := range t[protoHTTP] {
		if slices.Contains(ruleAttributes(), a.name) {
			rows = append(rows, a)
		}
	}
	return rows
}

func ruleActions(t table) []api.Action {
	protocol := api.OneOf("ListenerProtocol", protoHTTP, protoHTTPS)
	dry := api.Flag("DryRun")
	port := must(api.Number("ListenerPort", 1, 65535))
	busyCodes := []string{"LbStatusNotSupport", "OperationFailed.ListenerStatusNotSupport"}
	set := []api.Param{region(), api.Required("RuleId"), api.Optional("RuleName"), api.Optional("VServerGroupId"),
		api.OneOf("ListenerSync", on, off), dry}
	for _, a := range t.ruleRows() {
		set = append(set, a.param(inSet))
	}
	return []api.Action{
		api.Write("CreateRules", t.createRules, append([]string{
			"DomainExist", "DryRunOperation", "InvalidLoadBalancerId.NotFound", "InvalidParameter", "MissingParameter",
			"MissingParameter.RuleName", "ListenerNotFound", "OperationFailed.ActionNotSupport", "TooManyListeners", "TooManyRules",
		}, busyCodes...), region(), api.Required("LoadBalancerId"), port, must(jsonText("RuleList")), protocol, dry),
		api.Write("DeleteRules", deleteRules,
			append([]string{"InvalidParameter", "InvalidRuleId.NotFound"}, busyCodes...), region(),
			must(jsonText("RuleIds"))),
		api.Read("DescribeRules", api.On2(listenerOf(""), t.describeRules),
			api.Words("InvalidLoadBalancerId.NotFound ResourceNotFound.Listener TooManyListeners"), region(),
			api.Required("LoadBalancerId"), port, protocol),
		api.Read("DescribeRuleAttribute", api.On(ruleByID, t.describeRule), api.Words("InvalidRuleId.NotFound"), region(),
			api.Required("RuleId")),
		api.Write("SetRule", api.On(ruleByID, t.setRule),
			append([]string{"DryRunOperation", "InvalidParameter", "InvalidRuleId.NotFound"}, busyCodes...), set...),
	}
}

func (t table) ruleList(rules []*state.Rule) api.Object { return wrapped("Rule", rules, t.ruleView) }

// ruleView shows the attributes of a rule only if it does not follow its listener.
func (t table) ruleView(r *state.Rule) object {
	o := object{
		"RuleId": r.ID, "RuleName": r.Name, "Domain": r.Domain, "Url": r.URL, "VServerGroupId": r.ServerGroupID,
		"ListenerSync": on, "ServiceManagedMode": "Unmanaged",
	}
	if r.Attributes["ListenerSync"] != off {
		return o
	}
	o["ListenerSync"] = off
	for _, a := range t.ruleRows() {
		o.put(a, &state.Listener{Attributes: r.Attributes, Spelling: r.Spelling}, false)
	}
	return o
}

func (t table) createRules(c *api.Context) (any, *api.Error) {
	lb, l, err := listenerOf("")(c)
	if err != nil {
		if err.Code == listenerNotFound().Code {
			err = api.NotFound("ListenerNotFound", "The specified resource does not exist.") // in this action only
		}
		return nil, err
	}
	if protocolBit(l.Protocol)&layer7 == 0 {
		return nil, api.BadRequest("OperationFailed.ActionNotSupport", "Listeners of the protocol %s do not support rules.", l.Protocol)
	}
	if err := rulesWritable(c, lb, l); err != nil {
		return nil, err
	}
	items, ok := parseObjects(c.Get("RuleList"))
	switch {
	case !ok || len(items) == 0 || len(items) > rulesPerCall:
		return nil, api.Invalid("RuleList")
	case len(l.Rules)+len(items) > c.Settings.Quotas.Rules:
		return nil, api.BadRequest("TooManyRules", "The number of rules of the listener exceeds the quota of %d.", c.Settings.Quotas.Rules)
	}
	rules := slices.Clone(l.Rules)
	for _, item := range items {
		r, err := newRule(c, lb, rules, item)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	added := rules[len(l.Rules):]
	for _, r := range added {
		r.ID = c.NewID("rule-bp1")
	}
	l.Rules = rules
	changed(c, lb)
	return api.Object{"Rules", wrapped("Rule", added, func(r *state.Rule) api.Object {
		return api.Object{"RuleId", r.ID,
			"RuleName", r.Name}
	})}, nil
}

// newRule checks one item of RuleList against the rules that are there before it.
func newRule(c *api.Context, lb *state.LoadBalancer, rules []*state.Rule, item map[string]string) (*state.Rule, *api.Error) {
	r := &state.Rule{Name: item["rulename"], Domain: item["domain"], URL: item["url"], ServerGroupID: item["vservergroupid"]}
	switch {
	case r.Name == "":
		return nil, api.BadRequest("MissingParameter.RuleName", "The parameter RuleName is required.")
	case r.Domain == "" && r.URL == "":
		return nil, api.Missing("Domain")
	case r.URL != "" && (!validURI(r.URL) || r.URL == "/"):
		return nil, api.Invalid("Url")
	case slices.ContainsFunc(rules, func(o *state.Rule) bool { return o.Domain == r.Domain && o.URL == r.URL }):
		return nil, api.BadRequest("DomainExist", "The domain and the URL are those of another rule of the listener.")
	case !groupIn(c, lb, r.ServerGroupID):
		return nil, api.BadRequest("InvalidParameter", "The specified VServerGroupId does not exist.")
	}
	return r, nil
}

// rulesWritable is the policy of a change of rules, with the code that clients repeat these calls for.
func rulesWritable(c *api.Context, lb *state.LoadBalancer, l *state.Listener) *api.Error {
	return unsettled(listenerUnsettled)(c, lb, l)
}

// rulePlace is a rule and where it is.
type rulePlace struct {
	lb   *state.LoadBalancer
	l    *state.Listener
	rule *state.Rule
}

func findRule(c *api.Context, id string) (rulePlace, *api.Error) {
	for _, lb := range c.State.LoadBalancers {
		for _, l := range lb.Listeners {
			for _, r := range l.Rules {
				if r.ID == id {
					settle(c, lb)
					return rulePlace{lb, l, r}, nil
				}
			}
		}
	}
	return rulePlace{}, ruleNotFound()
}

// ruleByID returns the rule of the parameter RuleId.
func ruleByID(c *api.Context) (rulePlace, *api.Error) { return findRule(c, c.Get("RuleId")) }

// deleteRules deletes all of the rules or none.
func deleteRules(c *api.Context) (any, *api.Error) {
	ids, ok := parseStrings(c.Get("RuleIds"))
	if !ok || len(ids) == 0 || len(ids) > rulesPerCall {
		return nil, api.Invalid("RuleIds")
	}
	places := make([]rulePlace, 0, len(ids))
	for _, id := range ids {
		p, err := findRule(c, id)
		if err != nil {
			return nil, err
		}
		if err := rulesWritable(c, p.lb, p.l); err != nil {
			return nil, err
		}
		places = append(places, p)
	}
	for _, p := range places {
		p.l.Rules = slices.DeleteFunc(p.l.Rules, func(r *state.Rule) bool { return r == p.rule })
		release(c, p.rule.ServerGroupID)
		changed(c, p.lb)
	}
	return nil, nil
}

func (t table) describeRules(_ *api.Context, _ *state.LoadBalancer, l *state.Listener) (any, *api.Error) {
	return api.Object{"Rules", t.ruleList(l.Rules)}, nil
}

func (t table) describeRule(_ *api.Context, p rulePlace) (any, *api.Error) {
	o := t.ruleView(p.rule)
	o["LoadBalancerId"], o["ListenerPort"] = p.lb.ID, strconv.Itoa(p.l.Port) // text here, a number elsewhere
	return o, nil
}

func (t table) setRule(c *api.Context, p rulePlace) (any, *api.Error) {
	if err := rulesWritable(c, p.lb, p.l); err != nil {
		return nil, err
	}
	next := *p.rule
	next.Attributes = map[string]string{}
	maps.Copy(next.Attributes, p.rule.Attributes)
	for _, a := range t.ruleRows() {
		if !c.Has(a.name) {
			continue
		}
		if err := a.check(c.Get(a.name)); err != nil {
			return nil, err
		}
		next.Attributes[a.name] = c.Get(a.name)
	}
	c.Keep("", &next.Spelling)
	if c.Has("ListenerSync") {
		next.Attributes["ListenerSync"] = c.Get("ListenerSync")
	}
	c.SetText("RuleName", &next.Name)
	if c.Has("VServerGroupId") {
		next.ServerGroupID = c.Get("VServerGroupId")
		if !groupIn(c, p.lb, next.ServerGroupID) {
			return nil, api.BadRequest("InvalidParameter", "The specified VServerGroupId does not exist.")
		}
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	if p.rule.ServerGroupID != next.ServerGroupID {
		release(c, p.rule.ServerGroupID)
	}
	*p.rule = next
	changed(c, p.lb)
	return nil, nil
}
