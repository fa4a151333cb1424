// Package model holds what is wanted and what is there: plain values without behaviour beyond comparing and copying.
// What differs between kinds of load balancers is kept in the gateway's own messages, where presence means "set", so
// that it is spelled out only once. Messages are replaced and never changed, so values share them.
//
// [Desired] is made by package desired, and [Observed] by the Reader of a kind (package observe); a plan that is
// carried out folds what it has done into the Observed. [Thing] is what stands beside load balancers: access lists,
// EIPs, server groups.
package model
