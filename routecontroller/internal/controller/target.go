package controller

import "alicloud-controllers.dev/routecontroller/internal/apply"

// target is what the controller works on. It does not change once it is known.
type target struct {
	vpcID    string
	tableIDs []string
	// warned are other tables of which an event says that they get no routes; they belong to the look at the bindings.
	warned  map[string]bool
	applier *apply.Applier
	// memories hold one memory per table. Each is used only by the pass over its table, of which there is one at a time.
	memories  map[string]*memory
	deletions *deletionRecord
	adopted   *adopted
}
