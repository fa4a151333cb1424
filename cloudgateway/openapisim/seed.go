package openapisim

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// ReadSeed reads what [Simulator.Seed] takes. It refuses names that it doesn't know.
func ReadSeed(document []byte) (*state.Cloud, error) {
	seed := &state.Cloud{}
	if err := strictJSON(document, seed); err != nil {
		return nil, err
	}
	return seed, nil
}

// Seed adds resources to the cloud; those with a known id are replaced. The resources are a part of a snapshot. What the
// cloud itself would add is added: the system route table of a VPC with its entries, the primary interface of an
// instance, and the states a resource has when it is ready.
func (s *Simulator) Seed(resources *state.Cloud) error {
	if err := check(resources); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	merge(s.cloud, resources)
	completeNetwork(s.cloud)
	for _, id := range slices.Sorted(maps.Keys(resources.Instances)) {
		completeInstance(s.cloud, resources.Instances[id])
	}
	completeRest(s.cloud, resources)
	s.changes.Add(1)
	return nil
}

// merge adds resources to a cloud. Ids that were ever handed out in either are not handed out again.
func merge(c, resources *state.Cloud) {
	c.Sequence = max(c.Sequence, resources.Sequence)
	maps.Copy(c.Vpcs, resources.Vpcs)
	maps.Copy(c.VSwitches, resources.VSwitches)
	maps.Copy(c.RouteTables, resources.RouteTables)
	maps.Copy(c.Eips, resources.Eips)
	maps.Copy(c.Instances, resources.Instances)
	maps.Copy(c.Interfaces, resources.Interfaces)
	maps.Copy(c.SecurityGroups, resources.SecurityGroups)
	maps.Copy(c.LoadBalancers, resources.LoadBalancers)
	maps.Copy(c.ServerGroups, resources.ServerGroups)
	maps.Copy(c.Certificates, resources.Certificates)
	maps.Copy(c.Acls, resources.Acls)
	maps.Copy(c.Tokens, resources.Tokens)
	c.Vanishing = append(c.Vanishing, resources.Vanishing...)
}

// check refuses resources that are null or have null parts, sets the ids that are given as keys only, and reports those that
// contradict their key.
func check(c *state.Cloud) error {
	return errors.Join(
		errors.Join(nulls("", reflect.ValueOf(c))...),
		checkKind("vpcs", c.Vpcs, func(v *state.Vpc) *string { return &v.ID }),
		checkKind("vswitches", c.VSwitches, func(v *state.VSwitch) *string { return &v.ID }),
		checkKind("routeTables", c.RouteTables, func(t *state.RouteTable) *string { return &t.ID }),
		checkKind("eips", c.Eips, func(e *state.Eip) *string { return &e.ID }),
		checkKind("instances", c.Instances, func(i *state.Instance) *string { return &i.ID }),
		checkKind("networkInterfaces", c.Interfaces, func(i *state.NetworkInterface) *string { return &i.ID }),
		checkKind("securityGroups", c.SecurityGroups, func(g *state.SecurityGroup) *string { return &g.ID }),
		checkKind("loadBalancers", c.LoadBalancers, func(lb *state.LoadBalancer) *string { return &lb.ID }),
		checkKind("serverGroups", c.ServerGroups, func(g *state.ServerGroup) *string { return &g.ID }),
		checkKind("certificates", c.Certificates, func(c *state.Certificate) *string { return &c.ID }),
		checkKind("acls", c.Acls, func(a *state.Acl) *string { return &a.ID }),
	)
}

func checkKind[R any](kind string, resources map[string]*R, id func(*R) *string) error {
	var problems []error
	for key, resource := range resources {
		if resource == nil {
			continue // it is reported as such
		}
		setDefault(id(resource), key)
		if got := *id(resource); got != key {
			problems = append(problems, fmt.Errorf("%s[%q]: id is %q; it must be the key", kind, key, got))
		}
	}
	return errors.Join(problems...)
}

