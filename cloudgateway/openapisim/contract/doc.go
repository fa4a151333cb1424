// Package contract is what clients rely on in SLB, VPC, ECS and STS, written as tests that run against any endpoint: the
// simulated cloud always, and the real one too when the environment names it (docs/openapisim.md). An assertion that fails
// there and holds here is a misreading in the simulator.
//
// Each scenario makes what it needs, waits where the cloud says that it is busy, and removes what it made.
package contract
