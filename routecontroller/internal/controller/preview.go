package controller

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/routecontroller/internal/plan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

// Preview is what the controller would do about the route tables of a cluster.
type Preview struct {
	Tables []TablePreview `json:"routeTables"`
}

// TablePreview is what the controller would do about one route table.
type TablePreview struct {
	RouteTable string         `json:"routeTable"`
	Create     []RoutePreview `json:"create"`
	Delete     []RoutePreview `json:"delete"`
	// Orphans are routes of the cluster without a node. They go after a grace, within the budget.
	Orphans []RoutePreview `json:"orphans"`
	// Problems are routes that can't be made, and entries of others that take a part of a node's traffic.
	Problems []RoutePreview `json:"problems"`
	// Available and Pending count the routes that work and those that the cloud is working on.
	Available int `json:"available"`
	Pending   int `json:"pending"`
}

// RoutePreview is one route.
type RoutePreview struct {
	Destination string `json:"destination,omitempty"`
	NextHop     string `json:"nextHop,omitempty"`
	Node        string `json:"node,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

// Preview finds out what the controller would change now. It writes nothing.
func (c *Controller) Preview(ctx context.Context) (Preview, error) {
	var err error
	if c.region, err = c.cfg.Gateway.Region(ctx, c.cfg.Scope.Region); err != nil {
		return Preview{}, err
	}
	vpcID, err := c.cfg.Gateway.VPC(ctx, c.cfg.VPCID)
	if err != nil {
		return Preview{}, err
	}
	ids, err := c.tableIDs(ctx, vpcID)
	if err != nil {
		return Preview{}, err
	}
	preview := Preview{Tables: []TablePreview{}}
	records, adopted := newDeletionRecord(c.cfg.Client, c.cfg.Namespace), newAdopted(c.cfg.Client, c.cfg.Namespace)
	memories := map[string]*memory{}
	for _, id := range ids {
		memories[id] = newMemory()
	}
	if err := adopted.load(ctx, memories); err != nil {
		return Preview{}, err
	}
	for _, id := range ids {
		if err := records.load(ctx, id, memories[id]); err != nil {
			return Preview{}, err
		}
		v, err := c.look(ctx, id, memories[id], c.liveNodes, 0)
		if err != nil {
			return Preview{}, fmt.Errorf("route table %s: %w", id, err)
		}
		preview.Tables = append(preview.Tables, c.previewOf(id, v))
	}
	return preview, nil
}

func (c *Controller) previewOf(tableID string, v view) TablePreview {
	about := TablePreview{
		RouteTable: tableID, Create: []RoutePreview{}, Delete: []RoutePreview{}, Orphans: []RoutePreview{}, Problems: []RoutePreview{},
		Available: len(v.plan.Ready), Pending: len(v.plan.Pending),
	}
	ofRoute := func(r table.Route, reason string) RoutePreview {
		p := RoutePreview{NextHop: r.InstanceID, Node: r.Node, Reason: reason}
		if r.CIDR.IsValid() {
			p.Destination = r.CIDR.String()
		}
		return p
	}
	ofEntry := func(e table.Entry, reason string) RoutePreview {
		return RoutePreview{Destination: e.CIDR.String(), NextHop: e.NextHop, Reason: reason}
	}
	for _, route := range slices.Concat(v.plan.Freed(v.orphans.Delete), v.plan.Create) {
		about.Create = append(about.Create, ofRoute(route, ""))
	}
	for _, o := range v.waiting {
		switch goes := slices.Contains(v.orphans.Delete, o.Entry); {
		case goes && o.InTheWay:
			about.Delete = append(about.Delete, ofEntry(o.Entry, "it is in the way of a node's route"))
		case goes:
			about.Delete = append(about.Delete, ofEntry(o.Entry, "its node is gone"))
		default:
			about.Orphans = append(about.Orphans, ofEntry(o.Entry, "without a node since "+o.Since.UTC().Format(time.RFC3339)))
		}
	}
	blocked, partly := c.heldEntries(v)
	for _, refusals := range [][]plan.Refusal{v.plan.Refused, v.plan.Foreign, blocked, partly} {
		for _, refusal := range refusals {
			about.Problems = append(about.Problems, ofRoute(refusal.Route, refusal.Reason))
		}
	}
	for _, node := range v.claims.Unroutable {
		about.Problems = append(about.Problems, ofRoute(table.Route{Key: node.Key, Node: node.Node}, node.Reason))
	}
	return about
}

// WriteText writes one line for each route that would change or has a problem, and a summary of each table.
func (p Preview) WriteText(w io.Writer) error {
	var text strings.Builder
	for _, t := range p.Tables {
		for _, list := range []struct {
			what   string
			routes []RoutePreview
		}{{"create", t.Create}, {"delete", t.Delete}, {"without a node", t.Orphans}, {"problem", t.Problems}} {
			for _, route := range list.routes {
				words := []string{t.RouteTable + ":", list.what}
				if route.Destination != "" {
					words = append(words, route.Destination, "to", route.NextHop)
				}
				if route.Node != "" {
					words = append(words, "of node", route.Node)
				}
				if route.Reason != "" {
					words[len(words)-1] += ":"
					words = append(words, route.Reason)
				}
				fmt.Fprintln(&text, strings.Join(words, " "))
			}
		}
		fmt.Fprintf(&text, "%s: %d routes would be made and %d deleted, %d have no node, %d have a problem, %d are available, %d are pending.\n",
			t.RouteTable, len(t.Create), len(t.Delete), len(t.Orphans), len(t.Problems), t.Available, t.Pending)
	}
	_, err := io.WriteString(w, text.String())
	return err
}
