// Package plan compares what is wanted with what is there and answers an ordered list of actions. It is pure and total:
// it makes no call, keeps no time and never fails.
//
// [Diff] makes a [Plan] of a model.Desired and a model.Observed, [DiffServers] one of servers only, [Leave] one for a
// Service that gives up the load balancer of a user, and [Release] one that takes away what is a Service's own:
//
//	wanted | there | action
//	-------+-------+---------------------------------------------------
//	  yes  |  no   | Create…, after what it needs (Needs)
//	  yes  |  yes  | Update… with what differs, or none; what can't be changed is refused
//	  no   |  yes  | Delete…, if it is ours; else it stays
//
// A kind of load balancers takes part as a [Differ], which compares attributes. Each [Action] says what it does to an
// Observed by its Effect. Package apply carries a Plan out.
package plan
