// Package annotation knows the annotations of a Service: one table describes each of them, and the parser, the
// validation errors, the reference page and the admission policy all come from that table.
//
// The package is pure: it reads a map of strings and answers typed values or a list of problems.
//
// [Table] and [TableFor] are the rows, each a [Spec]. A [Parser] makes [Values] of the annotations and fields of one
// Service, for which package desired asks. [Origin] says where a value comes from: an annotation, a field, or what a
// removal leaves behind.
package annotation
