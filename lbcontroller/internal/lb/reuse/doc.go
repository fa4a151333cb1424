// Package reuse decides about load balancers that a Service names instead of having one of its own: whether the Service
// may take it, what the Service gives up for that, and what is its there. It is pure.
//
// [Service] is what the engine knows of the Service that asks. [Refusal] is why it can't have what it names; [Missing],
// [Made], [Elsewhere], [Taken] and [Gone] make one each. [Claim], [Kept] and [WithFilled] say which server groups and
// listeners are the Service's there.
package reuse
