// Package securitygroup knows what the rules of security groups do with traffic. It is pure.
//
// [Traffic] is what is to get through: from where, by which protocol, to which ports. Its user makes it. [Drops] says
// whether the groups of a network interface, as the gateway has read them, drop some of it, with an example.
package securitygroup
