// Package serving decides whether the cloud confirms what a kubelet asks to have in its serving certificate. A
// certificate for the names and addresses of others would let a node pose as them, so what is not confirmed is left to
// people. It is pure.
//
// [Parse] makes a [Request] of a CertificateSigningRequest. [Request.Confirm] compares it with the Node and the
// instance that the controller has read, and says what of it is not confirmed.
package serving
