// Package certificate decides about server certificates that come from Secrets: which is good, how it is marked in the
// cloud, which of the cloud's has its content, and which of them nobody uses any more. It is pure.
//
// [Of] makes a [Certificate] of a [Secret], or says what is wrong with it. [Stored] is one in the cloud, as the engine
// has read it; [Usage] says which of these nobody uses any more.
package certificate