// nulls reports every item of a map or list that is null; handlers rely on that there is none. Members that can be left out
// can be null.
func nulls(path string, v reflect.Value) (problems []error) {
	item := func(path string, v reflect.Value) {
		if v.Kind() == reflect.Pointer && v.IsNil() {
			problems = append(problems, fmt.Errorf("%s: is null", path))
			return
		}
		problems = append(problems, nulls(path, v)...)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return nulls(path, v.Elem())
	case reflect.Struct:
		for field, value := range v.Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
				problems = append(problems, nulls(strings.TrimPrefix(path+"."+name, "."), value)...)
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			item(fmt.Sprintf("%s[%q]", path, key), v.MapIndex(key))
		}
	case reflect.Slice:
		for i := range v.Len() {
			item(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	default: // has no items
	}
	return problems
}

// completeNetwork gives every VPC a system route table, and that table the entries of its vSwitches and of the cloud's own
// services.
func completeNetwork(c *state.Cloud) {
	system := map[string]*state.RouteTable{}
	for _, table := range c.RouteTables {
		setDefault(&table.Type, "System")
		if table.Type == "System" {
			system[table.VpcID] = table
		}
	}
	for _, table := range c.RouteTables {
		completeEntries(table)
	}
	for id, vpc := range c.Vpcs {
		setDefault(&vpc.CidrBlock, "192.168.0.0/16")
		if system[id] == nil {
			table := &state.RouteTable{ID: "vtb-" + suffix(id), VpcID: id, Type: "System"}
			c.RouteTables[table.ID], system[id] = table, table
		}
		addSystemEntry(system[id], "100.64.0.0/10")
	}
	for _, id := range slices.Sorted(maps.Keys(c.VSwitches)) {
		vsw := c.VSwitches[id]
		table := system[vsw.VpcID]
		if table == nil {
			continue
		}
		setDefault(&vsw.RouteTableID, table.ID)
		addSystemEntry(table, vsw.CidrBlock)
	}
}

// completeEntries makes entries that are a destination and a next hop only custom ones that are written.
func completeEntries(table *state.RouteTable) {
	for n, e := range table.Entries {
		setDefault(&e.ID, fmt.Sprintf("rte-%s-seed-%d", suffix(table.ID), n))
		setDefault(&e.Type, "Custom")
		setDefault(&e.NextHopType, "Instance")
		setDefault(&e.Status, "Available")
	}
}

func addSystemEntry(table *state.RouteTable, cidr string) {
	for _, e := range table.Entries {
		if e.Cidr == cidr {
			return
		}
	}
	table.Entries = append(table.Entries, &state.RouteEntry{
		ID: fmt.Sprintf("rte-%s-system-%d", suffix(table.ID), len(table.Entries)), Cidr: cidr,
		NextHopType: "local", Type: "System", Status: "Available",
	})
}

// completeInstance fills in what an instance has without being asked for, its primary interface above all.
func completeInstance(c *state.Cloud, i *state.Instance) {
	setDefault(&i.Name, i.ID)
	setDefault(&i.HostName, i.Name)
	setDefault(&i.Status, "Running")
	setDefault(&i.InstanceType, "ecs.g7.xlarge")
	setDefault(&i.ChargeType, "PostPaid")
	setDefault(&i.SpotStrategy, "NoSpot")
	if vsw := c.VSwitches[i.VSwitchID]; vsw != nil {
		setDefault(&i.VpcID, vsw.VpcID)
		setDefault(&i.ZoneID, vsw.ZoneID)
	}
	for _, eni := range c.Interfaces {
		if eni.InstanceID == i.ID && eni.Type == "Primary" {
			return
		}
	}
	if len(i.PrivateIPs) == 0 {
		return
	}
	c.Sequence++
	id := "eni-" + suffix(i.ID)
	c.Interfaces[id] = &state.NetworkInterface{
		ID: id, Type: "Primary", Status: "InUse", InstanceID: i.ID, VpcID: i.VpcID, VSwitchID: i.VSwitchID, ZoneID: i.ZoneID,
		MacAddress: fmt.Sprintf("00:16:3e:%02x:%02x:%02x", byte(c.Sequence>>16), byte(c.Sequence>>8), byte(c.Sequence)),
		PrimaryIP:  i.PrivateIPs[0], PrivateIPs: slices.Clone(i.PrivateIPs), SourceDestCheck: true,
	}
}

// completeRest fills in what other resources have once they are ready.
func completeRest(c, resources *state.Cloud) {
	for _, eip := range resources.Eips {
		setDefault(&eip.Status, "Available")
		setDefault(&eip.Bandwidth, "5")
	}
	for _, eni := range resources.Interfaces {
		completeInterface(c, eni)
	}
	for _, acl := range resources.Acls {
		setDefault(&acl.IPVersion, "ipv4")
	}
	for _, group := range resources.ServerGroups {
		for _, server := range group.Servers {
			setDefault(&server.Type, "ecs")
		}
	}
}

func completeInterface(c *state.Cloud, eni *state.NetworkInterface) {
	status := "Available"
	if eni.InstanceID != "" {
		status = "InUse"
	}
	setDefault(&eni.Status, status)
	setDefault(&eni.Type, "Secondary")
	if vsw := c.VSwitches[eni.VSwitchID]; vsw != nil {
		setDefault(&eni.VpcID, vsw.VpcID)
		setDefault(&eni.ZoneID, vsw.ZoneID)
	}
	switch {
	case eni.PrimaryIP == "" && len(eni.PrivateIPs) > 0:
		eni.PrimaryIP = eni.PrivateIPs[0]
	case eni.PrimaryIP != "" && len(eni.PrivateIPs) == 0:
		eni.PrivateIPs = []string{eni.PrimaryIP}
	}
}

// suffix is an id without its kind: "node1" of "i-node1".
func suffix(id string) string {
	if _, rest, ok := strings.Cut(id, "-"); ok {
		return rest
	}
	return id
}
