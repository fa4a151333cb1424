// Package lb brings a load balancer to what a Service asks for, of whatever kind it is. What only a kind knows is its
// Product. A pass over a Service is a pipeline of values: view → desired → knowledge → decision → plan → apply →
// outcome.
//
// The values of a pass, in the order in which they are made:
//
//   - desired.View and desired.Result: what the Service says and what that asks for. desired.Build makes them.
//   - pass: the Service that is worked on, with both of these, what is remembered of it, and its nodes and endpoints.
//     begin makes it.
//   - knowledge.Known: what is known of the cloud. recall takes it from memory, and reader from the cloud.
//   - reuse.Refusal: why the Service can't have the load balancer that it names. Package reuse makes it.
//   - decision: the knowledge, and the plan that follows from it. decide makes it; the [Product] compares attributes
//     for it.
//   - plan.Plan: the actions in their order. plan.Diff makes it.
//   - result: what became of the actions. changer makes it, with the calls of the [Product].
//   - controller.Outcome: what the controller writes on the Service, and when it looks again. outcome makes it of what
//     went well, and failure.go of what didn't.
//
// What belongs to no single Service stands beside the passes: orphans (load balancers without a Service), uploads and
// certificates (those of Secrets), gates (pods that wait for health), quota, and blocked (rules that keep health checks
// away). Each has a file of its name.
package lb
