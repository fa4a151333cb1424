package slb

import (
	"cmp"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Roles of the servers of a master-slave server group.
const (
	master = "Master"
	slave  = "Slave"
)

// masterSlaveActions are those of groups of two servers, of which the slave has traffic only while the master fails. No action changes
// one. The codes in capitals are published for CreateMasterSlaveServerGroup; RspoolVipExist and InvalidParameter are what clients of
// the cloud handle when they delete and look for one.
func masterSlaveActions(t table) []api.Action {
	id := api.Required("MasterSlaveServerGroupId")
	return []api.Action{
		api.Write("CreateMasterSlaveServerGroup", api.On(loadBalancer, createPair),
			append(newTagCodes(), api.Words(`BACKEND_SERVERS_CAN_ONLY_CONTAIN_ONE_MASTER_AND_ONE_SLAVE
				BACKEND_SERVERS_HAVE_SAME_PORT_AND_SERVERID BACKEND_SERVERS_NUM_MUST_BE_TWO BACKEND_SERVER_ID_CAN_NOT_EMPTY
				BACKEND_SERVER_PORT_CAN_NOT_EMPTY BackendServer.InvalidType BackendServersMalformed INVALID_SERVER_TYPE
				InstanceBackendServerNumberOverLimit InvalidLoadBalancerId.NotFound InvalidParameter InvalidServerId.NotExist
				InvalidWeight.Malformed LbStatusNotSupport NetworkConflict ObtainIpFail OverQuota RealServerPortNotSupport
				ResourceNotFound.vServers VServerGroupProcessing`)...),
			region(), api.Required("LoadBalancerId"), api.Optional("MasterSlaveServerGroupName"), jsonText("MasterSlaveBackendServers"),
			tags.Uncounted()),
		api.Read("DescribeMasterSlaveServerGroups", api.On(loadBalancer, t.describePairs),
			api.Words("InvalidLoadBalancerId.NotFound MissingParam.TagKey SizeLimitExceeded.Tag"), region(),
			api.Required("LoadBalancerId"), api.Optional("Description"), tags.Uncounted(), api.Flag("IncludeListener")),
		api.Read("DescribeMasterSlaveServerGroupAttribute", api.On2(masterSlaveGroup, describePair), api.Words("InvalidParameter"),
			region(), id),
		api.Write("DeleteMasterSlaveServerGroup", api.On2(api.Unless(groupHeld, masterSlaveGroup), deleteGroup),
			api.Words("InvalidParameter LbStatusNotSupport RspoolVipExist VServerGroupProcessing"), region(), id),
	}
}

func pairNotFound() *api.Error {
	return api.NotFound("InvalidParameter", "The specified MasterSlaveGroupId does not exist.")
}

// masterSlaveGroup returns the group of the parameter MasterSlaveServerGroupId and its settled load balancer.
func masterSlaveGroup(c *api.Context) (*state.ServerGroup, *state.LoadBalancer, *api.Error) {
	return groupOfKind(c, "MasterSlaveServerGroupId", true, pairNotFound)
}

func createPair(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	if err := writable(c, lb, "", busyGroup); err != nil {
		return nil, err
	}
	name := cmp.Or(c.Get("MasterSlaveServerGroupName"), "auto_named_master_slave_group")
	if !validName(name) {
		return nil, api.Invalid("MasterSlaveServerGroupName")
	}
	servers, err := pairServers(c, lb)
	if err != nil {
		return nil, err
	}
	tags, err := newTags(c)
	if err != nil {
		return nil, err
	}
	g := &state.ServerGroup{
		ID: c.NewID("rsp-bp1"), LoadBalancerID: lb.ID, Name: name, MasterSlave: true, Servers: servers, Tags: tags, Created: c.Now,
	}
	c.State.AddGroup(g)
	changed(c, lb)
	return api.Object{"MasterSlaveServerGroupId", g.ID, "MasterSlaveBackendServers", pairView(lb, g)}, nil
}

// pairServers reads the two servers of the parameter MasterSlaveBackendServers. Without any the group stays empty.
func pairServers(c *api.Context, lb *state.LoadBalancer) ([]*state.Server, *api.Error) {
	const name = "MasterSlaveBackendServers"
	objects, ok := parseObjects(c.Get(name))
	switch {
	case !ok:
		return nil, api.BadRequest("BackendServersMalformed", "The specified parameter %s is not a JSON array of servers.", name)
	case len(objects) == 0:
		return nil, nil
	case len(objects) != 2:
		return nil, api.BadRequest("BACKEND_SERVERS_NUM_MUST_BE_TWO", "Backend servers num must be 2.")
	}
	items := make([]server, 0, len(objects))
	slaves := make([]bool, 0, len(objects))
	for _, object := range objects {
		if err := checkPairItem(object); err != nil {
			return nil, err
		}
		item, err := parseServer(object, name, true)
		if err != nil {
			return nil, err
		}
		items, slaves = append(items, item), append(slaves, strings.EqualFold(object["servertype"], slave))
	}
	if slaves[0] == slaves[1] {
		return nil, api.BadRequest("BACKEND_SERVERS_CAN_ONLY_CONTAIN_ONE_MASTER_AND_ONE_SLAVE",
			"Backend servers can only contain one master and one slave.")
	}
	servers, err := newServers(c, lb, items)
	if err != nil {
		return nil, err
	}
	for i, s := range servers {
		s.Standby = slaves[i]
	}
	if placeOf(servers[0]) == placeOf(servers[1]) {
		return nil, api.BadRequest("BACKEND_SERVERS_HAVE_SAME_PORT_AND_SERVERID", "Backend servers have same port and serverId.")
	}
	return servers, checkServerQuotas(c, lb, nil, servers)
}

// checkPairItem refuses what has a code of its own here. Which values RealServerPortNotSupport is about is not published.
func checkPairItem(item map[string]string) *api.Error {
	role := cmp.Or(item["servertype"], master)
	switch port := item["port"]; {
	case item["serverid"] == "":
		return api.BadRequest("BACKEND_SERVER_ID_CAN_NOT_EMPTY", "Backend server id can not empty.")
	case port == "":
		return api.BadRequest("BACKEND_SERVER_PORT_CAN_NOT_EMPTY", "Backend server port can not empty.")
	case port == samePort || !validPort(port):
		return api.BadRequest("RealServerPortNotSupport", "Real server port not support.")
	case !strings.EqualFold(role, master) && !strings.EqualFold(role, slave):
		return api.BadRequest("INVALID_SERVER_TYPE", "Invalid server type.")
	}
	return nil
}

func pairView(lb *state.LoadBalancer, g *state.ServerGroup) api.Object {
	return wrapped("MasterSlaveBackendServer", g.Servers, func(s *state.Server) api.Object {
		role := master
		if s.Standby {
			role = slave
		}
		return append(serverView(s), "ServerType", role, "VpcId", lb.VpcID)
	})
}

func (t table) describePairs(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	groups, err := groupsShown(c, lb, true)
	if err != nil {
		return nil, err
	}
	return api.Object{"MasterSlaveServerGroups", wrapped("MasterSlaveServerGroup", groups, func(g *state.ServerGroup) api.Object {
		listeners := []api.Object{}
		for _, l := range listenersAt(lb, 0, "") {
			if c.True("IncludeListener") && l.Group() == g.ID {
				listeners = append(listeners, api.Object{"Port", l.Port, "Protocol", l.Protocol})
			}
		}
		return append(viewOfPair(g), "AssociatedObjects", api.Object{"Listeners", api.Object{"Listener", listeners}})
	})}, nil
}

func viewOfPair(g *state.ServerGroup) api.Object {
	return api.Object{
		"MasterSlaveServerGroupId", g.ID, "MasterSlaveServerGroupName", g.Name, "ServiceManagedMode", "Unmanaged",
		"CreateTime", stamp(g.Created), "Tags", tags.Longs(g.Tags),
	}
}

func describePair(_ *api.Context, g *state.ServerGroup, lb *state.LoadBalancer) (any, *api.Error) {
	return append(viewOfPair(g), "LoadBalancerId", lb.ID, "MasterSlaveBackendServers", pairView(lb, g)), nil
}
