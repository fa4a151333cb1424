// Package convert makes of a Service with a CLB one that asks the same of an NLB, or of any Service a Gateway, and says what
// can't be the same. It is pure.
//
// [ToNLB] makes a [Result] of a Service: the new Service, and what is to be known of it. [ToGateway] makes a [Gateway] of it,
// with its routes. The command convert prints them.
package convert
