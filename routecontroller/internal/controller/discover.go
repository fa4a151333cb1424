package controller

import (
	"context"
	"fmt"
	"strings"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/routecontroller/internal/apply"
)

// discoverKey is the key under which the tables themselves are found; table ids are never empty.
const discoverKey = ""

// discoverEvents stands for the tables in events while they are not known; the existing CCM uses the same name.
const discoverEvents = "route-controller"

// tableTypeSystem is the type of the table that comes with a VPC (source: VPC API, DescribeRouteTableList).
const tableTypeSystem = "System"

// discover finds the region, the VPC and its tables as far as the configuration does not name them.
func (c *Controller) discover(ctx context.Context) error {
	if c.target.Load() != nil {
		return nil
	}
	var err error
	if c.region, err = c.cfg.Gateway.Region(ctx, c.cfg.Scope.Region); err != nil {
		return err
	}
	vpcID, err := c.cfg.Gateway.VPC(ctx, c.cfg.VPCID)
	if err != nil {
		return err
	}
	ids, err := c.tableIDs(ctx, vpcID)
	if err != nil {
		return err
	}
	t := &target{
		vpcID:     vpcID,
		tableIDs:  ids,
		applier:   apply.New(apply.Config{Routes: c.cfg.Gateway.Routes, VPCID: vpcID, ClusterID: c.cfg.ClusterID}),
		memories:  map[string]*memory{},
		deletions: newDeletionRecord(c.cfg.Client, c.cfg.Namespace),
		adopted:   newAdopted(c.cfg.Client, c.cfg.Namespace),
	}
	for _, id := range ids {
		t.memories[id] = newMemory()
	}
	c.verdicts.expect(ids)
	c.target.Store(t)
	c.log.Info("route tables found", "region", c.region, "vpc", vpcID, "routeTables", ids)
	// All nodes are in the cache: there is nothing to gather, and nodes wait for their routes.
	c.addTables(reconcile.Node)
	c.tables.Add(bindingsKey, reconcile.Node)
	return nil
}

func (c *Controller) tableIDs(ctx context.Context, vpcID string) ([]string, error) {
	if len(c.cfg.RouteTableIDs) > 0 {
		return c.cfg.RouteTableIDs, nil
	}
	resp, err := c.cfg.Gateway.Routes.ListRouteTables(ctx, &vpcv1.ListRouteTablesRequest{VpcId: vpcID})
	if err != nil {
		return nil, fmt.Errorf("list the route tables of %s: %w", vpcID, err)
	}
	return chooseTable(vpcID, resp.GetRouteTables())
}

// chooseTable gives the only table, or the system table, which the VPC's vSwitches use unless they are bound to another
// (lookAtBindings).
func chooseTable(vpcID string, tables []*vpcv1.RouteTable) ([]string, error) {
	var all, system []string
	for _, t := range tables {
		all = append(all, t.GetRouteTableId())
		if t.GetType() == tableTypeSystem {
			system = append(system, t.GetRouteTableId())
		}
	}
	switch {
	case len(all) == 0:
		return nil,
			fmt.Errorf("%s has no route table; check vpcID, and that the gateway works in the region of the VPC (cloudgateway doctor)", vpcID)
	case len(all) == 1:
		return all, nil
	case len(system) == 1:
		return system, nil
	default:
		return nil, fmt.Errorf("%s has %d route tables (%s); name those to use in routeTableIDs", vpcID, len(all), strings.Join(all, ", "))
	}
}

// addTables queues all tables, or their discovery.
func (c *Controller) addTables(priority reconcile.Priority) {
	t := c.target.Load()
	if t == nil {
		c.tables.Add(discoverKey, priority)
		return
	}
	for _, id := range t.tableIDs {
		c.tables.Add(id, priority)
	}
}
