// Package budget bounds how much is deleted within a time. It has no clock and keeps nothing: the times of earlier
// deletions are the caller's, who has to keep them where the next leader finds them.
//
// [Config] is what people write, and [Policy] what it means. [Policy.Limit] and [Policy.Left] say how many more may go,
// and [Policy.Refill] when.
package budget
