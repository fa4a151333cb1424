package controller

import "alicloud-controllers.dev/routecontroller/internal/apply"

// target is what the controller works on. It does not change once it is known.
type target struct {
	tableIDs []string
	applier  *apply.Applier
	// memories hold one memory per table. Each is used only by the pass over its table, of which there is one at a time.
	memories  map[string]*memory
	deletions *deletionRecord
	adopted   *adopted
}
