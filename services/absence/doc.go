// Package absence decides which instances are gone for good. It is the whole of ConfirmAbsent but for the reading: the
// gateway and its fake for tests share it, so that no test of a caller believes in evidence that the gateway would not
// accept.
//
// [Cloud] is what can be read; the gateway and its fake make one each. [Cloud.Confirm] answers for each instance.
package absence
