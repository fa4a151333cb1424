package controller

import (
	"alicloud-controllers.dev/routecontroller/internal/orphan"
	"alicloud-controllers.dev/routecontroller/internal/plan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

// view is what one look at a table and the nodes has led to.
type view struct {
	claims table.Claims
	plan   plan.Plan
	// waiting are the entries that no node claims, those in the way of routes included, whether or not they go now.
	waiting []orphan.Orphan
	orphans orphan.Verdict
	// recordErr is why nothing is deleted though it is due: the next leader would not know of it.
	recordErr error
}
