package nlb

import (
	"cmp"
	"regexp"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const (
	groupOfInstances = "Instance"
	groupOfAddresses = "Ip"

	maxDrain = 900 // seconds
	maxProbe = 512 // characters of what a UDP check sends and expects
)

func groupActions() []api.Action {
	const check = "HealthCheckConfig."
	settings := []api.Param{
		api.Flag("ConnectionDrainEnabled"), {Name: "ConnectionDrainTimeout", Kind: api.Int}, api.Flag("PreserveClientIpEnabled"),
		api.OneOf("Scheduler", "Wrr", "Wlc", "rr", "sch", "tch", "qch"), api.OneOf("IpVersionAffinityMode", "Affinity",
			"NonAffinity"), api.Flag(check + "HealthCheckEnabled"),
		api.OneOf(check+"HealthCheckType", protoTCP, "HTTP", protoUDP), api.Number(check+"HealthCheckConnectPort", 0, maxPort),
		api.Number(check+"HealthyThreshold", 2, 10), api.Number(check+"UnhealthyThreshold", 2, 10),
		api.Number(check+"HealthCheckConnectTimeout", 1, 300),
		api.Number(check+"HealthCheckInterval", 1, 300), api.Optional(check + "HealthCheckDomain"), api.Optional(check + "HealthCheckUrl"),
		api.OneOf(check+"HttpCheckMethod", "GET", "HEAD"),
		api.OneOf(check+"HealthCheckHttpVersion", "HTTP1.0", "HTTP1.1"), api.Optional(check + "HealthCheckReq"),
		api.Optional(check + "HealthCheckExp"),
		{Name: check + "HealthCheckHttpCode", Kind: api.Strings, Enum: []string{"http_2xx", "http_3xx", "http_4xx", "http_5xx"}, Max: 4},
	}
	codes := []string{
		illegal, "IllegalParam.ConnectionDrainTimeout", "IllegalParam.PreserveClientIpSwitch", "IllegalParam.ServerGroupName",
		"IllegalParam.healthCheckDomain", "IlleagalParam.healthCheckUrl", "IllegalParam.AnyPortServerGroupConflictWithHealthCheckConfig",
	}
	return []api.Action{
		write("CreateServerGroup", createGroup, append([]string{
			quota, "OperationDenied.VpcNotSupportIpv6", "ResourceNotFound.ResourceGroup", "ResourceNotFound.Vpc",
		}, codes...), append(append(mandatory("ServerGroupName", "VpcId"),
			api.OneOf("ServerGroupType", groupOfInstances, groupOfAddresses), api.OneOf("Protocol", protoTCP, protoUDP, protoBoth, protoTCPSSL),
			api.OneOf("AddressIPVersion", ipv4, dualStack), api.Flag("AnyPortEnabled"), api.Optional("ResourceGroupId"), structs("Tag", maxTags)),
			settings...)...),
		write("UpdateServerGroupAttribute", api.On(group, updateGroup), append([]string{noGroup, groupStatus}, codes...),
			append(append(mandatory("ServerGroupId"), api.Optional("ServerGroupName")), settings...)...),
		write("DeleteServerGroup", api.On(group, deleteGroup), []string{noGroup, groupStatus, lockConflict, "ResourceInUse.ServerGroup"},
			mandatory("ServerGroupId")...),
	}
}

func defaultCheck() state.NLBHealthCheck {
	return state.NLBHealthCheck{Type: protoTCP, HealthyThreshold: 2, UnhealthyThreshold: 2, ConnectTimeout: 5, Interval: 5}
}

func createGroup(c *api.Context) (*change, *api.Error) {
	g := &state.NLBServerGroup{
		Type: cmp.Or(c.Get("ServerGroupType"), groupOfInstances), VpcID: c.Get("VpcId"), Protocol: cmp.Or(c.Get("Protocol"), protoTCP),
		AddressIPVersion: cmp.Or(c.Get("AddressIPVersion"), ipv4), Scheduler: "Wrr", Status: creating, AnyPort: c.True("AnyPortEnabled"),
		HealthCheck: defaultCheck(), ResourceGroupID: cmp.Or(c.Get("ResourceGroupId"), state.DefaultResourceGroup),
		Tags: tags.FilterOf(c), Created: c.Now,
	}
	g.ClientIPOff = g.Protocol == protoTCPSSL
	vpc := c.State.Vpcs[g.VpcID]
	switch {
	case vpc == nil:
		return nil, fail("ResourceNotFound.Vpc")
	case g.AddressIPVersion == dualStack && len(vpc.Ipv6Cidrs) == 0:
		return nil, fail("OperationDenied.VpcNotSupportIpv6")
	case !checkResourceGroup(c, "ResourceGroupId"):
		return nil, fail("ResourceNotFound.ResourceGroup")
	case !validTags(g.Tags):
		return nil, fail(illegal)
	case len(c.State.NLBServerGroups) >= c.Settings.Quotas.NLBServerGroups:
		return nil, fail(quota)
	}
	if err := setGroup(c, g); err != nil {
		return nil, err
	}
	return &change{kind: kindGroup, begin: func() string {
		g.ID = c.NewID("sgp-")
		g.Number = c.State.Sequence
		c.State.NLBServerGroups[g.ID] = g
		return g.ID
	}}, nil
}

// setGroup sets what the parameters of a call say. On an error the group, a copy, is of no more use.
func setGroup(c *api.Context, g *state.NLBServerGroup) *api.Error {
	c.Keep("", &g.Spelling)
	c.SetText("ServerGroupName", &g.Name)
	c.SetText("IpVersionAffinityMode", &g.IPAffinity)
	c.SetFlag("ConnectionDrainEnabled", &g.Drain)
	c.SetInt("ConnectionDrainTimeout", &g.DrainTimeout)
	if c.Has("PreserveClientIpEnabled") {
		g.ClientIPOff = !c.True("PreserveClientIpEnabled")
	}
	c.SetText("Scheduler", &g.Scheduler)
	switch {
	case !validName(g.Name):
		return fail("IllegalParam.ServerGroupName")
	case g.DrainTimeout < 0 || g.DrainTimeout > maxDrain:
		return fail("IllegalParam.ConnectionDrainTimeout")
	case g.Scheduler == "qch" && g.Protocol != protoUDP:
		return fail(illegal)
	case !g.ClientIPOff && servesTLS(c, g) && !g.AnyPort: // the acceptance tests of Terraform make groups for any port so
		return fail("IllegalParam.PreserveClientIpSwitch")
	}
	return setCheck(c, g)
}

// servesTLS reports whether a group is for a listener that ends TLS, behind which no server can see the address of a client.
func servesTLS(c *api.Context, g *state.NLBServerGroup) bool {
	if g.Protocol == protoTCPSSL {
		return true
	}
	for _, l := range c.State.NLBListeners {
		if g.ID != "" && l.ServerGroupID == g.ID && l.Protocol == protoTCPSSL {
			return true
		}
	}
	return false
}

// setCheck sets how the servers of a group are checked.
func setCheck(c *api.Context, g *state.NLBServerGroup) *api.Error {
	const prefix = "HealthCheckConfig."
	h := &g.HealthCheck
	if c.Has(prefix + "HealthCheckEnabled") {
		h.Off = !c.True(prefix + "HealthCheckEnabled")
	}
	c.SetText(prefix+"HealthCheckType", &h.Type)
	c.SetText(prefix+"HealthCheckDomain", &h.Domain)
	c.SetText(prefix+"HealthCheckUrl", &h.URL)
	c.SetText(prefix+"HttpCheckMethod", &h.Method)
	c.SetText(prefix+"HealthCheckHttpVersion", &h.HTTPVersion)
	c.SetText(prefix+"HealthCheckReq", &h.Request)
	c.SetText(prefix+"HealthCheckExp", &h.Response)
	c.SetInt(prefix+"HealthCheckConnectPort", &h.ConnectPort)
	c.SetInt(prefix+"HealthyThreshold", &h.HealthyThreshold)
	c.SetInt(prefix+"UnhealthyThreshold", &h.UnhealthyThreshold)
	c.SetInt(prefix+"HealthCheckConnectTimeout", &h.ConnectTimeout)
	c.SetInt(prefix+"HealthCheckInterval", &h.Interval)
	if codes := c.List(prefix + "HealthCheckHttpCode"); len(codes) > 0 {
		h.HTTPCodes = codes
	}
	if h.Type == "HTTP" {
		h.Method, h.URL, h.HTTPVersion = cmp.Or(h.Method, "GET"), cmp.Or(h.URL, "/"), cmp.Or(h.HTTPVersion, "HTTP1.0")
		if len(h.HTTPCodes) == 0 {
			h.HTTPCodes = []string{"http_2xx"}
		}
	}
	switch {
	case h.Domain != "" && h.Domain != "$SERVER_IP" && !regexp.MustCompile(`^[a-zA-Z0-9.-]{1,80}$`).MatchString(h.Domain):
		return fail("IllegalParam.healthCheckDomain")
	case h.URL != "" && (len(h.URL) > 80 || h.URL[0] != '/'):
		return fail("IlleagalParam.healthCheckUrl") // spelt so by the cloud
	case len(h.Request) > maxProbe, len(h.Response) > maxProbe:
		return fail(illegal)
	case h.Type != protoUDP && h.Interval > 50, h.Type == protoUDP && !h.Off && h.Interval < h.ConnectTimeout:
		return fail(illegal)
	case g.AnyPort && !h.Off && h.ConnectPort == 0:
		return fail("IllegalParam.AnyPortServerGroupConflictWithHealthCheckConfig")
	}
	return nil
}

func updateGroup(c *api.Context, g *state.NLBServerGroup) (*change, *api.Error) {
	if unsettled(c, g) {
		return nil, fail(groupStatus)
	}
	updated := *g
	if err := setGroup(c, &updated); err != nil {
		return nil, err
	}
	what := configureGroup(g)
	what.apply = func() {
		updated.Status = g.Status
		*g = updated
	}
	return what, nil
}

// configureGroup is a change of a server group.
func configureGroup(g *state.NLBServerGroup) *change {
	return &change{kind: kindGroup, id: g.ID, begin: func() string {
		g.Status = configuring
		return ""
	}}
}

// unsettled reports whether a group is being created or deleted. Changes of its attributes and of its servers can overlap.
func unsettled(c *api.Context, g *state.NLBServerGroup) bool {
	return g.Status == creating || busy(c, kindGroup, g.ID, "DeleteServerGroup")
}

func deleteGroup(c *api.Context, g *state.NLBServerGroup) (*change, *api.Error) {
	for _, l := range c.State.NLBListeners {
		if l.ServerGroupID == g.ID {
			return nil, fail("ResourceInUse.ServerGroup")
		}
	}
	switch {
	case unsettled(c, g):
		return nil, fail(groupStatus)
	case busy(c, kindGroup, g.ID):
		return nil, fail(lockConflict)
	}
	return configureGroup(g), nil
}

// finishGroup completes a job of a server group.
func finishGroup(c *api.Context, j *state.NLBJob) {
	g := c.State.NLBServerGroups[j.ResourceID]
	if g == nil { // a test took it away
		return
	}
	done := j.Status == succeeded
	switch {
	case j.Action == "CreateServerGroup" && !done, j.Action == "DeleteServerGroup" && done:
		delete(c.State.NLBServerGroups, g.ID)
		return
	case slices.Contains(serverWrites(), j.Action):
		g.Servers = slices.DeleteFunc(g.Servers, func(s *state.NLBServer) bool { return s.Status == removing })
		for _, s := range g.Servers {
			s.Status = available
		}
	}
	if !busy(c, kindGroup, g.ID) {
		g.Status = available
	}
}

// group returns the group of the parameter ServerGroupId.
func group(c *api.Context) (*state.NLBServerGroup, *api.Error) {
	g := c.State.NLBServerGroups[c.Get("ServerGroupId")]
	if g == nil {
		return nil, fail(noGroup)
	}
	completeGroup(c, g)
	return g, nil
}

// completeGroup fills in what a seeded group leaves out.
func completeGroup(c *api.Context, g *state.NLBServerGroup) {
	if !g.Created.IsZero() {
		return
	}
	g.Created = c.Now
	g.Type, g.Protocol = cmp.Or(g.Type, groupOfInstances), cmp.Or(g.Protocol, protoTCP)
	g.AddressIPVersion, g.Scheduler = cmp.Or(g.AddressIPVersion, ipv4), cmp.Or(g.Scheduler, "Wrr")
	g.Status, g.ResourceGroupID = cmp.Or(g.Status, available), cmp.Or(g.ResourceGroupID, state.DefaultResourceGroup)
	h, d := &g.HealthCheck, defaultCheck()
	h.Type, h.Interval = cmp.Or(h.Type, d.Type), cmp.Or(h.Interval, d.Interval)
	h.HealthyThreshold = cmp.Or(h.HealthyThreshold, d.HealthyThreshold)
	h.UnhealthyThreshold = cmp.Or(h.UnhealthyThreshold, d.UnhealthyThreshold)
	h.ConnectTimeout = cmp.Or(h.ConnectTimeout, d.ConnectTimeout)
	for _, s := range g.Servers {
		s.Type, s.Status = cmp.Or(s.Type, typeECS), cmp.Or(s.Status, available)
		if i := c.State.Instances[s.ServerID]; s.ServerIP == "" && i != nil && len(i.PrivateIPs) > 0 {
			s.ServerIP = i.PrivateIPs[0]
		}
	}
	sortServers(g)
}
