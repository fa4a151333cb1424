// Package knowledge is what is known of the cloud about Services: what this process has read and done (Memory), and
// what the processes before it have recorded (Record). It spares reads, and nothing depends on it: a Service of which
// nothing is known is read.
//
// [Known] is one of [Nothing], [Absent], [Trusted], [Servers], [All] and [Refused]. [Of] makes one of what was read,
// [Now] of what a plan has changed, and [Meanwhile] of what is left of one when something may have happened. [Entry] is
// what is remembered of a Service, and [Memory] where: the engine puts it there after each pass, and recalls it before
// the next.
package knowledge
