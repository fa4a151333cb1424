// Package thirdparty checks that unmodified clients of others can't distinguish the simulated cloud from the real one:
// the typed packages of Alibaba Cloud's SDK v1, the two runtimes of the V2 (Tea) SDKs, from which all generated V2
// clients and the Terraform provider send their calls, aliyungo, and in directory node the clients in JavaScript. They can't
// distinguish the OpenAPI front of a gateway, which runs as a process, from the cloud either.
//
// It is a module of its own, because the clients are heavy and nothing of ours but this test needs them.
package thirdparty
