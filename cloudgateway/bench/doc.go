// Package bench shows what the gateway as a whole promises, by tests and benchmarks against the simulated cloud: how well it
// uses the account's rate limits, what a call costs over calling the cloud directly, how many reads it serves and how much
// memory it needs. docs/performance.md has the numbers.
package bench
